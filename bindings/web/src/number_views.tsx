// Views of numbers: replayed from programs in this page, at every move of a slider.

import type { ComponentChild } from "preact";
import { type Bar, BarChart, LineChart, type Point } from "./charts";
import { live } from "./core";
import { Remedies } from "./core_views";
import { asked, CHARGES, compared, fits, holds, longest, partsOf, PARTS, pretty, shown, type Shown, type Solved, solved, value } from "./numbers";
import { Front } from "./front";
import { InputChoice, ResultChoice, Table } from "./parts";
import { built, state } from "./state";

const LEVERS = 12, STEP = 0.1;

/** Bars one after the other, and their whole. */
function stacked(s: Solved, names: string[], whole: string, words = (name: string) => name): Bar[] {
  let at = 0;
  const rows: Bar[] = names.filter((name) => value(s, name) > 0).map((name) => { const from = at; at += value(s, name); return { name: words(name), from, to: at, label: shown(s, name) }; });
  return [...rows, { name: whole, from: 0, to: value(s, whole), label: shown(s, whole), other: true }];
}
const Waterfall = ({ s, whole, parts }: { s: Solved; whole: string; parts: string }) =>
  <BarChart title={`parts of ${whole}`} description="one after the other" rows={stacked(s, Object.keys(PARTS).map((k) => `${parts}_${k}`), whole, (name) => PARTS[name.slice(parts.length + 1)]!)} />;

