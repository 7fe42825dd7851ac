// Numbers of the two machines, replayed from their programs, and the sentences that they make.

import { digits } from "./parts";
import { type Input, type Numbers, Program, type Result } from "./program";
import { devicesOf, grown, type Mode, program, programKey, startDevices, state } from "./state";

export interface Solved { p: Program; point: number[]; n: Numbers; machine: string }
/** The first machine, and the other one, or the first again. */
export interface Shown { s: Solved; o: Solved }

/** What a mode answers: its main result, its times with their parts, and what decides between machines. */
interface Asked { main: string; cost: string; times: { title: string; whole: string; parts: string[] }[]; tiles: string[]; shown: string[] }
export const ASKED: Record<Mode, Asked> = {
  serve: {
    main: "itl", cost: "cost_per_token",
    times: [{ title: "Time to first token", whole: "ttft", parts: ["prefill_compute", "prefill_memory", "prefill_network", "ttft_dispatch", "ttft_ingress", "ttft_queue", "ttft_egress"] }, { title: "Time between two tokens", whole: "itl", parts: ["decode_compute", "decode_memory", "decode_network", "decode_overhead", "decode_prompts"] }],
    tiles: ["ttft", "itl", "token_throughput", "cost_per_token"],
    shown: ["ttft", "itl", "request_latency", "token_throughput", "throughput_per_accelerator", "mfu"],
  },
  train: {
    main: "step_latency", cost: "cost_per_token",
    times: [{ title: "Time of one optimizer step", whole: "step_latency", parts: ["latency_compute", "latency_memory", "exposed_communication_latency", "latency_overhead", "pipeline_bubble_latency"] }],
    tiles: ["step_latency", "token_throughput", "mfu", "cost_per_token"],
    shown: ["step_latency", "token_throughput", "effective_throughput", "mfu", "scaling_efficiency", "goodput_ratio", "training_time"],
  },
  infer: {
    main: "latency", cost: "latency",
    times: [{ title: "Time of one batch", whole: "latency", parts: ["latency_compute", "latency_memory", "latency_overhead"] }],
    tiles: ["latency", "throughput", "mfu", "tco"],
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

const PREFIX: [number, string][] = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "\u00b5"], [1e-9, "n"]];
/** A unit as readers write it. */
export const unitWords = (unit: string) => unit.replace("/Mtoken", " per million tokens").replace(/^(token|sample|request)\/s/, "$1s/s").replace(/^d$/, "days");
export function pretty(base: number, row: Pick<Input | Result, "unit" | "scale">): string {
  if (!Number.isFinite(base)) return "not known";
  const plain: [number, string] | undefined = /^(us|ms|s)$/.test(row.unit) ? [base, "s"] : /^[kMGTP]?(B|J|FLOP)(\/s)?$/.test(row.unit) ? [base, row.unit.replace(/^[kMGTP](?=[BJF])/, "")] : undefined;
  if (plain) {
    const [size, prefix] = PREFIX.find(([least]) => Math.abs(plain[0]) >= least && (plain[1] !== "s" || least <= 1)) ?? [1, ""];
    return `${digits(plain[0] / size)} ${prefix}${plain[1]}`;
  }
  const number = digits(base / row.scale);
  return row.unit.startsWith("USD") ? `${number.startsWith("-") ? "-" : ""}$${number.replace("-", "")}${unitWords(row.unit.slice(3))}` : `${number} ${unitWords(row.unit)}`.trim();
}
/** A change, with its sign. */
export const percent = (v: number) => `${v > 0 ? "+" : ""}${(100 * v).toFixed(Math.abs(v) < 0.0995 ? 1 : 0)} %`;
export function shown(s: Solved, name: string): string {
  const row = s.p.results.get(name);
  if (row && /mfu|hfu|utilization|_ratio|efficiency/.test(name)) return `${digits(100 * value(s, name))} %`;
  return row ? pretty(value(s, name), row) : "";
}
/** A result with its unit in the label: ["cost per million tokens", "$30.9"], ["tokens/s", "102"]. */
export function headed(s: Solved, name: string): [label: string, text: string] {
  const { label } = s.p.result(name), text = shown(s, name);
  return [text.endsWith("per million tokens") ? label.replace(/per token$/, "per million tokens") : label, text.replace(/ per million tokens$/, "").replace(/\/s$/, (end) => (label.includes(end) ? "" : end)).replace(label.includes("/s") ? / [a-z]+$/ : /^$/, "")];
}
/** Whether less of a result is better: of times, money, energy and bytes, not of rates and shares. */
export const lessIsBetter = ({ unit }: Result) => unit !== "" && !/\/s$/.test(unit);
/** A value with its unit, as options and files take it: the fewest digits that are read as the same number. */
export function written(v: number, row: Input | undefined): string {
  if (!row?.unit) return String(v);
  let text = String(v / row.scale);
  for (let digits = 17; digits > 0 && Number((v / row.scale).toPrecision(digits)) * row.scale === v; digits -= 1) text = String(Number((v / row.scale).toPrecision(digits)));
  return `${text} ${row.unit}`;
}

