// The figures on the left: sliders for numbers that the program replays, and choices and fields that make another program.

import type { ComponentChild } from "preact";
import { useState } from "preact/hooks";
import { chosen } from "./choose";
import { live } from "./core";
import { inputsOf, isInput, type PlanInput } from "./inputs";
import { pretty, type Solved, written } from "./numbers";
import { Choice } from "./parts";
import type { Input } from "./program";
import { devicesOf, type Mode, state, update } from "./state";

/** What is moved and chosen first; everything else stands below it, as the library lists it. */
const FIRST: Record<Mode, string[]> = {
  serve: ["batch_size", "seq_len", "accelerators", "tp_size", "ep_size", "precision", "weight_format", "kv_precision"],
  train: ["batch_size", "seq_len", "accelerators", "tp_size", "pp_size", "ep_size", "cp_size", "gradient_accumulation_steps", "overlap_efficiency", "precision", "zero_stage", "recomputation", "optimizer"],
  infer: ["batch_size", "seq_len", "accelerators", "tp_size", "precision"],
};
const MACHINE = ["hardware.memory.bandwidth", "hardware.memory.capacity", "hardware.compute.dense.", "hardware.power.tdp", "power_cap", "links.level1.bandwidth", "links.level2.bandwidth",
  "unit_cost", "kwh_price", "facility.pue", "facility.carbon_intensity", "duration_days"];
/** The first name of a choice stands for what the core takes by itself. */
const AS_IT_IS = "(default)";
const STEPS = 16, REACH = 64;  // of a slider: sixteen steps are a factor of two
const SHARES = 100;

const isShare = (input: Input) => input.low === 0 && input.high === 1 && input.scale === 1 && !input.whole;
/** Numbers that a slider reaches: shares, and what is above zero, since its steps are factors. */
const slides = (input: Input) => isShare(input) || input.value > 0;

export function Slider({ s, input }: { s: Solved; input: Input }) {
  const { name } = input, now = s.point[s.p.place.get(name)!]!, share = isShare(input);
  const at = share ? SHARES * now : STEPS * Math.log2(now / input.value), start = share ? SHARES * input.value : 0;
  const to = (step: number) => {
    if (share) return step / SHARES;
    const v = input.value * 2 ** (step / STEPS), least = Math.max(input.low ?? 0, input.whole ? 1 : 0);
    const whole = input.whole ? Math.round(v) : Number((v / input.scale).toPrecision(4)) * input.scale;
    return Math.max(least, input.high === undefined ? whole : Math.min(input.high, whole));
  };
  const move = (step: number) => {
    if (step === start) delete state.changes[name];
    else state.changes[name] = to(step);
    update();
  };
  return (
    <label title={input.meaning}>{name} <output class={name in state.changes ? "moved" : ""}>{pretty(now, input)}</output>
      <input type="range" min={share ? 0 : -REACH} max={share ? SHARES : REACH} step="1" data-name={name} aria-label={`${name}: ${input.meaning}`} aria-valuetext={pretty(now, input)}
        value={at} onInput={(e) => move(Number(e.currentTarget.value))} />
    </label>
  );
}

/** Says an input to the core, or leaves it to it: another program. */
function say(name: string, text: string) {
  if (text === "" || text === AS_IT_IS) delete state.options[name];
  else state.options[name] = text;
  delete state.changes[name];
  void chosen();
}
/** An input that is a choice, or a number that the program does not have: a word for the core. */
function Option({ input, now }: { input: PlanInput; now: string }) {
  const value = state.options[input.name] ?? "";
  if (input.kind === "choice")
    return <Choice id={`option-${input.name}`} label={input.name} title={input.about} value={value || AS_IT_IS} names={[AS_IT_IS, ...input.names]} choose={(v) => say(input.name, v)} />;
  return (
    <label title={input.about}>{input.name} <input id={`option-${input.name}`} type="text" value={value} placeholder={now || input.unit || AS_IT_IS} aria-label={`${input.name}: ${input.about}`}
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
    <details open={shown} onToggle={(e) => show(e.currentTarget.open)} data-group={title}><summary>{title}{count > 0 && <span class="moved"> ({count} moved)</span>}</summary>
      {shown && children()}
    </details>
  );
}
const ofMachine = (name: string) => name.startsWith("hardware.") || name.startsWith("links.");
const wide = () => !matchMedia("(max-width: 46em)").matches;

export function Figures({ s }: { s: Solved | undefined }) {
  const there = (input: Input) => !(input.name === "accelerators" && devicesOf(s!.machine));
  const numbers = s ? s.p.inputs.filter(there) : [];
  const all = live ? inputsOf(state.mode).filter((input) => !(input.name === "accelerators" && devicesOf(state.machine))) : [];
  const isSlider = (input: PlanInput) => input.kind !== "choice" && numbers.some((each) => each.name === input.name && slides(each));
  const first = FIRST[state.mode].flatMap((name) => all.filter((input) => input.name === name && (input.kind === "choice" || isSlider(input))));
  // Without the core there are the numbers of its programs alone.
  const bare = live ? [] : FIRST[state.mode].flatMap((name) => numbers.filter((input) => input.name === name && slides(input)));
  const machine = MACHINE.flatMap((name) => numbers.filter((input) => slides(input) && (name.endsWith(".") ? input.name.startsWith(name) : input.name === name)));
  const taken = new Set([...first.map((input) => input.name), ...machine.map((input) => input.name)]);
  const rest = all.filter((input) => !taken.has(input.name)), sections = [...new Set(rest.map((input) => input.section))];
  const figures = numbers.filter((input) => slides(input) && !taken.has(input.name) && !isInput(input.name));
  const groups: [string, Input[]][] = [["every figure of the machine", figures.filter((input) => ofMachine(input.name))], ["every other figure", figures.filter((input) => !ofMachine(input.name))]];
  return (
    <section id="sliders" aria-label="figures">
      {bare.map((input) => <Slider key={input.name} s={s!} input={input} />)}
      {first.filter(isSlider).map((input) => <Given key={input.name} s={s} input={input} />)}
      <div class="options">{first.filter((input) => !isSlider(input)).map((input) => <Given key={input.name} s={s} input={input} />)}</div>
      {s && <Group key="machine" title="the machine, prices, the place" names={machine.map((input) => input.name)} open={wide()}>{() => machine.map((input) => <Slider key={input.name} s={s} input={input} />)}</Group>}
      {sections.map((section) => {
        const here = rest.filter((input) => input.section === section);
        return <Group key={section} title={section ? `more of ${section}` : "how it is computed"} names={here.map((input) => input.name)}>
          {() => <div class="options">{here.map((input) => <Given key={input.name} s={s} input={input} />)}</div>}</Group>;
      })}
      {s && live && groups.map(([title, inputs]) => inputs.length > 0 && <Group key={title} title={title} names={inputs.map((input) => input.name)}>{() => inputs.map((input) => <Slider key={input.name} s={s} input={input} />)}</Group>)}
    </section>
  );
}
