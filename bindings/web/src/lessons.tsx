// The 22 walls as cards with what they limit on this page, and as lessons that run the wall's resolver at every move.

import type { ComponentChild } from "preact";
import { useEffect, useState } from "preact/hooks";
import { command, refusal, subject } from "./core";
import { split } from "./core_views";
import { isInput } from "./inputs";
import { asked, pretty, shown, solved, written } from "./numbers";
import { cap, Choice, digits, type Named, Table } from "./parts";
import { state, systems } from "./state";

interface Wall { wall: string; name: string; domain: string; constraint: string; equation: string; resolvers: string }
interface Field extends Named { meaning: string; required?: boolean }
interface Resolver { about: string; law: string; requires: Field[]; produces: Field[] }
type Outcome = number | string | boolean | null | { text?: string; value?: number; unit?: string } | Outcome[];
type Fields = [name: string, text: string][];
/** What a run answers: the question of the page, another one about its model and machine, or an example of its own. */
type About = "page" | "other" | "example";
const ABOUT: Record<About, string> = {
  page: "", other: "These are not the numbers of the page: the resolver answers another question about its model and machine.",
  example: "This is an example: the resolver does not take the model and machine of the page.",
};
/** The numbers of the page that a wall limits; the first one that the task has stands on its card. */
const LIMITS: Record<string, string[]> = {
  Compute: ["prefill_compute", "latency_compute"], Memory: ["decode_memory", "latency_memory"], Software: ["mfu"], Serving: ["ttft"], Batching: ["kv_cache_size"], "Tail latency": ["ttft_queue"],
  Communication: ["decode_network", "exposed_communication_latency"], Fragility: ["goodput_ratio"], Capital: ["tco"], Sustainability: ["carbon_footprint"],
};
interface Ran { given: Fields; rows: [Named, string, string][]; values: Record<string, Outcome>; refused: string; reason: string; resolver: Resolver; about: About }

const parsed = async (...words: string[]) => JSON.parse((await command(...words, "-o", "json")).text) as unknown;
const OBJECTS = ["workload", "hardware", "fleet"];
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
  out.set("workload", model!).set(systems.cluster.has(machine!) ? "fleet" : "hardware", machine!);
  // The page serves as many requests in flight as its batch has.
  if (state.mode === "serve" && out.has("batch_size")) out.set("concurrency", out.get("batch_size")!);
  for (let i = 0; i + 1 < options.length; i += 2) out.set(options[i]!.slice(2).replaceAll("-", "_"), options[i + 1]!);
  return out;
}
/** Whether a run gives the page's own main numbers, and no other values of them. */
function answersPage(ran: Ran): boolean {
  const mine = solved(state.machine)?.n ?? {}, both = [...asked().tiles, "memory.total"].flatMap((name) => {
    const v = ran.values[name], theirs = typeof v === "number" ? v : v && typeof v === "object" && !Array.isArray(v) ? v.value : undefined;
    return theirs === undefined || mine[name] === undefined ? [] : [Math.abs(theirs / mine[name] - 1) < 1e-6];
  });
  return both.length > 0 && both.every(Boolean);
}
/** The resolver on the page's own question; its example says what the page does not. Where it takes no model and machine, or not these, its example alone. */
async function begun(name: string): Promise<Ran> {
  const resolver = (await parsed("resolver", "show", name)) as Resolver, own = await example(name), page = await pageSays();
  const takes = resolver.requires.map((r) => r.name), mine = [...page].filter(([key]) => takes.includes(key));
  if (takes.includes("workload") && (page.has("fleet") ? takes.includes("fleet") : takes.includes("hardware")) && resolver.requires.every((r) => !r.required || !OBJECTS.includes(r.name) || page.has(r.name))) {
    const ran = await runs(name, resolver, [...own.filter(([key]) => !isInput(key) && !OBJECTS.includes(key) && !page.has(key)), ...mine], "other");
    if (!ran.refused) return answersPage(ran) ? { ...ran, about: "page" } : ran;
  }
  return runs(name, resolver, own, "example");
}
/** The first resolver of a wall that answers the page, or else its first. */
async function answering(names: string[]): Promise<string> {
  for (const name of names) if ((await begun(name)).about === "page") return name;
  return names[0]!;
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
      <p>{now.resolver.about}: <code>{now.resolver.law}</code> <strong id="about" data-about={now.about}>{ABOUT[now.about]}</strong></p>
      <div class="inputs">{now.given.map((field, i) => <Given field={field} first={first[i]![1]} move={(text) => void move(field[0], text)} about={now.resolver.requires.find((r) => r.name === field[0])} />)}</div>
      {now.refused || now.reason ? <p>{now.refused || now.reason}</p> : <Table columns={["result", "value", "meaning"]} rows={now.rows} />}
    </div>
  );
}
function Lesson({ wall }: { wall: Wall }) {
  const names = wall.resolvers.split(", "), [name, choose] = useState("");
  const [fallacies, setFallacies] = useState<string[]>([]);
  useEffect(() => {
    let here = true;
    void answering(names).then((first) => here && choose((last) => last || first));
    void parsed("walls", wall.wall).then((page) => here && setFallacies((page as { rows: { what: string; text: string }[] }).rows.filter((r) => r.what === "fallacy").map((r) => r.text)));
    return () => { here = false; };
  }, [wall.wall]);
  return (
    <article id="lesson" aria-live="polite">
      <h2>{wall.wall} {wall.name}: {wall.constraint}</h2>
      <p><code>{wall.equation}</code></p>
      {name && names.length > 1 && <Choice label="Resolver" value={name} names={names} choose={choose} />}
      {name && <Play name={name} key={name} />}
      <ul>{fallacies.map((text) => { const [wrong, right] = text.split(" Instead: "); return <li><s>{wrong}</s> {right}</li>; })}</ul>
    </article>
  );
}
function Card({ wall, open, choose }: { wall: Wall; open: boolean; choose: () => void }) {
  const s = solved(state.machine), name = LIMITS[wall.name]?.find((each) => Number.isFinite(s?.n[each] ?? NaN));
  return (
    <button type="button" aria-pressed={open} data-wall={wall.wall} onClick={choose}>
      <strong>{wall.wall} {wall.name}</strong><span>{cap(wall.constraint)}</span>
      {s && name ? <output data-result={name}>{cap(s.p.result(name).label)} {shown(s, name)}</output> : <span>No number of this page: open it for an example</span>}
    </button>
  );
}
function Walls({ walls }: { walls: Wall[] }) {
  const [open, setOpen] = useState("");
  const here = JSON.stringify([state.model, state.machine, state.mode, state.changes, state.options]), wall = walls.find((w) => w.wall === open);
  return (
    <>
      {!wall && <p class="lead">Twenty-two limits of machine-learning systems. The number on a card is the number of this page that the limit affects. Open a card to try its resolver.</p>}
      {wall && <Lesson wall={wall} key={wall.wall + here} />}
      <div class="cards">{walls.map((each) => <Card wall={each} open={each.wall === open} choose={() => setOpen(each.wall === open ? "" : each.wall)} />)}</div>
    </>
  );
}
export async function lessons(): Promise<ComponentChild> {
  return <Walls walls={((await parsed("walls")) as { rows: Wall[] }).rows} />;
}