const PARTS: [RegExp, string][] = [[/_compute$/, "compute"], [/_memory$/, "memory bandwidth"], [/_network$|communication/, "communication"], [/_overhead$/, "launches and dispatch"],
  [/_prompts$/, "prompts of other requests"], [/_dispatch$/, "host"], [/_ingress$/, "server"], [/_queue$/, "queueing"], [/_egress$/, "delivery"], [/bubble/, "pipeline bubble"]];
/** A part of a time, in words. */
export const partWords = (name: string) => PARTS.find(([end]) => end.test(name))?.[1] ?? name;
/** The longest part of a time, in words. */
export function longest(s: Solved, parts: string[]): string {
  const names = parts.filter((name) => Number.isFinite(value(s, name)));
  return partWords(names.reduce((a, b) => (value(s, b) > value(s, a) ? b : a), names[0] ?? "compute"));
}
/** The parts of the time that a result goes with: of the first token, or else of the last time that is asked. */
export const partsOf = (result: string) => (asked().times.find((t) => t.whole === result) ?? asked().times.at(-1)!).parts;
const at = (s: Solved, name: string) => s.point[s.p.place.get(name) ?? -1] ?? NaN;
export function devices(s: Solved): string {
  const more = grown.has(programKey(s.machine)) && at(s, "accelerators") === s.p.input("accelerators")?.value ? ` (${startDevices()} are too few)` : "";
  return devicesOf(s.machine) === undefined ? `${at(s, "accelerators")} \u00d7 ${s.machine}${more}` : `${s.machine} (${at(s, "accelerators")} devices)`;
}

/** Whether it fits, how fast it is, and what limits it. */
export function oneSentence(s: Solved): string {
  if (!holds(s)) return `${state.model} does not fit on ${devices(s)}. Each device is ${shown(s, "memory_shortfall")} short.`;
  if (!fits(s)) return "This is no plan: the degrees do not divide the devices, or the nodes are not full.";
  const fit = `${state.model} fits on ${devices(s)}.`;
  if (state.mode === "train") return `${fit} A step of ${at(s, "batch_size")} sequences takes ${shown(s, "step_latency")}, mostly ${longest(s, asked().times[0]!.parts)}.`;
  if (state.mode === "infer") return `${fit} A batch of ${at(s, "batch_size")} takes ${shown(s, "latency")}, mostly ${longest(s, asked().times[0]!.parts)}.`;
  return `${fit} The first token comes after ${shown(s, "ttft")}, then one every ${shown(s, "itl")}. Decode is limited by ${longest(s, asked().times[1]!.parts)}.`;
}

