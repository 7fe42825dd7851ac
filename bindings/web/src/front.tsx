// The front: what two machines trade as the batch grows, how sure that is, and what was measured of engines.

import { useEffect, useState } from "preact/hooks";
import { type Line, LineChart, type Point } from "./charts";
import { command, live, planned, subject } from "./core";
import { percent, type Shown, solved, value } from "./numbers";
import { Choice, Table } from "./parts";
import { againstNames, type At, axesOf, bestPlans, devices, type FrontAxes, place, stepsOf } from "./plans";
import { type Measured, measured, state, update } from "./state";

// ---- bands ----------------------------------------------------------------------------------------------------------
const LEVEL = 80;  // percent of measurements that a band is to hold
type Ends = [low: Point, high: Point];
interface Interval { value: number; lower: number; upper: number }
/** The interval of a point, as `mlsysim eval --interval` says it. */
async function ends(machine: string, { changes }: At, axes: FrontAxes): Promise<Ends | undefined> {
  const words = await subject(machine), s = solved(machine, changes);
  if ("refused" in words || !s) return undefined;
  const options = Object.entries(changes).map(([name, v]): [string, string] => [`--${name.replaceAll("_", "-")}`, String(v)]), given = new Set(options.map(([option]) => option));
  const plain = words.words.filter((word, i, all) => !given.has(word) && !given.has(all[i - 1] ?? ""));
  const answer = await command("eval", ...plain, ...options.flat(), "--interval", String(LEVEL), "-o", "json");
  const all = answer.text ? (JSON.parse(answer.text) as { intervals?: Record<string, Interval> }).intervals : undefined;
  const x = all?.[axes.x], y = all?.[axes.y];
  if (!x || !y) return undefined;
  const at = (name: string, i: Interval, end: "lower" | "upper") => (value(s, name) * i[end]) / i.value;
  const point = (a: "lower" | "upper", b: "lower" | "upper") => place(at(axes.x, x, a), at(axes.y, y, b), devices(s), axes);
  return axes.charge ? [point("upper", "upper"), point("lower", "lower")] : [point("upper", "lower"), point("lower", "upper")];
}
const BANDED = 12;  // points of a line whose intervals are asked for
const some = (points: At[]) => { const step = Math.max(1, (points.length - 1) / (BANDED - 1)); return points.filter((_, i) => Math.round(Math.round(i / step) * step) === i); };
/** Bands of both machines, once the core has said them; of an earlier question none. */
function useBands(points: Record<string, At[]>, axes: FrontAxes, question: string): Record<string, Ends[]> {
  const [found, setFound] = useState<{ question: string; bands: Record<string, Ends[]> }>({ question: "", bands: {} });
  useEffect(() => {
    let here = live && !planned();
    void (async () => {
      const bands: Record<string, Ends[]> = {};
      for (const [machine, all] of Object.entries(points)) {
        for (const point of some(all)) {
          if (!here) return;
          const each = await ends(machine, point, axes);
          if (each) (bands[machine] ??= []).push(each);
        }
        if (here) setFound({ question, bands: { ...bands } });
      }
    })();
    return () => { here = false; };
  }, [question]);
  return found.question === question ? found.bands : {};
}

// ---- measurements ---------------------------------------------------------------------------------------------------
/** A closed loop of `batch` requests: each takes its first token and the others after it. */
const rate = (m: Measured, ttft: number, tpot: number) => (m.batch * m.output) / (ttft + (m.output - 1) * tpot) / m.devices;
const measuredOf = (machine: string, devicesHere: number) =>
  (state.mode === "serve" ? measured : []).filter((m) => m.model === state.model && m.machine === machine && m.devices === devicesHere);

function MeasuredTable({ rows }: { rows: Measured[] }) {
  const columns = ["machine", "engine", "devices", "format", "batch", "prompt", "output", "ms per token", "predicted", "off", "tokens/s of one device", "predicted", "off"];
  return (
    <details id="measured"><summary>{rows.length} measured points, each with what is predicted for its own engine and conditions</summary>
      <Table aside columns={columns} rows={rows.map((m) => {
        const got = rate(m, m.ttft, m.tpot), said = rate(m, m.predicted_ttft, m.predicted_tpot);
        return [m.machine, m.engine, m.devices, m.precision, m.batch, m.prompt, m.output, 1e3 * m.tpot, 1e3 * m.predicted_tpot, percent(m.predicted_tpot / m.tpot - 1), got, said, percent(said / got - 1)];
      })} />
    </details>
  );
}

export function Front({ s, o }: Shown) {
  const axes = axesOf(s), machines = [...new Set([s.machine, o.machine])], every = state.plans === "all";
  const best = every ? machines.map((machine) => bestPlans(machine, axes)) : [];
  const points = Object.fromEntries(machines.map((machine, i) => [machine, best[i]?.points ?? stepsOf(machine, axes)]));
  const bands = useBands(points, axes, JSON.stringify([state.model, machines, state.mode, state.plans, axes.y, state.changes, state.options]));
  const seen = machines.map((machine) => { const here = solved(machine); return here && !axes.charge ? measuredOf(machine, devices(here)) : []; });
  const lines = machines.map((machine, i): Line => ({
    name: machine, other: i > 0, points: points[machine]!.map((q) => q.at), band: bands[machine] ?? [],
    dots: seen[i]!.map((m): Point => [1 / m.tpot, rate(m, m.ttft, m.tpot)]),
  }));
  const count = seen.flat().length, banded = Object.keys(bands).length > 0, inputs = [...new Set(Object.values(points).flat().flatMap((q) => Object.keys(q.changes)))];
  return (
    <>
      <Choice id="against" label="Speed against" value={axes.y} names={againstNames(s).map((name) => s.p.result(name))} choose={(name) => { state.against = name; update(); }} />{" "}
      <label class="check"><input type="checkbox" id="plans" checked={every} onChange={(e) => { state.plans = e.currentTarget.checked ? "all" : "one"; update(); }} /> Best of every plan (all divisions of the devices)</label>
      <LineChart title={`${axes.titles[1]} against ${axes.titles[0]}`} description={every ? "what no other plan and batch size beats in both" : "batch sizes that double and fit"} x={axes.titles[0]} y={axes.titles[1]} lines={lines} logX={state.mode !== "serve"} />
      {every && <p id="tried" class="note">{machines.map((machine, i) => `${machine}: ${best[i]!.tried} plans with batch sizes, ${best[i]!.fitting} fit, no other plan beats ${best[i]!.points.length} of them.`).join(" ")}</p>}
      <p id="sure" class="note" data-banded={banded ? "yes" : "no"} data-measured={count}>{banded && `Bands hold ${LEVEL} % of what is measured of such machines and models. `}
        {count > 0 && `Rings and triangles are measurements on as many devices, with prompts, outputs and formats of their own. Engines prefill between their tokens, where the lines only decode.`}
        {!count && state.mode === "serve" && !axes.charge && `The tables hold no measurement of ${state.model} on as many of these devices.`}</p>
      <Table columns={["machine", ...inputs.map((name) => s.p.input(name) ?? name), ...axes.titles]} rows={machines.flatMap((machine) => points[machine]!.map((q) => [machine, ...inputs.map((name) => q.changes[name]!), ...q.at]))} />
      {count > 0 && <MeasuredTable rows={seen.flat()} />}
    </>
  );
}
