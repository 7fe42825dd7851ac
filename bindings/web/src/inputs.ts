// What a question may say beside its model and machine. `mlsysim schema plan` is made from the
// library's table of inputs: the page has no list of them, nor of the names that an input takes.

import { built, type Mode, MODES, type Schema } from "./state";

/** One input of a plan, which is an option of the command line too. */
export interface PlanInput {
  name: string; label: string; section: string; about: string; unit: string; modes: readonly Mode[];
  kind: "choice" | "number" | "quantity";
  names: string[];  // of a choice; of entries of the zoo once they are known
  entry: string;    // their kind in the zoo, or nothing
}
/** What the page asks in places of its own: the model, its machine, and what is to be done. */
const ELSEWHERE = new Set(["name", "mode", "version"]);

function inputsIn(section: string, all: Record<string, Schema>): PlanInput[] {
  return Object.entries(all).flatMap(([name, s]) => {
    if (s.properties) return inputsIn(name, s.properties);
    const entry = s["x-kind"] ?? "", names = s.enum?.map(String) ?? (s.type === "boolean" ? ["true", "false"] : []);
    const kind = names.length || entry ? "choice" : /number|integer/.test(s.type ?? "") ? "number" : s.pattern ? "quantity" : undefined;
    if (!kind || ELSEWHERE.has(name)) return [];  // free words and lists are for files
    return [{ name, label: s.title ?? name, section, about: s.description ?? "", unit: s["x-unit"] ?? "", modes: s["x-modes"] ?? MODES, kind, names, entry }];
  });
}
let inputs = inputsIn("", built.plan?.properties ?? {});
export const isInput = (name: string) => inputs.some((input) => input.name === name);
export const inputsOf = (mode: Mode) => inputs.filter((input) => input.modes.includes(mode));
/** The part of a plan in which an input stands. */
export const sectionOf = (name: string) => inputs.find((input) => input.name === name)?.section ?? "";

/** Takes the inputs from the core's own schema, and gives those that are entries of the zoo their names. */
export async function readInputs(schema: Schema, namesOf: (kind: string) => Promise<string[]>) {
  inputs = inputsIn("", schema.properties ?? {});
  for (const input of inputs) if (input.entry) input.names = await namesOf(input.entry);
}
