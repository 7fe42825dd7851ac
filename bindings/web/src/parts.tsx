// Small parts that views share: tables, which CSV takes, and choices of a result or an input.

import type { ComponentChildren } from "preact";
import { state, update } from "./state";

export type Cell = string | number;
let seen: { columns: string[]; rows: Cell[][] } = { columns: [], rows: [] };

const DIGITS = 5;  // that are shown of a number; CSV has all of them
/** A table; the last one that was drawn, and is not an aside, is what CSV gives. */
export function Table({ columns, rows, aside }: { columns: string[]; rows: Cell[][]; aside?: boolean }) {
  const cells = rows.map((row) => row.map((v) => (typeof v === "number" && !Number.isFinite(v) ? "does not fit" : v)));
  if (!aside) seen = { columns, rows: cells };
  return (
    <div class="wide"><table>
      <thead><tr>{columns.map((c) => <th scope="col">{c}</th>)}</tr></thead>
      <tbody>{cells.map((row) => <tr>{row.map((v) => <td class={typeof v === "number" ? "n" : ""}>{typeof v === "number" ? +v.toPrecision(DIGITS) : v}</td>)}</tr>)}</tbody>
    </table></div>
  );
}
export const forgetTable = () => { seen = { columns: [], rows: [] }; };
/** The table of the view; quotes as in RFC 4180. */
export function csvText(): string {
  const cell = (v: Cell) => (/[",\n]/.test(String(v)) ? `"${String(v).replaceAll('"', '""')}"` : String(v));
  return [seen.columns, ...seen.rows].map((row) => row.map(cell).join(",")).join("\r\n");
}

/** @param groups further names, each list under its own title */
export function Choice(p: { label: string; value: string; names: string[]; groups?: [title: string, names: string[]][]; id?: string; title?: string; choose: (name: string) => void }) {
  const options = (names: string[]) => names.map((name) => <option value={name} selected={name === p.value}>{name}</option>);
  return (
    <label title={p.title}>{p.label} <select id={p.id} value={p.value} onChange={(e) => p.choose(e.currentTarget.value)}>
      {options(p.names)}
      {p.groups?.filter(([, names]) => names.length).map(([title, names]) => <optgroup label={title}>{options(names)}</optgroup>)}
    </select></label>
  );
}
export const ResultChoice = ({ names }: { names: string[] }) => <Choice label="result" value={state.of} names={names} choose={(name) => { state.of = name; update(); }} />;
export const InputChoice = ({ names }: { names: string[] }) => <Choice label="along" value={state.along} names={names} choose={(name) => { state.along = name; update(); }} />;
export const Words = ({ id, children }: { id?: string; children?: ComponentChildren }) => <pre id={id}>{children}</pre>;
