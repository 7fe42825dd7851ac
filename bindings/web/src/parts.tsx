// Small parts that views share: tables, which CSV takes, and choices of a result or an input.

import type { ComponentChildren } from "preact";
import { state, update } from "./state";

/** What readers see as a label, and files and addresses as a key. */
export interface Named { name: string; label: string }
export type Cell = string | number | Named;
let seen: { columns: Cell[]; rows: Cell[][] } = { columns: [], rows: [] };

const read = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 }), long = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
/** Three digits, of thousands four: as many as a reader can judge. */
export const digits = (v: number) => (Math.abs(v) >= 1000 ? long : read).format(v);
/** A label at the beginning of a line; "fp16" stays as it is. */
export const cap = (label: string) => label.replace(/^[a-z](?![a-z]*\d)/, (first) => first.toUpperCase());
const shownCell = (v: Cell) => (typeof v === "number" ? digits(v) : typeof v === "string" ? v : cap(v.label));
/** A table; the last one that was drawn, and is not an aside, is what CSV gives, with keys in place of labels. */
export function Table({ columns, rows, aside }: { columns: Cell[]; rows: Cell[][]; aside?: boolean }) {
  const cells = rows.map((row) => row.map((v) => (typeof v === "number" && !Number.isFinite(v) ? "does not fit" : v)));
  if (!aside) seen = { columns, rows: cells };
  const isNumber = (v: Cell) => typeof v === "number" || (typeof v === "string" && /^[-+]?\$?[\d.,]+( |$|%)/.test(v));
  const side = columns.map((_, i) => (2 * cells.filter((row) => isNumber(row[i] ?? "")).length > cells.length ? "n" : ""));
  return (
    <div class="wide"><table>
      <thead><tr>{columns.map((c, i) => <th scope="col" class={side[i]}>{shownCell(c)}</th>)}</tr></thead>
      <tbody>{cells.map((row) => <tr>{row.map((v, i) => <td class={side[i]}>{shownCell(v)}</td>)}</tr>)}</tbody>
    </table></div>
  );
}
export const forgetTable = () => { seen = { columns: [], rows: [] }; };
/** The table of the view; quotes as in RFC 4180. */
export function csvText(): string {
  const cell = (v: Cell) => { const text = String(typeof v === "object" ? v.name : v); return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; };
  return [seen.columns, ...seen.rows].map((row) => row.map(cell).join(",")).join("\r\n");
}

/** @param groups further names, each list under its own title */
export function Choice(p: { label: string; value: string; names: (string | Named)[]; groups?: [title: string, names: string[]][]; id?: string; title?: string; choose: (name: string) => void }) {
  const options = (names: (string | Named)[]) => names.map((each) => (typeof each === "string" ? { name: each, label: each } : each))
    .map(({ name, label }) => <option value={name} selected={name === p.value}>{name === label ? name : cap(label)}</option>);
  return (
    <label class="field" title={p.title}><span>{cap(p.label)}</span><select id={p.id} value={p.value} onChange={(e) => p.choose(e.currentTarget.value)}>
      {options(p.names)}
      {p.groups?.filter(([, names]) => names.length).map(([title, names]) => <optgroup label={title}>{options(names)}</optgroup>)}
    </select></label>
  );
}
/** Parts of other results, which the views draw beside their whole, are not offered on their own. */
const isPart = (name: string) => /^memory\.|^plan_fits$|_(compute|memory|network|overhead)$/.test(name);
export const ResultChoice = ({ results }: { results: Iterable<Named> }) =>
  <Choice id="of" label="Result" value={state.of} names={[...results].filter(({ name }) => name === state.of || !isPart(name))} choose={(name) => { state.of = name; update(); }} />;
export const InputChoice = ({ inputs }: { inputs: Named[] }) => <Choice id="along" label="Input" value={state.along} names={inputs} choose={(name) => { state.along = name; update(); }} />;
export const Words = ({ id, children }: { id?: string; children?: ComponentChildren }) => <pre id={id}>{children}</pre>;
