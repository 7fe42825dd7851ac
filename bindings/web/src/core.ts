// The core in the page: any model, machine, plan or launch becomes a program; moved figures become a machine.

import { readInputs } from "./inputs";
import { fitting, moves, written } from "./numbers";
import { Program, type ProgramJson } from "./program";
import { built, devicesOf, grown, program, programKey, programs, type Schema, startDevices, state, systems } from "./state";
import type { Begin, Message, Reply, Told } from "./worker";

/** What a user brought: a file of a model or machine, or a text that makes a plan for each machine. */
export type Own = { kind: "model" | "machine"; bytes: Uint8Array } | { kind: "plan" | "launch"; text: string; made: Set<string>; plans: Record<string, string>; notes: string };
export const own = new Map<string, Own>();
export const live = built.worker !== undefined;

let worker: Worker, data: Begin | undefined, next = 1;
const waiting = new Map<number, (reply: Reply) => void>(), listening = new Map<number, (told: string) => void>();

function ask(message: Message, told?: (text: string) => void): Promise<Reply> {
  return new Promise((done) => {
    const id = next;
    next += 1;
    waiting.set(id, done);
    if (told) listening.set(id, told);
    worker.postMessage({ id, ...message });
  });
}
function answered(data: Reply | Told) {
  if ("told" in data) { listening.get(data.id)?.(data.told); return; }
  const done = waiting.get(data.id);
  waiting.delete(data.id);
  listening.delete(data.id);
  done?.(data);
}
/** A command line of the program. */
export const command = (...words: string[]) => ask({ words });
/** The same, with what it prints while it works: its progress. */
export const longCommand = (words: string[], told: (text: string) => void) => ask({ words }, told);
/** Puts a file where commands find it. */
export const place = (file: string, bytes: Uint8Array) => ask({ file, bytes });

declare const MLSYSIM_CORE: Begin;
/** The module and the zoo: files of a server, which packs them; from file://, where nothing may be fetched, a script. */
async function coreData(): Promise<Begin> {
  if (typeof MLSYSIM_CORE !== "undefined") return MLSYSIM_CORE; // the page in one file (one_file.py)
  if (location.protocol !== "file:") {
    const [wasm, zoo] = await Promise.all(["mlsysim.wasm", "zoo.bin"].map(async (name) => (await fetch(name)).arrayBuffer()));
    return { wasm: wasm!, zoo: zoo! };
  }
  await new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = "core.js";
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  });
  return MLSYSIM_CORE;
}
export async function beginCore() {
  data ??= await coreData();
  worker = new Worker(URL.createObjectURL(new Blob([built.worker ?? ""], { type: "text/javascript" })));
  worker.onmessage = ({ data: reply }: MessageEvent<Reply | Told>) => answered(reply);
  const files = [...own].flatMap(([name, each]) => ("bytes" in each ? [place(name, each.bytes)] : []));
  await Promise.all([ask({ begin: data }), ...files]);
}
/** Ends what takes too long; the core begins anew with the same files. */
export function stopCore() {
  worker.terminate();
  moved.clear();
  for (const each of own.values()) if ("made" in each) each.made.clear();
  for (const [id, done] of waiting) done({ id, code: 1, text: "", notes: "stopped", ms: 0 });
  waiting.clear();
  listening.clear();
  return beginCore();
}
type Row = { name: string } & Record<string, string | number>;
async function listed(kind: string): Promise<Row[]> {
  const answer = await command("zoo", "list", kind, "-o", "json");
  if (answer.code !== 0) throw new Error(refusal(answer));
  return (JSON.parse(answer.text) as { rows: Row[] }).rows;
}
/** Asks the core what it knows by name. @throws in its words, where it cannot say */
export async function readNames() {
  const namesOf = async (kind: string) => (await listed(kind)).map((row) => row.name).sort();
  [built.models, built.machines] = [await namesOf("model"), await namesOf("hardware")];
  const schema = await command("schema", "plan");
  if (schema.code !== 0) throw new Error(refusal(schema));
  await readInputs(JSON.parse(schema.text) as Schema, namesOf);
  for (const [kind, counted] of [["node", "devices"], ["cluster", "accelerators"], ["pod", "chips"]] as const)
    for (const row of await listed(kind)) systems[kind].set(row.name, Number(row[counted]));
}
/** The words of a refusal. */
export const refusal = (answer: Reply) => answer.notes.replace(/^mlsysim: error: /, "").trim();

