// The inputs on the left: sliders for numbers that the program replays, and choices and fields that make another program.

import type { ComponentChild } from "preact";
import { useState } from "preact/hooks";
import { narrow } from "./charts";
import { chosen } from "./choose";
import { assumed, live } from "./core";
import { inputsOf, isInput, type PlanInput } from "./inputs";
import { pretty, type Solved, unitWords, written } from "./numbers";
import { cap, Choice } from "./parts";
import type { Input } from "./program";
import { devicesOf, type Mode, state, update } from "./state";

/** What is moved and chosen first; everything else stands below it, as the library lists it. */
const FIRST: Record<Mode, string[]> = {
  serve: ["batch_size", "seq_len", "output_tokens", "accelerators", "tp_size", "ep_size", "precision", "weight_format", "kv_precision"],
  train: ["batch_size", "seq_len", "accelerators", "tp_size", "pp_size", "ep_size", "cp_size", "gradient_accumulation_steps", "overlap_efficiency", "precision", "zero_stage", "recomputation", "optimizer"],
  infer: ["batch_size", "seq_len", "accelerators", "tp_size", "precision"],
};
const MACHINE = ["hardware.memory.bandwidth", "hardware.memory.capacity", "hardware.compute.dense.", "hardware.power.tdp", "power_cap", "links.level1.bandwidth", "links.level2.bandwidth",
  "unit_cost", "kwh_price", "facility.pue", "facility.carbon_intensity", "duration_days"];
const isOf = (list: string[]) => ({ name }: { name: string }) => list.some((each) => (each.endsWith(".") ? name.startsWith(each) : name === each));
/** What a user can change: inputs of a plan, and the values of a machine that are chosen with it. */
export const changeable = (input: Input) => isInput(input.name) || isOf(MACHINE)(input);
/** The first name of a choice stands for what the core takes by itself. */
const asItIs = (name: string) => ({ name: "", label: ["default", ...(assumed.has(name) ? [assumed.get(name)] : [])].join(": ") });
const STEPS = 16, REACH = 64;  // of a slider: sixteen steps are a factor of two
const SHARES = 100, COUNTS = 8 * STEPS;

const isShare = (input: Input) => input.low === 0 && input.high === 1 && input.scale === 1 && !input.whole;
/** Numbers that a slider reaches: shares, and what is above zero, since its steps are factors. */
const slides = (input: Input) => isShare(input) || input.value > 0;

function within(input: Input, v: number): number {
  const least = Math.max(input.low ?? 0, input.whole ? 1 : 0), whole = input.whole ? Math.round(v) : v;
  return Math.max(least, input.high === undefined ? whole : Math.min(input.high, whole));
}
/** Ends of a slider in steps from the published value; a count of one begins at its left end. */
function ends(input: Input): [number, number] {
  if (isShare(input)) return [0, SHARES];
  const step = (v: number) => Math.ceil(STEPS * Math.log2(v / input.value));
  return [Math.max(-REACH, step(Math.max(input.low ?? 0, input.whole ? 1 : 0) || input.value / 16)), Math.min(input.whole && input.value < 16 ? COUNTS : REACH, Number.isFinite(input.high) ? step(input.high!) : COUNTS)];
}
export function Slider({ s, input }: { s: Solved; input: Input }) {
  const { name } = input, now = s.point[s.p.place.get(name)!]!, share = isShare(input), [low, high] = ends(input);
  const put = (v: number) => {
    if (v === input.value) delete state.changes[name];
    else state.changes[name] = within(input, v);
    update();
  };
  const move = (step: number) => put(share ? step / SHARES : step === 0 ? input.value : Number((input.value * 2 ** (step / STEPS) / input.scale).toPrecision(4)) * input.scale);
  const moved = name in state.changes, words = pretty(now, input);
  return (
    <div class={`slider${moved ? " moved" : ""}`} title={input.meaning}>
      <label for={`number-${name}`}>{cap(input.label)}</label>
      {moved && <button type="button" class="undo" title={`back to ${pretty(input.value, input)}`} aria-label={`reset ${input.label}`} onClick={() => put(input.value)}>{"\u21ba"}</button>}
      <span class="typed"><input id={`number-${name}`} type="text" inputMode="decimal" value={+(now / input.scale).toPrecision(input.whole ? 15 : 4)}
        onChange={(e) => { const v = Number(e.currentTarget.value.replaceAll(",", "")); if (Number.isFinite(v) && v >= 0 && e.currentTarget.value.trim()) put(v * input.scale); else update(); }} />{input.unit && <i>{unitWords(input.unit)}</i>}</span>
      <input type="range" min={low} max={high} step="1" data-name={name} aria-label={`${input.label}: ${input.meaning}`} aria-valuetext={words}
        value={share ? SHARES * now : STEPS * Math.log2(now / input.value)} onInput={(e) => move(Number(e.currentTarget.value))} />
    </div>
  );
}

