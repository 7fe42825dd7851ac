// What is asked and shown. The address of the page holds all of it, so that a link is a question.

import { type Numbers, Program, type ProgramJson } from "./program";

export const MODES = ["serve", "train", "infer"] as const;
export type Mode = (typeof MODES)[number];

/** What an engine was measured to do, and what is predicted for the same conditions; times in seconds. */
export interface Measured {
  model: string; machine: string; engine: string; precision: string; devices: number; batch: number; prompt: number; output: number;
  ttft: number; tpot: number; predicted_ttft: number; predicted_tpot: number;
}
/** As much of a JSON Schema as plans use, with what a form needs beside it. */
export interface Schema {
  type?: string; enum?: unknown[]; pattern?: string; title?: string; description?: string; properties?: Record<string, Schema>;
  "x-modes"?: Mode[]; "x-unit"?: string; "x-kind"?: string;
}
/** What the page was built with (programs.js, written by collect.py). */
export interface Built {
  version: string; models: string[]; machines: string[]; programs: Record<string, ProgramJson>;
  plan?: Schema; results: Record<Mode, string[]>; charged: string[]; measured?: { [Column in keyof Measured]: Measured[Column][] }; worker?: string;
}
declare const MLSYSIM: Built;
export const built = MLSYSIM;
const columns = built.measured;
export const measured = columns?.model.map((_, i) => Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[i]])) as unknown as Measured) ?? [];

/** Machines of several devices as the zoo has them, by kind, with the number of their devices. */
export const systems: Record<"node" | "cluster" | "pod", Map<string, number>> = { node: new Map(), cluster: new Map(), pod: new Map() };
export const devicesOf = (machine: string) => Object.values(systems).map((each) => each.get(machine)).find((count) => count !== undefined);
const machines = () => [...built.machines, ...Object.values(systems).flatMap((each) => [...each.keys()])];

export const state = {
  model: "", machine: "", other: "", mode: "serve" as Mode, view: "answer", along: "batch_size", of: "itl", plans: "one", against: "",
  changes: {} as Numbers, options: {} as Record<string, string>, load: {} as Record<string, string>,
};
const PLAIN = ["model", "machine", "other", "view", "along", "of", "plans", "against"] as const;

/** Devices at the start: a node, or one for a single batch; more where they do not hold the model. */
export const startDevices = () => (state.mode === "infer" ? 1 : 8);

/** Programs of pairs that were made, or the words in which the core refused them. */
export const programs = new Map<string, Program | string>();

/** Keys of pairs that begin with more devices, because those at the start do not hold the model. */
export const grown = new Set<string>();

/** Of a pair: the model, the machine, what is asked, and the choices that make another program of it. */
export const programKey = (machine: string, model = state.model) =>
  [model, machine, ...(state.mode === "serve" ? [] : [state.mode]), ...Object.entries(state.options).map(([k, v]) => `${k}=${v}`)].join("|");

export function program(machine: string, model = state.model): Program | string | undefined {
  const key = programKey(machine, model);
  const json = built.programs[key];
  if (!programs.has(key) && json) programs.set(key, new Program(json));
  return programs.get(key);
}

const listeners: (() => void)[] = [];
/** Called after every change of what is asked. */
export const onUpdate = (listener: () => void) => { listeners.push(listener); };
export function update() { for (const each of listeners) each(); }

/** Takes what the address says. @return all of it, also what is no part of the state */
export function readAddress(): URLSearchParams {
  const given = new URLSearchParams(location.hash.slice(1));
  Object.assign(state, { changes: {}, options: {}, load: {} });
  for (const key of PLAIN) state[key] = given.get(key) ?? state[key];
  state.mode = MODES.find((mode) => mode === given.get("mode")) ?? state.mode;
  for (const [key, value] of given) {
    if (key.startsWith("x.") && Number.isFinite(Number(value))) state.changes[key.slice(2)] = Number(value);
    if (key.startsWith("o.")) state.options[key.slice(2)] = value;
    if (key.startsWith("d.")) state.load[key.slice(2)] = value;
  }
  return given;
}
/** @param more what else the address must hold, such as a launch that was typed */
export function writeAddress(more: Record<string, string>) {
  const q = new URLSearchParams([...PLAIN.filter((key) => state[key] !== "").map((key) => [key, state[key]]), ["mode", state.mode]]);
  for (const [name, value] of Object.entries(state.changes)) q.set(`x.${name}`, String(value));
  for (const [name, value] of Object.entries(state.options)) q.set(`o.${name}`, value);
  for (const [name, value] of Object.entries(state.load)) q.set(`d.${name}`, value);
  for (const [name, value] of Object.entries(more)) q.set(name, value);
  history.replaceState(null, "", `#${q}`);
}
/** What an address names and is not there is replaced by what is. */
export function settle(views: string[]) {
  const known = (list: string[], value: string, ...otherwise: string[]) => [value, ...otherwise].find((name) => list.includes(name)) ?? list[0] ?? "";
  state.model = known(built.models, state.model, "Llama3_70B");
  state.machine = known(machines(), state.machine, "H100");
  state.other = known(machines(), state.other, "H200");
  state.view = known(views, state.view);
}
