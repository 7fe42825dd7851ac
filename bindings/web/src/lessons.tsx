// The 22 walls as cards to play with: each runs its resolver on the model and machine of the page, at every move.

import type { ComponentChild } from "preact";
import { useEffect, useState } from "preact/hooks";
import { command, refusal, subject } from "./core";
import { split } from "./core_views";
import { isInput } from "./inputs";
import { asked, pretty, solved, written } from "./numbers";
import { cap, Choice, digits, type Named, Table } from "./parts";
import { state } from "./state";

interface Wall { wall: string; name: string; domain: string; constraint: string; equation: string; resolvers: string }
interface Field extends Named { meaning: string }
interface Resolver { about: string; law: string; requires: Field[]; produces: Field[] }
type Outcome = number | string | boolean | null | { text?: string; value?: number; unit?: string } | Outcome[];
type Fields = [name: string, text: string][];
/** What a run is about: the question of the page, its model on one device, or an example of its own. */
type About = "page" | "device" | "example";
interface Ran { given: Fields; rows: [Named, string, string][]; values: Record<string, Outcome>; refused: string; reason: string; resolver: Resolver; about: About }

const parsed = async (...words: string[]) => JSON.parse((await command(...words, "-o", "json")).text) as unknown;
const NUMBER = /^-?\d+(\.\d+)?([eE][-+]?\d+)?(?= |$)/;

/** The example of a resolver's page, as fields; the page of the resolver has one line that runs. */
async function example(name: string): Promise<Fields> {
  const line = /^mlsysim resolver run .*$/m.exec((await command("resolver", "docs", name)).text)?.[0] ?? "";
  const words = split(line).slice(3), fields: Fields = [];
  for (let i = 0; i + 1 < words.length; i += 2) fields.push([words[i]!.slice(2).replaceAll("-", "_"), words[i + 1]!]);
  return fields;
}
function said(v: Outcome | undefined): string {
  if (v === null || v === undefined) return "";
  if (typeof v === "number") return digits(v);
  if (typeof v !== "object") return String(v);
  if (Array.isArray(v)) return v.length > 6 ? `${v.length} values` : v.map(said).join(", ");
  return v.value === undefined ? v.text ?? "" : pretty(v.value, { unit: v.unit ?? "", scale: 1 });
}
async function runs(name: string, resolver: Resolver, given: Fields, about: About): Promise<Ran> {
  const answer = await command("resolver", "run", name, ...given.flatMap(([key, text]) => [`--${key.replaceAll("_", "-")}`, text]), "-o", "json");
  if (answer.code !== 0 && !answer.text) return { given, rows: [], values: {}, refused: refusal(answer), reason: "", resolver, about };
  const stage = (JSON.parse(answer.text) as { stages: { result?: Record<string, Outcome>; reason?: string }[] }).stages.at(-1);
  const values = stage?.result ?? {};
  const rows = resolver.produces.map((o): [Named, string, string] => [o, said(values[o.name]), o.meaning]).filter((row) => row[1] !== "");
  return { given, rows, values, refused: "", reason: stage?.reason ?? "", resolver, about };
}
/** What the page says of the inputs that a resolver takes: its model and machine, options and numbers. */
async function pageSays(): Promise<Map<string, string>> {
  const words = await subject(state.machine), s = solved(state.machine), out = new Map<string, string>();
  if ("refused" in words || words.words.length < 2) return out;
  for (const input of s?.p.inputs ?? []) out.set(input.name, written(s!.point[s!.p.place.get(input.name)!]!, input));
  const [model, machine, ...options] = words.words;
  out.set("workload", model!).set("hardware", machine!);
  // The page serves as many requests in flight as its batch has.
  if (state.mode === "serve" && out.has("batch_size")) out.set("concurrency", out.get("batch_size")!);
  for (let i = 0; i + 1 < options.length; i += 2) out.set(options[i]!.slice(2).replaceAll("-", "_"), options[i + 1]!);
  return out;
}
/** The resolver on the page's own question; its example says what the page does not. Where it takes no model and machine, or not these, its example alone. */
async function begun(name: string): Promise<Ran> {
  const resolver = (await parsed("resolver", "show", name)) as Resolver, own = await example(name), page = await pageSays();
  const takes = resolver.requires.map((r) => r.name), mine = [...page].filter(([key]) => takes.includes(key));
  if (takes.includes("workload") && takes.includes("hardware") && mine.length) {
    const ran = await runs(name, resolver, [...own.filter(([key]) => !isInput(key) && !page.has(key)), ...mine], takes.includes("tp_size") || page.get("accelerators") === "1" ? "page" : "device");
    if (!ran.refused) return ran;
  }
  return runs(name, resolver, own, "example");
}

