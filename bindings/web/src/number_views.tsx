// Views of numbers: replayed from programs in this page, at every move of a slider.

import type { ComponentChild } from "preact";
import { type Bar, BarChart, LineChart, type Point } from "./charts";
import { live } from "./core";
import { CoreView } from "./core_views";
import { changeable } from "./figures";
import { asked, CHARGES, compared, fits, headed, holds, lessIsBetter, longest, partsOf, partWords, percent, pretty, shown, type Shown, type Solved, solved, unitWords, value } from "./numbers";
import { Front } from "./front";
import { cap, digits, InputChoice, type Named, ResultChoice, Table } from "./parts";
import { state } from "./state";

const LEVERS = 12, STEP = 0.1;

/** Bars one after the other, and their whole. */
function stacked(s: Solved, names: string[], whole: string, words = (name: string) => s.p.result(name).label): Bar[] {
  let at = 0;
  const rows: Bar[] = names.filter((name) => value(s, name) > 0).map((name) => { const from = at; at += value(s, name); return { name: words(name), from, to: at, label: shown(s, name) }; });
  const rest = value(s, whole) - at;
  if (Math.abs(rest) > 1e-6 * value(s, whole)) rows.push({ name: rest > 0 ? "other" : "overlapped", from: at, to: value(s, whole), label: pretty(rest, s.p.result(whole)) });
  return [...rows, { name: s.p.result(whole).label, from: 0, to: value(s, whole), label: shown(s, whole), whole: true }];
}
const resultsOf = (s: Solved, names: string[]): Named[] => names.flatMap((name) => s.p.results.get(name) ?? []);
/** Numbers of both machines, or of the one that there is. */
function Both({ s, o, names }: Shown & { names: string[] }) {
  const machines = s.machine === o.machine ? [s] : [s, o];
  return <Table columns={["", ...machines.map((m) => m.machine), "meaning"]}
    rows={resultsOf(s, names).map(({ name }) => [{ name, label: headed(s, name)[0] }, ...machines.map((m) => headed(m, name)[1]), s.p.result(name).meaning])} />;
}

