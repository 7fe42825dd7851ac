// After a choice: programs of both machines, then everything that is seen.

import { have, live, own, planned, readAssumed, unrecorded } from "./core";
import { ASKED } from "./numbers";
import { Program } from "./program";
import { MODES, program, state, update } from "./state";

/** A plan says itself what is asked. */
function modeOfPlan() {
  const mine = own.get(state.model);
  const said = mine && "text" in mine ? /^mode: *(\w+)/m.exec(mine.text)?.[1] : undefined;
  if (planned()) state.mode = MODES.find((mode) => mode === said) ?? "serve";
}
let work: Promise<void> | undefined, more = false;
/** After a choice of model, machines or what is asked; of several in a row the last one counts. */
export function chosen(): Promise<void> {
  more = true;
  document.documentElement.dataset.ready = "no";
  work ??= (async () => {
    while (more) { more = false; await answered(); }
    work = undefined;
    document.documentElement.dataset.ready = "yes";
  })();
  return work;
}
async function answered() {
  modeOfPlan();
  const machine = state.machine;
  if (live) {
    await have(machine);
    if (more) return;
    // A model that generates nothing is not served: it runs batches.
    if (state.mode === "serve" && !planned() && !(program(machine) instanceof Program)) {
      state.mode = "infer";
      await have(machine);
      const made = program(machine);
      if (state.mode === "infer" && (more || !(made instanceof Program || unrecorded(made)))) state.mode = "serve";
    }
    await have(state.other);
    if (more) return;
  }
  const p = program(state.machine);
  // Another program may not have what was moved on the last one.
  if (p instanceof Program) for (const name of Object.keys(state.changes)) if (!p.place.has(name)) delete state.changes[name];
  if (p instanceof Program && !p.results.has(state.of)) state.of = ASKED[state.mode].main;
  if (p instanceof Program && !p.place.has(state.along)) state.along = "batch_size";
  update();
  if (!live || more) return;
  await readAssumed();
  update();
}