/** Says an input to the core, or leaves it to it: another program. */
function say(name: string, text: string) {
  if (text === "") delete state.options[name];
  else state.options[name] = text;
  delete state.changes[name];
  void chosen();
}
/** An input that is a choice, or a number that the program does not have: a word for the core. */
function Option({ input, now }: { input: PlanInput; now: string }) {
  const value = state.options[input.name] ?? "", title = `${input.name}: ${input.about}`;
  if (input.kind === "choice")
    return <Choice id={`option-${input.name}`} label={input.label} title={title} value={value} names={[asItIs(input.name), ...input.names]} choose={(v) => say(input.name, v)} />;
  return (
    <label class="field" title={title}><span>{cap(input.label)}</span><input id={`option-${input.name}`} type="text" value={value} placeholder={now || assumed.get(input.name) || unitWords(input.unit) || asItIs(input.name).label}
      onChange={(e) => say(input.name, e.currentTarget.value.trim())} /></label>
  );
}
/** An input as what it can be here: a slider of the program, or a word for the core. */
function Given({ s, input }: { s: Solved | undefined; input: PlanInput }) {
  const number = input.kind === "choice" ? undefined : s?.p.input(input.name);
  if (number && s && slides(number)) return <Slider s={s} input={number} />;
  return <Option input={input} now={number ? written(number.value, number) : ""} />;
}

/** A list that is made when it is opened, and says how many of it were moved. */
function Group({ title, names, open, children }: { title: string; names: string[]; open?: boolean; children: () => ComponentChild }) {
  const [shown, show] = useState(open ?? false);
  const count = names.filter((name) => name in state.changes || name in state.options).length;
  return (
    <details open={shown} onToggle={(e) => show(e.currentTarget.open)} data-group={title}><summary>{title}{count > 0 && <b> {count} changed</b>}</summary>
      {shown && children()}
    </details>
  );
}
const SECTIONS: Record<string, string> = { "": "Method", workload: "Workload", hardware: "Machine and formats", parallelism: "Parallelism and training", ops: "Site and operation" };

export function Figures({ s }: { s: Solved | undefined }) {
  const there = ({ name }: { name: string }) => !(name === "accelerators" && devicesOf(state.machine) !== undefined);
  const numbers = (s?.p.inputs ?? []).filter((input) => there(input) && slides(input));
  const all = live ? inputsOf(state.mode).filter(there) : [];
  const isSlider = (input: PlanInput) => input.kind !== "choice" && numbers.some((each) => each.name === input.name);
  const first = FIRST[state.mode].flatMap((name) => all.filter((input) => input.name === name && (input.kind === "choice" || isSlider(input))));
  // Without the core there are the numbers of its programs alone.
  const bare = live ? [] : FIRST[state.mode].flatMap((name) => numbers.filter((input) => input.name === name));
  const machine = MACHINE.flatMap((name) => numbers.filter(isOf([name])));
  const taken = new Set([...first, ...machine].map(({ name }) => name));
  const rest = all.filter(({ name }) => !taken.has(name)), sections = [...new Set(rest.map(({ section }) => section))];
  const further = live ? numbers.filter((input) => !taken.has(input.name) && !isInput(input.name)) : [];
  const ofMachine = ({ name }: Input) => /^(hardware|links)\./.test(name);
  const sliders = (inputs: Input[]) => () => inputs.map((input) => <Slider key={input.name} s={s!} input={input} />);
  const namesOf = (inputs: { name: string }[]) => inputs.map(({ name }) => name);
  return (
    <aside id="sliders" aria-label="Inputs">
      <h2>Inputs</h2>
      {sliders(bare)()}
      {first.filter(isSlider).map((input) => <Given key={input.name} s={s} input={input} />)}
      {first.filter((input) => !isSlider(input)).map((input) => <Given key={input.name} s={s} input={input} />)}
      {machine.length > 0 && <Group key="machine" title="Machine, prices, site" names={namesOf(machine)} open={!narrow()}>{sliders(machine)}</Group>}
      {rest.length + further.length > 0 && <Group key="all" title="Every other input" names={namesOf([...rest, ...further])}>{() => <>
        {sections.map((section) => {
          const here = rest.filter((input) => input.section === section);
          return <Group key={section} title={SECTIONS[section] ?? section} names={namesOf(here)}>{() => here.map((input) => <Given key={input.name} s={s} input={input} />)}</Group>;
        })}
        {[["Parameters of the machine", further.filter(ofMachine)] as const, ["Parameters of the model and the method", further.filter((input) => !ofMachine(input))] as const]
          .map(([title, inputs]) => inputs.length > 0 && <Group key={title} title={title} names={namesOf(inputs)}>{sliders(inputs)}</Group>)}
      </>}</Group>}
    </aside>
  );
}