/** One input of a lesson: numbers have a slider from a sixteenth to sixteen times of what they were. */
function Given({ field: [name, text], first, about, move }: { field: [string, string]; first: string; about: Field | undefined; move: (text: string) => void }) {
  const number = NUMBER.exec(first)?.[0], label = about?.label ?? name;
  const base = Number(number), whole = number !== undefined && /^\d+$/.test(number) && text.length < 8;
  const to = (step: number) => { const v = base * 2 ** (step / 16); return `${whole ? Math.max(1, Math.round(v)) : +v.toPrecision(4)}${first.slice(number!.length)}`; };
  const step = number && base > 0 ? Math.round(16 * Math.log2(Number(NUMBER.exec(text)?.[0] ?? base) / base)) : 0;
  return (
    <label class="field" title={about?.meaning}><span>{cap(label)}</span><input type="text" value={text} onChange={(e) => move(e.currentTarget.value)} />
      {number && base > 0 && <input type="range" min={whole ? -Math.min(64, Math.floor(16 * Math.log2(base))) : -64} max="64" step="1" value={step} aria-label={label} onInput={(e) => move(to(Number(e.currentTarget.value)))} />}
    </label>
  );
}
/** A resolver with its inputs and what they give. */
function Play({ name }: { name: string }) {
  const [ran, setRan] = useState<{ now: Ran; first: Fields; of: string } | undefined>();
  useEffect(() => { let here = true; void begun(name).then((now) => here && setRan({ now, first: now.given, of: name })); return () => { here = false; }; }, [name]);
  if (!ran || ran.of !== name) return <p class="note">Running {name} ...</p>;
  const { now, first } = ran;
  const move = async (key: string, text: string) => {
    const given = now.given.map((field): [string, string] => (field[0] === key ? [key, text] : field));
    setRan({ now: { ...now, given }, first, of: name });
    const next = await runs(name, now.resolver, given, now.about);
    setRan((last) => (last?.of === name && JSON.stringify(last.now.given) === JSON.stringify(given) ? { now: next, first, of: name } : last));
  };
  return (
    <div class="lesson">
      <p>{now.resolver.about}: <code>{now.resolver.law}</code>{now.about !== "page" && <span class="note"> {now.about === "device" ? "This is the model on one device." : "This is an example: the resolver does not take the model and machine of this page."}</span>}</p>
      <div class="inputs">{now.given.map((field, i) => <Given field={field} first={first[i]![1]} move={(text) => void move(field[0], text)} about={now.resolver.requires.find((r) => r.name === field[0])} />)}</div>
      {now.refused || now.reason ? <p>{now.refused || now.reason}</p> : <Table columns={["result", "value", "meaning"]} rows={now.rows} />}
    </div>
  );
}
function Lesson({ wall, first }: { wall: Wall; first: string }) {
  const names = wall.resolvers.split(", "), [name, choose] = useState(first || names[0]!);
  const [fallacies, setFallacies] = useState<string[]>([]);
  useEffect(() => { void parsed("walls", wall.wall).then((page) => setFallacies((page as { rows: { what: string; text: string }[] }).rows.filter((r) => r.what === "fallacy").map((r) => r.text))); }, [wall.wall]);
  const at = names.includes(name) ? name : names[0]!;
  return (
    <article id="lesson" aria-live="polite">
      <h2>{wall.wall} {wall.name}: {wall.constraint}</h2>
      <p><code>{wall.equation}</code></p>
      {names.length > 1 && <Choice label="Resolver" value={at} names={names} choose={choose} />}
      <Play name={at} key={at} />
      <ul>{fallacies.map((text) => { const [wrong, right] = text.split(" Instead: "); return <li><s>{wrong}</s> {right}</li>; })}</ul>
    </article>
  );
}
/** Whether a number that the page has, too, is that of the page. */
function agrees(ran: Ran, name: string): boolean {
  const v = ran.values[name], mine = solved(state.machine)?.n[name];
  const theirs = typeof v === "number" ? v : v && typeof v === "object" && !Array.isArray(v) ? v.value : undefined;
  return ran.about === "page" && mine !== undefined && theirs !== undefined && Math.abs(theirs / mine - 1) < 1e-6;
}
const tile = (ran: Ran) => asked().tiles.map((name) => (agrees(ran, name) ? ran.rows.find(([r]) => r.name === name) : undefined)).find((row) => row !== undefined);
/** What a card says before it is opened: the page's main number where the wall has it, or its first quantity that the page does not have. */
const headline = (ran: Ran) => tile(ran) ?? ran.rows.find(([r, text]) => /^[\d.,$]/.test(text) && !/^\$?0( |$)/.test(text) && (ran.about === "example" || !solved(state.machine)?.p.results.has(r.name))) ?? ran.rows[0];
const ABOUT: Record<About, string> = { page: "", device: "One device: ", example: "Example: " };
interface Said { text: string; about: About; resolver: string }
function Card({ wall, number, open, choose }: { wall: Wall; number: Said | undefined; open: boolean; choose: () => void }) {
  return (
    <button type="button" aria-pressed={open} data-wall={wall.wall} onClick={choose}>
      <strong>{wall.wall} {wall.name}</strong><span>{cap(wall.constraint)}</span><output class={number?.about}>{number ? ABOUT[number.about] + number.text : "..."}</output>
    </button>
  );
}
/** The first resolver of a wall that gives a number of the page, or else its first. */
async function answer(wall: Wall): Promise<Said> {
  const names = wall.resolvers.split(", "), runs: Ran[] = [];
  for (const name of names) { runs.push(await begun(name)); if (tile(runs.at(-1)!)) break; }
  const at = Math.max(0, runs.findIndex(tile)), ran = runs[at]!, line = headline(ran);
  return { text: line ? `${line[0].label} ${line[1]}` : ran.refused || ran.reason, about: ran.about, resolver: names[at]! };
}
function Walls({ walls }: { walls: Wall[] }) {
  const [open, setOpen] = useState(""), [numbers, setNumbers] = useState<Record<string, Said>>({});
  const here = JSON.stringify([state.model, state.machine, state.mode, state.changes, state.options]), wall = walls.find((w) => w.wall === open);
  useEffect(() => {
    let wanted = true;
    void (async () => {
      for (const each of walls) {
        if (!wanted) return;
        const number = await answer(each);
        if (wanted) setNumbers((all) => ({ ...all, [each.wall]: number }));
      }
    })();
    return () => { wanted = false; };
  }, [here]);
  return (
    <>
      {!wall && <p class="lead">Twenty-two limits of machine-learning systems. Numbers in blue answer the question of this page, the others are examples. Open a card to play with it.</p>}
      {wall && <Lesson wall={wall} first={numbers[open]?.resolver ?? ""} key={wall.wall + here} />}
      <div class="cards">{walls.map((each) => <Card wall={each} number={numbers[each.wall]} open={each.wall === open} choose={() => setOpen(each.wall === open ? "" : each.wall)} />)}</div>
    </>
  );
}
export async function lessons(): Promise<ComponentChild> {
  return <Walls walls={((await parsed("walls")) as { rows: Wall[] }).rows} />;
}
