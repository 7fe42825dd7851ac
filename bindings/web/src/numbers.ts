// Numbers of the two machines, replayed from their programs, and the sentences that they make.

import { type Input, type Numbers, Program, type Result } from "./program";
import { devicesOf, grown, type Mode, program, programKey, startDevices, state } from "./state";

export interface Solved { p: Program; point: number[]; n: Numbers; machine: string }
/** The first machine, and the other one, or the first again. */
export interface Shown { s: Solved; o: Solved }

/** What a mode answers: its main result, its times with their parts, and what decides between machines. */
interface Asked { words: string; main: string; cost: string; times: { title: string; whole: string; parts: string }[]; shown: string[] }
export const ASKED: Record<Mode, Asked> = {
  serve: {
    words: "serving", main: "itl", cost: "cost_per_token",
    times: [{ title: "time to first token", whole: "ttft", parts: "prefill" }, { title: "time between two tokens", whole: "itl", parts: "decode" }],
    shown: ["ttft", "itl", "request_latency", "token_throughput", "throughput_per_accelerator", "mfu"],
  },
  train: {
    words: "training", main: "step_latency", cost: "cost_per_token",
    times: [{ title: "time of one optimizer step", whole: "step_latency", parts: "latency" }],
    shown: ["step_latency", "token_throughput", "effective_throughput", "mfu", "scaling_efficiency", "goodput_ratio", "training_time"],
  },
  infer: {
    words: "one batch", main: "latency", cost: "latency",
    times: [{ title: "time of one batch", whole: "latency", parts: "latency" }],
    shown: ["latency", "throughput", "mfu", "energy_per_batch"],
  },
};
export const asked = () => ASKED[state.mode];
export const CHARGES = ["cost_per_token", "energy_per_token", "carbon_per_token", "tco", "carbon_footprint"];

const ofDevice = (name: string) => name.includes(".") || name === "unit_cost";
/** Whether a moved figure moves on a machine: those of the device on the first one alone; a system has the devices that it has. */
export const moves = (name: string, machine: string) => (machine === state.machine || !ofDevice(name)) && !(name === "accelerators" && devicesOf(machine) !== undefined);

/** The numbers of a choice, or nothing where the pair has no program. */
export function solved(machine: string, further: Numbers = {}): Solved | undefined {
  const p = program(machine);
  if (!(p instanceof Program)) return undefined;
  const changes = Object.fromEntries(Object.entries(state.changes).filter(([name]) => moves(name, machine)));
  const point = p.point({ ...changes, ...further });
  return { p, point, n: p.answer(point), machine };
}
/** A result of a solved pair in base units; NaN where its program does not have it. */
export const value = (s: Solved, name: string) => s.n[name] ?? NaN;
/** Whether it fits into memory, and is a plan; what a program does not say is no obstacle. */
export const fitting = (p: Program, n: Numbers) => !(n.memory_used! > n.memory_capacity!) && (!p.results.has("plan_fits") || n.plan_fits === 1);
export const holds = (s: Solved) => !(value(s, "memory_used") > value(s, "memory_capacity"));
export const fits = (s: Solved) => fitting(s.p, s.n);

const PREFIX: [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "u"], [1e-9, "n"]];
export function pretty(base: number, row: Pick<Input | Result, "unit" | "scale">): string {
  if (!Number.isFinite(base)) return "not known";
  const plain: [number, string] | undefined = /^(us|ms|s)$/.test(row.unit) ? [base, "s"] : /^[kMGT]?B$/.test(row.unit) ? [base, "B"] : undefined;
  if (!plain) return `${+(base / row.scale).toPrecision(4)} ${row.unit}`.trim();
  const [size, prefix] = PREFIX.find(([least]) => Math.abs(plain[0]) >= least) ?? [1, ""];
  return `${+(plain[0] / size).toPrecision(4)} ${prefix}${plain[1]}`;
}
export function shown(s: Solved, name: string): string {
  const row = s.p.results.get(name);
  return row ? pretty(value(s, name), row) : "";
}
/** A value with its unit, as options and files take it: the fewest digits that are read as the same number. */
export function written(v: number, row: Input | undefined): string {
  if (!row?.unit) return String(v);
  let text = String(v / row.scale);
  for (let digits = 17; digits > 0 && Number((v / row.scale).toPrecision(digits)) * row.scale === v; digits -= 1) text = String(Number((v / row.scale).toPrecision(digits)));
  return `${text} ${row.unit}`;
}