export interface Term { name: string; label: string; part: number }
export interface Flip { name: string; at: number }
/** What decides between two machines, which one it chooses, why, and what would turn the order. */
export interface Compared { key: string; best: Solved | undefined; terms: Term[]; flip: Flip | undefined; words: string[] }

const SAME = 0.005;  // a smaller difference is none
/** Which machine is cheaper (where prices are not known: faster). */
export function compared(a: Solved, b: Solved): Compared {
  const { cost, main } = asked();
  const key = Number.isFinite(value(a, cost)) && Number.isFinite(value(b, cost)) ? cost : main;
  const none = (words: string, best?: Solved): Compared => ({ key, best, terms: [], flip: undefined, words: [words] });
  const can = [a, b].filter(fits), cannot = [a, b].filter((s) => !fits(s)).map((s) => s.machine);
  if (cannot.length) return can[0] ? none(`Only ${can[0].machine} can do this, ${cannot[0]} cannot.`, can[0]) : none(`${[...new Set(cannot)].join(" and ")} cannot do this.`);
  if (a.machine === b.machine) return none(`Choose another machine to compare ${a.machine} with.`);
  const unpriced = key === cost ? [] : [a, b].filter((s) => !Number.isFinite(value(s, cost))).map((s) => s.machine);
  const [best, worse] = value(a, key) <= value(b, key) ? [a, b] : [b, a];
  const ratio = value(best, key) / value(worse, key) - 1;
  const words = [ratio > -SAME ? `${best.machine} and ${worse.machine} are equal: ${shown(best, key)}.` : `${best.machine} is ${key === "cost_per_token" ? "cheaper" : "faster"}: ${shown(best, key)} instead of ${shown(worse, key)} (${percent(ratio)}).`];
  if (unpriced.length) words.push(`The price of ${unpriced.join(" and ")} is not known, so speed decides.`);
  const terms = attribution(worse, best, key);
  const whole = value(best, key) - value(worse, key), driver = terms.find((t) => t.part * whole > 0 && best.p.place.has(t.name));
  if (driver && ratio <= -SAME) words.push(`The ${driver.part / whole > 0.5 ? "main" : "largest single"} cause is ${driver.label}.`);
  const flip = flips(best, worse, key);
  if (flip) {
    const input = best.p.input(flip.name)!, each = flip.name === "unit_cost" && devicesOf(best.machine) ? ` of each device of ${best.machine}` : ` of ${best.machine}`;
    words.push(`The order turns at a ${input.label}${each} of ${pretty(flip.at, input)}.`);
  } else words.push("Neither ten times its price nor a tenth of its bandwidth or compute turns the order.");
  return { key, best, terms, flip, words };
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
    const label = group === size ? "devices and their requests" : group.length > 1 ? `${group.length} others together` : from.p.input(group[0]!)!.label;
    return { name: group.length > 1 ? label : group[0]!, label, part };
  }).filter((t) => Math.abs(t.part) > 1e-12 * Math.abs(value(from, key))).sort((x, y) => Math.abs(y.part) - Math.abs(x.part));
}

const HALVINGS = 40;  // of an interval: to twelve digits
/** The price of the better machine, or its memory bandwidth or compute, at which the order turns: by bisection. */
function flips(best: Solved, worse: Solved, key: string): Flip | undefined {
  for (const [name, end] of [["unit_cost", 10], ["hardware.memory.bandwidth", 0.1], ["hardware.compute.dense.fp16", 0.1]] as const) {
    const i = best.p.place.get(name);
    if (i === undefined) continue;
    const lead = (factor: number) => { const q = [...best.point]; q[i]! *= factor; return best.p.answer(q)[key]! - value(worse, key); };
    let low = 1, high: number = end;
    if (!(lead(high) > 0)) continue;
    for (let k = 0; k < HALVINGS; k += 1) { const middle = (low + high) / 2; if (lead(middle) > 0) high = middle; else low = middle; }
    return { name, at: best.point[i]! * high };
  }
  return undefined;
}