/** Which of the two, at a glance: what decides as two bars, with why and what would turn the order. */
function Verdict({ s, o }: Shown) {
  const { key, best, flip, words: [first, ...rest] } = compared(s, o);
  return (
    <>
      <p id="verdict" class="lead" data-by={key} data-best={best?.machine} data-flip={flip?.name} data-at={flip?.at}><strong>{first}</strong> {rest.join(" ")}</p>
      {s.machine !== o.machine && fits(s) && fits(o) && <BarChart title={`${s.p.result(key).label} on both machines`} description="the shorter the better"
        rows={[s, o].map((each) => ({ name: each.machine, from: 0, to: value(each, key), label: shown(each, key), whole: each !== best }))} />}
    </>
  );
}
function Answer({ s, o }: Shown) {
  return (
    <>
      <Verdict s={s} o={o} />
      {asked().times.map((t) => (
        <section>
          <h3>{t.title}: {shown(s, t.whole)} on {s.machine}, mostly {longest(s, t.parts)}</h3>
          <BarChart title={t.title} description="its parts, one after the other" rows={stacked(s, t.parts, t.whole, partWords)} />
        </section>
      ))}
      <Both s={s} o={o} names={[...asked().shown, "memory_used", "memory_capacity", ...CHARGES]} />
    </>
  );
}
export const memoryParts = (s: Solved) => [...s.p.results.keys()].filter((name) => name.startsWith("memory.") && !/total|capacity/.test(name) && value(s, name) > 0);
function Memory({ s, o }: Shown) {
  const names = memoryParts(s), used = value(s, "memory_used") / value(s, "memory_capacity");
  const rows = [...stacked(s, names, "memory_used"), { name: s.p.result("memory_capacity").label, from: 0, to: value(s, "memory_capacity"), label: shown(s, "memory_capacity"), whole: true }];
  return (
    <>
      <p class="lead"><strong>{holds(s) ? `It fits: ${shown(s, "memory_used")} of ${shown(s, "memory_capacity")} on each device (${(100 * used).toFixed(0)} %).`
        : `It does not fit: each device needs ${shown(s, "memory_used")} and has ${shown(s, "memory_capacity")}.`}</strong></p>
      <BarChart title="memory of one device" description="what fills it, and its capacity" rows={rows} />
      <Both s={s} o={o} names={[...names, "memory_used", "memory_capacity", "memory_utilization"]} />
    </>
  );
}
function Cost({ s, o }: Shown) {
  if (!s.p.results.has("tco")) return <p class="lead">The price of {s.machine} is not known.</p>;
  const costs = ["capex", "energy_cost", "maintenance"], emissions = ["operational_carbon", "embodied_carbon"], days = s.p.place.get("duration_days");
  const period = days === undefined ? "" : ` in ${digits(s.point[days]!)} days`;
  return (
    <>
      <p class="lead"><strong>{shown(s, "tco")}{period}{Number.isFinite(value(s, "cost_per_token")) && `: ${shown(s, "cost_per_token")}, if all devices are always busy`}.</strong></p>
      <h3>Cost{period}</h3>
      <BarChart title="cost" description="of the period" rows={stacked(s, costs, "tco")} />
      <h3>Emissions{period}</h3>
      <BarChart title="emissions" description="of the period" rows={stacked(s, emissions, "carbon_footprint")} />
      <Both s={s} o={o} names={["tco", ...costs, "carbon_footprint", ...emissions, "cost_per_token", "energy_per_token", "carbon_per_token"]} />
    </>
  );
}
/** What a result does when an input takes a step: a tenth, of a count the next one, of a degree the next power of two; only steps to a plan that fits. */
function Sensitivity({ s }: Shown) {
  const r = s.p.result(state.of), now = value(s, state.of);
  const levers = s.p.inputs.filter(changeable).flatMap((input) => {
    const i = s.p.place.get(input.name)!, from = s.point[i]!, degree = /_size$|^accelerators/.test(input.name) && input.name !== "batch_size";
    if (!from) return [];
    const at = (sign: number) => {
      const q = [...s.point], step = degree ? (sign > 0 ? from : from / 2) : input.whole ? Math.max(1, Math.round(STEP * from)) : STEP * from, to = from + (degree && sign < 0 ? -step : sign * step);
      if (to < (input.low ?? (input.whole ? 1 : 0)) || to > (input.high ?? Infinity) || (input.whole && to !== Math.round(to))) return undefined;
      q[i] = to;
      const n = s.p.answer(q), effect = n[state.of]! / now - 1, plan = !s.p.results.has("plan_fits") || n.plan_fits === 1;
      return { to, effect: plan && !(n.memory_used! > n.memory_capacity!) ? effect : NaN };
    };
    const less = at(-1), more = at(1), reach = Math.max(Math.abs(less?.effect || 0), Math.abs(more?.effect || 0));
    return reach > 5e-4 ? [{ input, from, less, more, reach }] : [];
  }).sort((a, b) => b.reach - a.reach);
  const words = (step: { effect: number } | undefined) => (!step ? "" : Number.isFinite(step.effect) ? percent(step.effect) : "does not fit"), to = (input: typeof levers[0]["input"], step: { to: number } | undefined) => (step ? pretty(step.to, input) : "");
  const gain = (step: { effect: number }) => ((lessIsBetter(r) ? -1 : 1) * step.effect || 0);
  const best = levers.flatMap(({ input, from, less, more }) => [less, more].flatMap((step) => (step ? [{ input, from, ...step }] : []))).sort((a, b) => gain(b) - gain(a))[0];
  const bar = (step: { effect: number } | undefined) => (step?.effect ? words(step).replace("does not fit", "") : "");
  return (
    <>
      <ResultChoice results={s.p.results.values()} />
      <p class="lead"><strong>{best && gain(best) > 0 ? `${cap(best.input.label)} helps most: ${pretty(best.to, best.input)} instead of ${pretty(best.from, best.input)} ${best.effect < 0 ? "cuts" : "raises"} ${r.label} by ${percent(Math.abs(best.effect)).slice(1)}.`
        : `No single step improves ${r.label}.`}</strong> {cap(r.label)} is {shown(s, state.of)} now.</p>
      <BarChart title={`what moves ${r.label}`} description="change of the result for one step of each input"
        rows={levers.slice(0, LEVERS).map((l) => ({ name: l.input.label, from: 0, to: 100 * (l.more?.effect || 0), label: bar(l.more), second: { to: 100 * (l.less?.effect || 0), label: bar(l.less) } }))} />
      <p class="note">A step is 10 %; for counts the next one, for degrees of parallelism half or double. Blue: more. Hatched: less. Steps that do not fit are left out.</p>
      <Table columns={["You can change", "now", "less", "effect", "more", "effect"]}
        rows={levers.map((l) => [l.input, pretty(l.from, l.input), to(l.input, l.less), words(l.less), to(l.input, l.more), words(l.more)])} />
    </>
  );
}
function Curve({ s, o }: Shown) {
  const input = s.p.input(state.along)!, r = s.p.result(state.of), start = s.point[s.p.place.get(state.along)!]!;
  // Counts often begin at one, and their kinks lie far above.
  const reach = input.whole ? 64 : 16, least = input.low ?? (input.whole ? 1 : 0), most = input.high ?? Infinity;
  const low = Math.max(start / reach, least), high = Math.min(Math.max(start * reach, input.whole ? 256 : start ? 0 : 1), most);
  const steps = input.whole ? 60 : 120, values = Array.from({ length: steps + 1 }, (_, k) => (low > 0 ? low * (high / low) ** (k / steps) : (high * k) / steps))
    .map((v) => Math.min(high, input.whole ? Math.round(v) : v)).filter((v, i, all) => i === 0 || v !== all[i - 1]);
  const parts = partsOf(state.of);
  const along = (machine: string) => values.map((v) => {
    const at = solved(machine, { [state.along]: v });
    return at && fits(at) ? { at: [v / input.scale, value(at, state.of) / r.scale] as Point, part: longest(at, parts) } : { at: [NaN, NaN] as Point, part: "" };
  });
  // A kink: another part of the time becomes the longest; or the memory or the plan ends.
  const lines = [s.machine, ...(o.machine === s.machine ? [] : [o.machine])].map((machine, i) => {
    const points = along(machine);
    const marks = points.flatMap(({ at, part }, k) => {
      const before = points[k - 1]?.part, after = points[k + 1];
      if (part && before && before !== part) return [{ at, words: `${part} becomes the longest part` }];
      return part && after && !after.part && !points.slice(k + 1).some((q) => q.part) ? [{ at, words: "more does not fit" }] : [];
    });
    return { name: machine, other: i > 0, points: points.map((q) => q.at), marks, parts: points.map((q) => q.part) };
  });
  const titled = (row: Named & { unit: string }): Named => ({ name: row.name, label: row.label + (row.unit ? ` [${unitWords(row.unit).trim()}]` : "") });
  const [x, y] = [titled(input), titled(r)];
  return (
    <>
      <ResultChoice results={s.p.results.values()} /> <InputChoice inputs={s.p.inputs.filter((each) => changeable(each) || each.name === state.along)} />
      <LineChart title={`${r.label} over ${input.label}`} description="points that fit" x={x.label} y={y.label} lines={lines} logX={low > 0} />
      <Table columns={[x, ...lines.flatMap((l) => [{ name: `${r.name} ${l.name}`, label: `${l.name}: ${y.label}` }, { name: `longest part ${l.name}`, label: "longest part" }])]}
        rows={values.map((v, i) => [v / input.scale, ...lines.flatMap((l) => [l.points[i]![1], l.parts[i]!])])} />
    </>
  );
}
const inputOf = (s: Solved, name: string) => { const i = s.p.place.get(name); return i === undefined ? "" : pretty(s.point[i]!, s.p.inputs[i]!); };
function Comparison({ s, o }: Shown) {
  const c = compared(s, o), row = s.p.result(c.key), worse = c.best === s ? o : s;
  let at = value(worse, c.key);
  const bars: Bar[] = c.terms.map((t) => { const from = at; at += t.part; return { name: t.label, from, to: at, label: `${t.part > 0 ? "+" : ""}${pretty(t.part, row)}`, other: t.part > 0 }; });
  const whole = (m: Solved, to: number): Bar => ({ name: m.machine, from: 0, to, label: shown(m, c.key), whole: true });
  return (
    <>
      <p class="lead"><strong>{c.words[0]}</strong> {c.words.slice(1).join(" ")}</p>
      {bars.length > 0 && <BarChart title={row.label} description="which input makes how much of the difference" rows={[whole(worse, value(worse, c.key)), ...bars, whole(c.best!, at)]} />}
      {!bars.length && live && s.machine !== o.machine && fits(s) && fits(o) && <CoreView view="difference" question={JSON.stringify(state)} />}
      {bars.length > 0 && <Table columns={["cause", worse.machine, c.best!.machine, "effect"]} rows={c.terms.map((t, i) => [t, inputOf(worse, t.name), inputOf(c.best!, t.name), bars[i]!.label])} />}
    </>
  );
}

export const numberViews: Record<string, (shown: Shown) => ComponentChild> = {
  answer: Answer, memory: Memory, cost: Cost, sensitivity: Sensitivity, curve: Curve, front: Front, comparison: Comparison,
};
