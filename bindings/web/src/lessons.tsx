// The 22 walls as cards to play with: each runs its resolver on the model and machine of the page, at every move.

import type { ComponentChild } from "preact";
import { useEffect, useState } from "preact/hooks";
import { command, refusal } from "./core";
import { split } from "./core_views";
import { Choice, Table } from "./parts";
import { state } from "./state";

interface Wall { wall: string; name: string; domain: string; constraint: string; equation: string; resolvers: string }
interface Field { name: string; meaning: string }
interface Resolver { about: string; law: string; requires: Field[]; produces: Field[] }
type Outcome = number | string | boolean | null | { text?: string; value?: number; unit?: string } | Outcome[];
type Fields = [name: string, text: string][];
interface Ran { given: Fields; rows: [string, string, string][]; refused: string; reason: string; resolver: Resolver }

const parsed = async (...words: string[]) => JSON.parse((await command(...words, "-o", "json")).text) as unknown;
const NUMBER = /^-?\d+(\.\d+)?([eE][-+]?\d+)?(?= |$)/;

/** The example of a resolver's page, as fields; the page of the resolver has one line that runs. */
async function example(name: string): Promise<Fields> {
  const line = /^mlsysim resolver run .*$/m.exec((await command("resolver", "docs", name)).text)?.[0] ?? "";
  const words = split(line).slice(3), fields: Fields = [];
  for (let i = 0; i + 1 < words.length; i += 2) fields.push([words[i]!.slice(2), words[i + 1]!]);
  return fields;
}
function said(v: Outcome | undefined): string {
  if (v === null || v === undefined) return "";
  if (typeof v === "number") return String(+v.toPrecision(5));
  if (typeof v !== "object") return String(v);
  if (Array.isArray(v)) return v.length > 6 ? `${v.length} values` : v.map(said).join(", ");
  return v.text ?? (v.value === undefined ? "" : `${+v.value.toPrecision(5)} ${v.unit ?? ""}`.trim());
}
async function runs(name: string, resolver: Resolver, fields: Fields): Promise<Ran> {
  const answer = await command("resolver", "run", name, ...fields.flatMap(([key, text]) => [`--${key}`, text]), "-o", "json");
  if (answer.code !== 0 && !answer.text) return { given: fields, rows: [], refused: refusal(answer), reason: "", resolver };
  const stage = (JSON.parse(answer.text) as { stages: { result?: Record<string, Outcome>; reason?: string }[] }).stages.at(-1);
  const result = stage?.result ?? {};
  const rows = resolver.produces.map((o): [string, string, string] => [o.name, said(result[o.name]), o.meaning]).filter((row) => row[1] !== "");
  return { given: fields, rows, refused: "", reason: stage?.reason ?? "", resolver };
}
/** The example on the page's model and machine; where the resolver does not take them, on its own. */
async function begun(name: string): Promise<Ran> {
  const resolver = (await parsed("resolver", "show", name)) as Resolver, own = await example(name);
  const here = own.map(([key, text]): [string, string] => [key, key === "workload" ? state.model : key === "hardware" ? state.machine : text]);
  const ran = await runs(name, resolver, here);
  return ran.refused ? runs(name, resolver, own) : ran;
}