/** Which of the two, at a glance: what decides as two bars, and the sentence with why and what would flip it. */
function Verdict({ s, o }: Shown) {
  const { key, words } = compared(s, o), row = s.p.result(key), [first, ...rest] = words.split(/(?<=\.) /);
  const both = s.machine !== o.machine && fits(s) && fits(o);
  const best = value(s, key) <= value(o, key) ? s : o;
  return (
    <>
      <p id="verdict"><strong>{first}</strong> {rest.join(" ")}</p>
      {both && <BarChart title={`${row.meaning} on both machines`} description="the shorter the better"
        rows={[s, o].map((each) => ({ name: each.machine, from: 0, to: value(each, key), label: `${shown(each, key)}${each === best ? " \u2713" : ""}`, other: each !== best }))} />}
    </>
  );
}
function Answer({ s, o }: Shown) {
  const names = [...asked().shown, "memory_used", "memory_capacity", ...CHARGES].filter((name) => s.p.results.has(name));
  const last = asked().times.at(-1)!;
  return (
    <>
      <Verdict s={s} o={o} />
      {live && !holds(s) && <Remedies question={JSON.stringify(state)} />}
      <Waterfall s={s} whole={last.whole} parts={last.parts} />
      <Table columns={["number", s.machine, o.machine, "meaning"]} rows={names.map((name) => [name, shown(s, name), shown(o, name), s.p.result(name).meaning])} />
    </>
  );
}
function Time({ s }: Shown) {
  const times = asked().times;
  return (
    <>
      {times.map((t) => <><h2>{t.title}</h2><p>Most of it is {longest(s, t.parts)}.</p><Waterfall s={s} whole={t.whole} parts={t.parts} /></>)}
      <Table columns={["part", ...times.map((t) => t.title)]} rows={Object.entries(PARTS).map(([k, words]) => [words, ...times.map((t) => shown(s, `${t.parts}_${k}`))])} />
    </>
  );
}
export const memoryParts = (s: Solved) => [...s.p.results.keys()].filter((name) => name.startsWith("memory.") && !/total|capacity/.test(name) && value(s, name) > 0);
export function Memory({ s }: Shown) {
  const names = memoryParts(s);
  const rows = [...stacked(s, names, "memory_used", (name) => name.slice(7)), { name: "memory_capacity", from: 0, to: value(s, "memory_capacity"), label: shown(s, "memory_capacity"), other: true }];
  return (
    <>
      <BarChart title="memory of one device" description="what fills it, and its capacity" rows={rows} />
      <Table columns={["part", "bytes"]} rows={names.map((name) => [name.slice(7), value(s, name)])} />
    </>
  );
}
function Cost({ s, o }: Shown) {
  const costs = ["capex", "energy_cost", "maintenance"], emissions = ["operational_carbon", "embodied_carbon"];
  if (!s.p.results.has("tco")) return <p>Nothing here says what this machine costs.</p>;
  const names = ["tco", ...costs, "carbon_footprint", ...emissions, "cost_per_token", "energy_per_token", "carbon_per_token"].filter((name) => s.p.results.has(name));
  return (
    <>
      <h2>costs of the period</h2>
      <BarChart title="costs" description="of the period" rows={stacked(s, costs, "tco")} />
      <h2>emissions</h2>
      <BarChart title="emissions" description="of the period" rows={stacked(s, emissions, "carbon_footprint")} />
      <Table columns={["number", s.machine, o.machine]} rows={names.map((name) => [name, shown(s, name), shown(o, name)])} />
    </>
  );
}
function Sensitivity({ s }: Shown) {
  const of = state.of;
  const moved = s.p.inputs.flatMap((input, i) => {
    const now = s.point[i]!;
    if (!now) return [];
    const at = (factor: number) => {
      const q = [...s.point], step = Math.max(1, Math.abs(factor - 1) * now);
      q[i] = input.whole ? Math.max(input.low ?? 1, Math.round(now + Math.sign(factor - 1) * step)) : now * factor;
      return { moved: s.p.answer(q)[of]! / value(s, of) - 1, by: q[i]! - now };
    };
    const down = at(1 - STEP), up = at(1 + STEP);
    const reach = Math.max(Math.abs(down.moved) || 0, Math.abs(up.moved) || 0);
    // The shadow price: what one more unit is worth, from the step up.
    const price = up.by ? pretty((up.moved * value(s, of)) / (up.by / input.scale), s.p.result(of)) : "";
    return reach > 1e-9 ? [{ input, down: down.moved, up: up.moved, reach, price: `${price}${price ? ` per ${input.unit || "one more"}` : ""}` }] : [];
  }).sort((a, b) => b.reach - a.reach);
  const percent = (v: number) => `${v > 0 ? "+" : ""}${(100 * v).toFixed(2)} %`;
  const rows = moved.slice(0, LEVERS).flatMap((m) => [{ name: `${m.input.name} less`, from: 0, to: 100 * m.down, label: percent(m.down) }, { name: "more", from: 0, to: 100 * m.up, label: percent(m.up), other: true }]);
  return (
    <>
      <ResultChoice names={[...s.p.results.keys()]} />
      <p>Change of {of} when one figure moves by 10 %, counts to the next one; the price of a unit is its change for one more.</p>
      <BarChart title={`what ${of} hangs on`} description="tornado" rows={rows} />
      <Table columns={["figure", "meaning", "10 % less", "10 % more", "price of a unit"]} rows={moved.map((m) => [m.input.name, m.input.meaning, m.down, m.up, m.price])} />
    </>
  );
}
function Curve({ s, o }: Shown) {
  const input = s.p.input(state.along)!, r = s.p.result(state.of), start = s.point[s.p.place.get(state.along)!]!;
  // Counts often begin at one, and their kinks lie far above.
  const reach = input.whole ? 64 : 16, low = start / reach, high = Math.max(start * reach, input.whole ? 256 : 0);
  const values = Array.from({ length: 121 }, (_, k) => low * (high / low) ** (k / 120)).map((v) => (input.whole ? Math.max(1, Math.round(v)) : v)).filter((v, i, all) => i === 0 || v !== all[i - 1]);
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
  const unit = (row: { unit: string }) => (row.unit ? ` [${row.unit}]` : "");
  return (
    <>
      <ResultChoice names={[...s.p.results.keys()]} /> <InputChoice names={s.p.inputs.map((i) => i.name)} />
      <LineChart title={`${state.of} over ${state.along}`} description="points that fit" x={state.along + unit(input)} y={state.of + unit(r)} lines={lines} logX={start > 0} />
      <Table columns={[state.along + unit(input), ...lines.flatMap((l) => [`${state.of} ${l.name}${unit(r)}`, `longest part ${l.name}`])]}
        rows={values.map((v, i) => [v / input.scale, ...lines.flatMap((l) => [l.points[i]![1], l.parts[i]!])])} />
    </>
  );
}
function Comparison({ s, o }: Shown) {
  const c = compared(s, o), row = s.p.result(c.key);
  const first = Math.max(value(s, c.key), value(o, c.key));
  let at = first;
  const bars: Bar[] = c.terms.map((t) => { const from = at; at += t.part; return { name: t.name, from: from / row.scale, to: at / row.scale, label: `${(t.part / row.scale).toPrecision(3)} ${row.unit}`, other: true }; });
  const all = built.machines.map((m) => solved(m)).filter((each) => each !== undefined);
  const names = [...asked().shown.slice(0, 4), "cost_per_token"].filter((name) => s.p.results.has(name));
  return (
    <>
      <p>{c.words}</p>
      {bars.length ? <BarChart title={c.key} description="which figure makes how much of the difference"
        rows={[{ name: "the dearer one", from: 0, to: first / row.scale, label: "" }, ...bars, { name: "the better one", from: 0, to: at / row.scale, label: "" }]} />
        : <p>The two are computed by different operations, so the difference is not taken apart here; the view "difference" does, and mlsysim compare.</p>}
      <Table columns={["machine", "fits", ...names]} rows={all.map((m) => [m.machine, fits(m) ? "yes" : "no", ...names.map((name) => shown(m, name))])} />
    </>
  );
}

export const numberViews: Record<string, (shown: Shown) => ComponentChild> = {
  answer: Answer, time: Time, memory: Memory, cost: Cost, sensitivity: Sensitivity, curve: Curve, front: Front, comparison: Comparison,
};