export const PARTS: Record<string, string> = { compute: "arithmetic", memory: "memory bandwidth", network: "collectives", overhead: "launches and dispatch" };
/** The longest part of a time, in words. */
export function longest(s: Solved, prefix: string): string {
  const names = Object.keys(PARTS).filter((k) => Number.isFinite(value(s, `${prefix}_${k}`)));
  return PARTS[names.reduce((a, b) => (value(s, `${prefix}_${b}`) > value(s, `${prefix}_${a}`) ? b : a), names[0] ?? "compute")] ?? "";
}
/** The parts of the time that a result goes with: of the first token, or else of the last time that is asked. */
export const partsOf = (result: string) => (asked().times.find((t) => t.whole === result) ?? asked().times.at(-1)!).parts;
const at = (s: Solved, name: string) => s.point[s.p.place.get(name) ?? -1] ?? NaN;
function devices(s: Solved): string {
  const more = grown.has(programKey(s.machine)) && at(s, "accelerators") === s.p.input("accelerators")?.value ? ` (${startDevices()} do not hold it)` : "";
  return devicesOf(s.machine) === undefined ? `${at(s, "accelerators")} x ${s.machine}${more}` : `${s.machine} (${at(s, "accelerators")} devices)`;
}

/** Whether it fits, how fast it is, at what cost, and what limits it. */
export function oneSentence(s: Solved): string {
  if (!holds(s)) return `${state.model} does not fit on ${devices(s)}: ${shown(s, "memory_missing")} are missing on each device.`;
  if (!fits(s)) return "This is no plan: the degrees do not divide the devices, or the nodes are not full.";
  const cost = Number.isFinite(value(s, "cost_per_token")) ? `${shown(s, "cost_per_token")}; ` : "";
  if (state.mode === "train") return `${state.model} on ${devices(s)} fits: one step of ${at(s, "batch_size")} sequences takes ${shown(s, "step_latency")}, ${shown(s, "token_throughput")}; ${cost}most of it is ${longest(s, "latency")}.`;
  if (state.mode === "infer") return `${state.model} on ${devices(s)} fits: a batch of ${at(s, "batch_size")} takes ${shown(s, "latency")}, ${shown(s, "throughput")}; most of it is ${longest(s, "latency")}.`;
  return `${state.model} on ${devices(s)} fits: first token after ${shown(s, "ttft")}, then one every ${shown(s, "itl")}; ${cost}decoding is limited by ${longest(s, "decode")}.`;
}

export interface Term { name: string; part: number }
export interface Compared { key: string; words: string; terms: Term[] }

/** Which machine is cheaper (where prices are not known: faster), why, and what would flip it. */
export function compared(a: Solved, b: Solved): Compared {
  const { cost, main } = asked();
  const key = Number.isFinite(value(a, cost)) && Number.isFinite(value(b, cost)) ? cost : main;
  if (!fits(a) || !fits(b)) return { key, words: unable(a, b), terms: [] };
  if (a.machine === b.machine) return { key, words: `${a.machine} against itself: choose another machine to compare with.`, terms: [] };
  const unpriced = key === cost ? [] : [a, b].filter((s) => !Number.isFinite(value(s, cost))).map((s) => s.machine);
  const [best, worse] = value(a, key) <= value(b, key) ? [a, b] : [b, a];
  let words = `${best.machine} is the ${key === "cost_per_token" ? "cheaper" : "faster"} one: ${shown(best, key)} against ${shown(worse, key)}.`;
  if (unpriced.length) words = `What ${unpriced.join(" and ")} costs is not known, so speed decides. ${words}`;
  const terms = attribution(worse, best, key);
  const whole = value(best, key) - value(worse, key), driver = terms.find((t) => t.part * whole > 0 && best.p.place.has(t.name));
  const meaning = driver && best.p.input(driver.name)?.meaning;
  if (driver) words += ` ${driver.part / whole > 0.5 ? "Most of it comes" : "The largest single part comes"} from ${meaning ? `${meaning} (${driver.name})` : driver.name}.`;
  return { key, words: `${words} ${flips(best, worse, key)}`, terms };
}