/** One figure of a lesson: numbers have a slider from a sixteenth to sixteen times of what they were. */
function Figure({ field, first, meaning, move }: { field: [string, string]; first: string; meaning: string; move: (text: string) => void }) {
  const [name, text] = field, number = NUMBER.exec(first)?.[0];
  const base = Number(number), whole = number !== undefined && /^\d+$/.test(number) && text.length < 8;
  const to = (step: number) => { const v = base * 2 ** (step / 16); return `${whole ? Math.max(1, Math.round(v)) : +v.toPrecision(4)}${first.slice(number!.length)}`; };
  const step = number && base > 0 ? Math.round(16 * Math.log2(Number(NUMBER.exec(text)?.[0] ?? base) / base)) : 0;
  return (
    <label title={meaning}>{name.replaceAll("-", "_")} <output>{text}</output>
      {number && base > 0 ? <input type="range" min="-64" max="64" step="1" value={step} aria-label={`${name}: ${meaning}`} onInput={(e) => move(to(Number(e.currentTarget.value)))} />
        : <input type="text" value={text} aria-label={`${name}: ${meaning}`} onChange={(e) => move(e.currentTarget.value)} />}
    </label>
  );
}
/** A resolver with its figures and what they give. */
function Play({ name }: { name: string }) {
  const [ran, setRan] = useState<{ now: Ran; first: Fields; of: string } | undefined>();
  useEffect(() => { let here = true; void begun(name).then((now) => here && setRan({ now, first: now.given, of: name })); return () => { here = false; }; }, [name]);
  if (!ran || ran.of !== name) return <p>running {name} ...</p>;
  const { now, first } = ran;
  const move = async (key: string, text: string) => {
    const given = now.given.map((field): [string, string] => (field[0] === key ? [key, text] : field));
    setRan({ now: { ...now, given }, first, of: name });
    const next = await runs(name, now.resolver, given);
    setRan((last) => (last?.of === name && JSON.stringify(last.now.given) === JSON.stringify(given) ? { now: next, first, of: name } : last));
  };
  return (
    <div class="lesson">
      <p>{now.resolver.about}: <code>{now.resolver.law}</code></p>
      <div class="figures">{now.given.map((field, i) => <Figure field={field} first={first[i]![1]} move={(text) => void move(field[0], text)}
        meaning={now.resolver.requires.find((r) => r.name === field[0].replaceAll("-", "_"))?.meaning ?? ""} />)}</div>
      {now.refused || now.reason ? <p>{now.refused || now.reason}</p> : <Table columns={["result", "value", "meaning"]} rows={now.rows} />}
    </div>
  );
}
function Lesson({ wall }: { wall: Wall }) {
  const names = wall.resolvers.split(", "), [name, choose] = useState(names[0]!);
  const [fallacies, setFallacies] = useState<string[]>([]);
  useEffect(() => { void parsed("walls", wall.wall).then((page) => setFallacies((page as { rows: { what: string; text: string }[] }).rows.filter((r) => r.what === "fallacy").map((r) => r.text))); }, [wall.wall]);
  const at = names.includes(name) ? name : names[0]!;
  return (
    <article id="lesson" aria-live="polite">
      <h2>{wall.wall} {wall.name}: {wall.constraint}</h2>
      <p><code>{wall.equation}</code></p>
      {names.length > 1 && <Choice label="resolver" value={at} names={names} choose={choose} />}
      <Play name={at} key={at} />
      <ul>{fallacies.map((text) => { const [wrong, right] = text.split(" Instead: "); return <li><s>{wrong}</s> {right}</li>; })}</ul>
    </article>
  );
}
/** What a card says before it is opened: the first quantity that the wall's first resolver gives here. */
const headline = (ran: Ran) => ran.rows.find(([, text]) => /^[\d.]/.test(text)) ?? ran.rows[0];
function Card({ wall, number, open, choose }: { wall: Wall; number: string | undefined; open: boolean; choose: () => void }) {
  return (
    <button type="button" aria-pressed={open} data-wall={wall.wall} onClick={choose}>
      <strong>{wall.wall} {wall.name}</strong><span>{wall.constraint}</span><output>{number ?? "..."}</output>
    </button>
  );
}
function Walls({ walls }: { walls: Wall[] }) {
  const [open, setOpen] = useState(""), [numbers, setNumbers] = useState<Record<string, string>>({});
  const here = `${state.model}|${state.machine}`, wall = walls.find((w) => w.wall === open);
  useEffect(() => {
    let wanted = true;
    void (async () => {
      for (const each of walls) {
        if (!wanted) return;
        const ran = await begun(each.resolvers.split(", ")[0]!), line = headline(ran);
        if (wanted) setNumbers((all) => ({ ...all, [each.wall]: line ? `${line[0]} ${line[1]}` : ran.refused || ran.reason }));
      }
    })();
    return () => { wanted = false; };
  }, [here]);
  return (
    <>
      {wall && <Lesson wall={wall} key={wall.wall} />}
      <div class="cards">{walls.map((each) => <Card wall={each} number={numbers[each.wall]} open={each.wall === open} choose={() => setOpen(each.wall === open ? "" : each.wall)} />)}</div>
    </>
  );
}
export async function lessons(): Promise<ComponentChild> {
  return <Walls walls={((await parsed("walls")) as { rows: Wall[] }).rows} />;
}