// ---- what a command is about ----------------------------------------------------------------------------------------
export type Subject = { words: string[] } | { refused: string };

const NAMED = /^(hardware:[ \t]*\n(?:[ \t]+.*\n)*?[ \t]+name:[ \t]*)([^\s#]+)/m;  // the machine of a plan
export const machineOf = (plan: string) => NAMED.exec(plan)?.[2];

/** Whether the model is a plan or a launch, which bring their own options. */
export const planned = () => { const each = own.get(state.model); return each !== undefined && "text" in each; };

/** The first words of a command about a model on a machine. @param as the machine's name or file in the command */
async function targets(model: string, machine: string, as = machine): Promise<Subject> {
  const each = own.get(model);
  if (!each || !("text" in each)) return { words: [model, as] };
  const name = `${model}@${as.replaceAll("/", "_")}.yaml`;
  if (!each.made.has(name)) {
    let text = each.text;
    if (each.kind === "launch") {
      const plan = await command("import", each.text, "--hardware", as);
      if (plan.code !== 0) return { refused: refusal(plan) };
      text = plan.text;
      each.notes = plan.notes;
    } else if (NAMED.test(text)) {
      text = text.replace(NAMED, `$1${as}`);
    } else {
      return { refused: "this plan describes its machine itself, so it is not put on another one" };
    }
    await place(name, new TextEncoder().encode(text));
    each.made.add(name);
    each.plans[machine] = text;
  }
  return { words: [name] };
}
const MOST = { serve: 64, train: 4096, infer: 1 };  // devices that are tried for what does not fit on fewer
/** The question at the start: nodes in a pipeline for serving, states in shards for training; a system gets a request for each of its replicas. */
function startWords(machine: string, devices: number): string[] {
  const start: Record<string, string | number> = {}, system = devicesOf(machine) !== undefined;
  if (!planned()) {
    if (!system) start.accelerators = devices;
    start.mode = state.mode;
    if (state.mode === "serve" && devices > startDevices()) Object.assign(start, system ? { batch_size: Math.ceil(devices / startDevices()) } : { tp_size: startDevices(), pp_size: devices / startDevices() });
    if (state.mode === "train") Object.assign(start, { batch_size: devices, zero_stage: 3 });
  }
  return Object.entries({ ...start, ...state.options }).flatMap(([name, v]) => [`--${name.replaceAll("_", "-")}`, String(v)]);
}
/** The program that the words make, the first that is not refused of all results and of those without prices. */
async function exported(words: string[]): Promise<Program | string> {
  let why = "";
  const plain = built.results[state.mode], charged = built.charged.filter((name) => state.mode !== "infer" || !name.endsWith("_per_token"));
  for (let results of [[...plain, ...charged], plain]) {
    for (;;) {
      const got = await command("export", ...words, results.join(","));
      if (got.code === 0) return new Program(JSON.parse(got.text) as ProgramJson);
      const said = refusal(got), absent = /has no result '([\w.]+)'/.exec(said)?.[1];
      why ||= said;
      // Some questions have no such number: fine-tuning has no time of a whole run.
      if (absent && results.length > 1 && results.includes(absent)) { results = results.filter((name) => name !== absent); continue; }
      if (got.code === 2) return why;
      break;
    }
  }
  return why;
}
/** Makes the program of a pair, unless it is there; where the core refuses, its words are kept instead. */
export async function have(machine: string) {
  const key = programKey(machine);
  if (program(machine) !== undefined) return;
  const t = await targets(state.model, machine);
  if ("refused" in t) { programs.set(key, t.refused); return; }
  let first: Program | string | undefined;
  const whole = devicesOf(machine), stated = planned() || whole !== undefined || "accelerators" in state.options;
  for (let devices = whole ?? startDevices(); ; devices *= 2) {
    const made = await exported([...t.words, ...startWords(machine, devices)]);
    first ??= made;
    const small = typeof made === "string" ? made.includes("does not fit") : !fitting(made, made.answer(made.point()));
    if (!small) { first = made; if (!whole && devices > startDevices()) grown.add(key); }
    if (!small || stated || 2 * devices > MOST[state.mode] || typeof first === "string" && !first.includes("does not fit")) break;
  }
  programs.set(key, first ?? "");
}

// ---- a machine whose figures were moved -----------------------------------------------------------------------------
const LINKS: Record<string, string> = { "links.level1.bandwidth": "intra_node_bw", "links.level2.bandwidth": "fabric_bandwidth" };
const moved = new Map<string, string>();  // texts of files that the core has

/** The line of a key path in a YAML mapping of the zoo's form, and how deep it is; undefined where it is not written out. */
function lineOf(lines: string[], path: string[]): number | undefined {
  let from = lines.findIndex((line) => line.startsWith("- name:")), depth = 2;
  for (const key of path) {
    const start = `${" ".repeat(depth)}${key}:`;
    let i = from + 1;
    while (i < lines.length && !(lines[i]!.startsWith(start)) && (lines[i]!.search(/\S/) >= depth || lines[i] === "")) i += 1;
    if (!lines[i]?.startsWith(start)) return undefined;
    from = i;
    depth += 2;
  }
  return from;
}
/** The machine's file of the zoo with other values. What it does not write out is named in `left`. */
export function withFigures(yaml: string, figures: [path: string, text: string][]): { yaml: string; left: string[] } {
  const lines = yaml.split("\n"), left: string[] = [];
  for (const [path, text] of figures) {
    const at = lineOf(lines, path.split("."));
    if (at === undefined) { left.push(path); continue; }
    const key = /^(\s*[\w]+:)(.*)$/.exec(lines[at]!)!;
    if (key[2]!.trim() !== "") { lines[at] = `${key[1]} ${text}`; continue; }
    // A figure with a source of its own: the source is no longer that of the value.
    let end = at + 1;
    const depth = lines[at]!.search(/\S/);
    while (end < lines.length && lines[end]!.search(/\S/) > depth) end += 1;
    lines.splice(at, end - at, `${key[1]} ${text}`);
  }
  return { yaml: lines.join("\n"), left };
}
/** The figures of the device that were moved, as [path in its file, value]; those that options take are not among them. */
function figures(): [string, string][] {
  const p = program(state.machine);
  return Object.entries(state.changes).filter(([name]) => name.startsWith("hardware."))
    .map(([name, v]) => [name.slice("hardware.".length), written(v, p instanceof Program ? p.input(name) : undefined)]);
}
/** Tells questions apart whose machine has a file of its own; empty where no figure of the device was moved. */
export const movedKey = () => { const all = figures(); return all.length ? JSON.stringify([state.machine, all]) : ""; };
export interface Moved { file: string; yaml: string; left: string[] }
/** The file of the first machine with what was moved on it, or nothing where nothing was. */
export async function movedMachine(): Promise<Moved | undefined> {
  const all = figures();
  if (!all.length) return undefined;
  const shown = await command("zoo", "show", state.machine, "--yaml");
  if (shown.code !== 0) return { file: state.machine, yaml: "", left: all.map(([path]) => `hardware.${path}`) };
  const { yaml, left } = withFigures(shown.text, all);
  const file = `${state.machine.replace(/\.ya?ml$/, "")}-moved.yaml`;
  if (moved.get(file) !== yaml) {
    await place(file, new TextEncoder().encode(yaml));
    moved.set(file, yaml);
    for (const each of own.values()) if ("made" in each) each.made.delete(`${state.model}@${file}.yaml`);
  }
  return { file: left.length === all.length ? state.machine : file, yaml, left: left.map((path) => `hardware.${path}`) };
}
/** Moved figures that neither an option nor the machine's file takes. */
export async function notTaken(): Promise<string[]> {
  const rest = Object.keys(state.changes).filter((name) => name.includes(".") && !name.startsWith("hardware.") && !(name in LINKS));
  return [...rest, ...((await movedMachine())?.left ?? [])];
}

/** The options of what was moved and chosen, for a machine. */
function optionWords(machine: string): string[] {
  const p = program(machine), start = p instanceof Program ? p.input("accelerators")?.value ?? startDevices() : startDevices();
  const changes = Object.entries(state.changes).map(([name, v]): [string, number, string] => [LINKS[name] ?? name, v, name])
    .filter(([option, , name]) => !option.includes(".") && moves(name, machine));
  const words = changes.flatMap(([option, v, name]) => [`--${option.replaceAll("_", "-")}`, written(v, p instanceof Program ? p.input(name) : undefined)]);
  const given = new Set(words.filter((w) => w.startsWith("--")));
  const begun = startWords(machine, devicesOf(machine) ?? start);
  return [...begun.flatMap((w, i) => (w.startsWith("--") && !given.has(w) ? [w, begun[i + 1]!] : [])), ...words];
}
/** A command about what is on the screen: model and machine with all that was moved. @param before words that follow them */
export async function subject(machine: string, before: string[] = []): Promise<Subject> {
  const as = machine === state.machine ? await movedMachine() : undefined;
  const t = await targets(state.model, machine, as?.file);
  return "refused" in t ? t : { words: [...t.words, ...before, ...optionWords(machine)] };
}
/** What the core takes by itself where nothing is said, by the names of inputs. */
export const assumed = new Map<string, string>();
export async function readAssumed() {
  const t = await targets(state.model, state.machine), answer = "refused" in t ? undefined : await command("eval", ...t.words, ...optionWords(state.machine), "-o", "json");
  assumed.clear();
  const said = answer?.text ? (JSON.parse(answer.text) as { assumptions?: { name: string; value: string }[] }).assumptions ?? [] : [];
  for (const { name, value } of said) assumed.set(name, value);
}
/** Whether the core answers, but with code that is no program, so that nothing can be replayed here. */
export const unrecorded = (words: Program | string | undefined) => typeof words === "string" && (words.includes("nothing to export") || words.includes("has no result"));
/** The options alone, for texts to take along. */
export const optionsShown = () => optionWords(state.machine);

// ---- what a user brings ---------------------------------------------------------------------------------------------
const ROOM = 64 * 1024 * 1024;

/** Takes a file or a text: a plan, a launch, a model file, a machine, or recorded traffic. @return what became of it */
export async function take(name: string, bytes: Uint8Array): Promise<{ words: string; taken?: Own; as?: string }> {
  if (bytes.length > ROOM) return { words: `${name} has ${(bytes.length / 1e6).toFixed(0)} MB; the page takes files up to ${ROOM / 1024 / 1024} MiB` };
  const text = new TextDecoder().decode(bytes), plain = name.replace(/[^\w.@-]/g, "_");
  if (/\.(jsonl|csv|gz)$/.test(plain)) {
    await place(plain, bytes);
    return { words: `${plain} is there for the console: mlsysim trace show ${plain}` };
  }
  const yaml = /\.ya?ml$/.test(plain), launch = !yaml && !/\.(json|gguf|safetensors)$/.test(plain);
  const plan = yaml && /^version:/m.test(text);
  let taken: Own;
  if (launch || plan) {
    taken = { kind: launch ? "launch" : "plan", text: text.trim() + (plan ? "\n" : ""), made: new Set(), plans: {}, notes: "" };
  } else {
    await place(plain, bytes);
    taken = { kind: yaml && /^schema: *mlsysim\/hardware/m.test(text) ? "machine" : "model", bytes };
  }
  own.set(plain, taken);
  const list = taken.kind === "machine" ? built.machines : built.models;
  if (!list.includes(plain)) list.unshift(plain);
  for (const key of [...programs.keys()]) if (key.split("|").slice(0, 2).includes(plain)) programs.delete(key);
  return { words: "", taken, as: plain };
}