function unable(a: Solved, b: Solved): string {
  const [can, cannot] = [[a, b].filter(fits), [a, b].filter((s) => !fits(s)).map((s) => s.machine)];
  return can[0] ? `Only ${can[0].machine} can do this, ${cannot[0]} cannot.` : `${cannot.join(" and ")} cannot do this.`;
}

const LARGEST = 9;  // figures of their own in an attribution; the rest moves together
const SIZE = ["accelerators", "batch_size"];  // more devices have more requests: these move together

/** Shapley values of the figures that differ, where both are the same program: the mean over all orders of the changes. */
export function attribution(from: Solved, to: Solved, key: string): Term[] {
  if (from.p.shape !== to.p.shape) return [];
  const moved = (names: string[]) => {
    const q = [...from.point];
    for (const name of names) q[from.p.place.get(name)!] = to.point[to.p.place.get(name)!]!;
    return from.p.answer(q)[key]!;
  };
  const effect = (name: string) => Math.abs(moved([name]) - value(from, key));
  const names = from.p.inputs.map((x) => x.name).filter((name, i) => from.point[i] !== to.point[to.p.place.get(name) ?? -1] && to.p.place.has(name))
    .map((name): [number, string] => [effect(name), name]).sort((x, y) => y[0] - x[0]).map((x) => x[1]);
  const size = names.filter((name) => SIZE.includes(name)), single = size.length > 1 ? names.filter((name) => !SIZE.includes(name)) : names;
  const groups = single.slice(0, LARGEST).map((name) => [name]);
  if (size.length > 1) groups.unshift(size);
  if (single.length > LARGEST) groups.push(single.slice(LARGEST));
  // Every subset of the groups is a point.
  const subsets = Array.from({ length: 1 << groups.length }, (_, mask) => mask);
  const columns = groups.flatMap((group, g) => group.map((name): [string, Float64Array] => {
    const ends = [from.point[from.p.place.get(name)!]!, to.point[to.p.place.get(name)!]!] as const;
    return [name, Float64Array.from(subsets, (mask) => (mask & (1 << g) ? ends[1] : ends[0]))];
  }));
  const values = columns.length ? from.p.columns(from.point, Object.fromEntries(columns), [key])[key]! : new Float64Array(0);
  const factorial = [1];
  for (let i = 1; i <= groups.length; i += 1) factorial.push(factorial[i - 1]! * i);
  const bits = (m: number) => m.toString(2).replaceAll("0", "").length;
  return groups.map((group, g) => {
    let part = 0;
    values.forEach((v, mask) => {
      if (mask & (1 << g)) return;
      const k = bits(mask);
      part += ((factorial[k]! * factorial[groups.length - k - 1]!) / factorial[groups.length]!) * (values[mask | (1 << g)]! - v);
    });
    return { name: group === size ? "devices and their requests" : group.length > 1 ? `${group.length} further figures` : group[0]!, part };
  }).filter((t) => Math.abs(t.part) > 1e-12 * Math.abs(value(from, key))).sort((x, y) => Math.abs(y.part) - Math.abs(x.part));
}

const HALVINGS = 60;  // of an interval of doubles
/** The price of the better machine, or its memory bandwidth, at which the order turns: by bisection. */
function flips(best: Solved, worse: Solved, key: string): string {
  for (const [name, end, words] of [["unit_cost", 10, "cost more than"], ["hardware.memory.bandwidth", 0.1, "have less memory bandwidth than"], ["hardware.compute.dense.fp16", 0.1, "have less arithmetic than"]] as const) {
    const i = best.p.place.get(name);
    if (i === undefined) continue;
    const lead = (factor: number) => { const q = [...best.point]; q[i]! *= factor; return best.p.answer(q)[key]! - value(worse, key); };
    let low = 1, high: number = end;
    if (!(lead(high) > 0)) continue;
    for (let k = 0; k < HALVINGS; k += 1) { const middle = (low + high) / 2; if (lead(middle) > 0) high = middle; else low = middle; }
    const which = name === "unit_cost" && devicesOf(best.machine) ? `each device of ${best.machine}` : best.machine;
    return `It would flip if ${which} were to ${words} ${pretty(best.point[i]! * high, best.p.inputs[i]!)}.`;
  }
  return "Neither ten times its price nor a tenth of its bandwidth or arithmetic would flip it.";
}
