// After a choice: programs of both machines, then everything that is seen.

import { have, live, planned, own } from "./core";
import { ASKED } from "./numbers";
import { Program } from "./program";
import { MODES, program, state, update } from "./state";

/** A plan says itself what is asked. */
function modeOfPlan() {
  const mine = own.get(state.model);
  const said = mine && "text" in mine ? /^mode: *(\w+)/m.exec(mine.text)?.[1] : undefined;
  if (planned()) state.mode = MODES.find((mode) => mode === said) ?? "serve";
}
/** After a choice of model, machines or what is asked. */
export async function chosen() {
  modeOfPlan();
  if (live) {
    await have(state.machine);
    // A model that generates nothing is not served: it runs batches.
    if (state.mode === "serve" && !planned() && !(program(state.machine) instanceof Program)) {
      state.mode = "infer";
      await have(state.machine);
      if (!(program(state.machine) instanceof Program)) state.mode = "serve";
    }
    await have(state.other);
  }
  const p = program(state.machine);
  if (p instanceof Program && !p.results.has(state.of)) state.of = ASKED[state.mode].main;
  if (p instanceof Program && !p.place.has(state.along)) state.along = "batch_size";
  update();
}
