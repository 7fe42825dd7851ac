// Points of a front: batch sizes of the plan on the screen, or every plan of the machine's devices with its batch sizes.

import { CHARGES, fits, type Solved, solved, value } from "./numbers";
import type { Numbers } from "./program";
import type { Point } from "./charts";
import { type Mode, state } from "./state";

/** Axes of a mode: titles, and the results that stand behind them. */
interface Axes { titles: [string, string]; x: string; y: string }
const AXES: Record<Mode, Axes> = {
  serve: { titles: ["tokens per second of one user", "tokens per second of one device"], x: "itl", y: "throughput_per_accelerator" },
  train: { titles: ["seconds of a step", "tokens per second of one device"], x: "step_latency", y: "token_throughput" },
  infer: { titles: ["seconds of a batch", "samples per second of one device"], x: "latency", y: "throughput" },
};
/** What a front may set against speed: throughput, of which more is better, or a charge, of which less is. */
export const againstNames = (s: Solved) => [AXES[state.mode].y, ...CHARGES, "energy_per_batch"].filter((name) => s.p.results.has(name));
export interface FrontAxes extends Axes { charge: boolean; scale: number }
export function axesOf(s: Solved): FrontAxes {
  const axes = AXES[state.mode], charge = state.against !== axes.y && againstNames(s).includes(state.against), row = charge ? s.p.result(state.against) : undefined;
  return row ? { ...axes, titles: [axes.titles[0], `${row.label} [${row.unit}]`], y: row.name, charge, scale: row.scale } : { ...axes, charge, scale: 1 };
}
export const devices = (s: Solved) => s.point[s.p.place.get("accelerators")!]!;
/** Results as a place: of serving the speed of one user; throughput of one device, or a charge in its unit. */
export const place = (x: number, y: number, count: number, axes: FrontAxes): Point =>
  [state.mode === "serve" ? 1 / x : x, axes.charge || state.mode === "serve" ? y / axes.scale : y / count];

/** A point with the changes that make it. */
export interface At { changes: Numbers; at: Point }
const LARGEST = 4096;
const firstBatch = (machine: string) => (state.mode === "train" ? solved(machine)?.p.input("batch_size")?.value ?? 1 : 1);
/** Batch sizes that double and fit, of the plan that the sliders say. */
export function stepsOf(machine: string, axes: FrontAxes): At[] {
  const out: At[] = [];
  for (let batch = firstBatch(machine); batch <= LARGEST; batch *= 2) {
    const s = solved(machine, { batch_size: batch });
    if (s && fits(s)) out.push({ changes: { batch_size: batch }, at: place(value(s, axes.x), value(s, axes.y), devices(s), axes) });
  }
  return out;
}

// ---- every plan -----------------------------------------------------------------------------------------------------
const DEGREES = ["tp_size", "pp_size", "ep_size", "cp_size"];
const MOST = 10000;  // points of one machine
const divisors = (n: number) => Array.from({ length: n }, (_, i) => i + 1).filter((d) => n % d === 0);
/** Whole numbers from the first on that grow by equal factors, each once. */
function grown(first: number, last: number, count: number): number[] {
  const all = Array.from({ length: count }, (_, k) => Math.round(first * (last / first) ** (k / Math.max(1, count - 1))));
  return all.filter((v, i) => i === 0 || v !== all[i - 1]);
}
/** Every division of a machine's devices that the program has degrees for, with batch sizes: inputs as columns. */
export function everyPlan(s: Solved): Record<string, Float64Array> {
  const count = devices(s), names = DEGREES.filter((name) => s.p.place.has(name));
  let plans: number[][] = [[]];
  for (const name of names) plans = plans.flatMap((plan) => divisors(count).filter((d) => name === "ep_size" || plan.reduce((a, b, i) => (names[i] === "ep_size" ? a : a * b), 1) * d <= count).map((d) => [...plan, d]));
  const batches = grown(firstBatch(s.machine), LARGEST, Math.max(2, Math.floor(MOST / plans.length)));
  const columns = [...names, "batch_size"].map((name): [string, Float64Array] => [name, new Float64Array(plans.length * batches.length)]);
  plans.forEach((plan, i) => batches.forEach((batch, k) => [...plan, batch].forEach((v, column) => { columns[column]![1][i * batches.length + k] = v; })));
  return Object.fromEntries(columns);
}
export interface Best { points: At[]; tried: number; fitting: number }
/** Of every plan what no other one beats in both numbers of the front; of equal ones the first. */
export function bestPlans(machine: string, axes: FrontAxes): Best {
  const s = solved(machine);
  if (!s) return { points: [], tried: 0, fitting: 0 };
  const columns = everyPlan(s), count = devices(s), limits = ["memory_used", "memory_capacity", "plan_fits"];
  const n = s.p.columns(s.point, columns, [axes.x, axes.y, ...limits]), tried = columns.batch_size!.length;
  const fit = (i: number) => !(n.memory_used![i]! > n.memory_capacity![i]!) && (!s.p.results.has("plan_fits") || n.plan_fits![i] === 1);
  const speed = n[axes.x]!, yields = axes.charge ? n[axes.y]!.map((v) => -v) : n[axes.y]!;
  const order = Array.from({ length: tried }, (_, i) => i).filter((i) => fit(i) && Number.isFinite(speed[i]) && Number.isFinite(yields[i]));
  order.sort((a, b) => speed[a]! - speed[b]! || yields[b]! - yields[a]! || a - b);
  const points: At[] = [];
  let best = -Infinity;
  for (const i of order) {
    if (!(yields[i]! > best)) continue;
    best = yields[i]!;
    points.push({ changes: Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[i]!])), at: place(speed[i]!, n[axes.y]![i]!, count, axes) });
  }
  return { points, tried, fitting: order.length };
}
