// The front: what two machines trade as the batch grows, how sure that is, and what was measured of engines.

import { useEffect, useState } from "preact/hooks";
import { type Line, LineChart, type Point } from "./charts";
import { command, live, planned, subject } from "./core";
import { fits, type Shown, type Solved, solved, value } from "./numbers";
import { Table } from "./parts";
import { type Measured, measured, type Mode, state } from "./state";

/** Axes of a mode: titles, and the results that stand behind them. */
interface Axes { titles: [string, string]; x: string; y: string }
const AXES: Record<Mode, Axes> = {
  serve: { titles: ["tokens per second of one user", "tokens per second of one device"], x: "itl", y: "throughput_per_accelerator" },
  train: { titles: ["seconds of a step", "tokens per second of one device"], x: "step_latency", y: "token_throughput" },
  infer: { titles: ["seconds of a batch", "samples per second of one device"], x: "latency", y: "throughput" },
};
const devices = (s: Solved) => s.point[s.p.place.get("accelerators")!]!;
/** Results as a place: of serving the speed of one user; throughput of one device. */
const place = (x: number, y: number, s: Solved): Point => [state.mode === "serve" ? 1 / x : x, state.mode === "serve" ? y : y / devices(s)];

const LARGEST = 4096;
/** Batch sizes that double and fit. */
function steps(machine: string): { batch: number; s: Solved }[] {
  const out: { batch: number; s: Solved }[] = [];
  const first = state.mode === "train" ? solved(machine)?.p.input("batch_size")?.value ?? 1 : 1;
  for (let batch = first; batch <= LARGEST; batch *= 2) {
    const s = solved(machine, { batch_size: batch });
    if (s && fits(s)) out.push({ batch, s });
  }
  return out;
}

// ---- bands ----------------------------------------------------------------------------------------------------------
const LEVEL = 80;  // percent of measurements that a band is to hold
type Ends = [low: Point, high: Point];
interface Interval { value: number; lower: number; upper: number }
/** The interval of a point, as `mlsysim eval --interval` says it. */
async function ends(machine: string, batch: number, s: Solved): Promise<Ends | undefined> {
  const words = await subject(machine), axes = AXES[state.mode];
  if ("refused" in words) return undefined;
  const plain = words.words.filter((word, i, all) => word !== "--batch-size" && all[i - 1] !== "--batch-size");
  const answer = await command("eval", ...plain, "--batch-size", String(batch), "--interval", String(LEVEL), "-o", "json");
  const all = answer.text ? (JSON.parse(answer.text) as { intervals?: Record<string, Interval> }).intervals : undefined;
  const x = all?.[axes.x], y = all?.[axes.y];
  if (!x || !y) return undefined;
  const at = (name: string, i: Interval, end: "lower" | "upper") => (value(s, name) * i[end]) / i.value;
  const slow: Point = place(at(axes.x, x, "upper"), at(axes.y, y, "lower"), s), fast: Point = place(at(axes.x, x, "lower"), at(axes.y, y, "upper"), s);
  return [slow, fast];
}
/** Bands of both machines, once the core has said them; of an earlier question none. */
function useBands(machines: string[], question: string): Record<string, Ends[]> {
  const [found, setFound] = useState<{ question: string; bands: Record<string, Ends[]> }>({ question: "", bands: {} });
  useEffect(() => {
    let here = live && !planned();
    void (async () => {
      const bands: Record<string, Ends[]> = {};
      for (const machine of machines) {
        for (const { batch, s } of steps(machine)) {
          if (!here) return;
          const each = await ends(machine, batch, s);
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

const percent = (v: number) => `${v > 0 ? "+" : ""}${(100 * v).toFixed(0)} %`;
function MeasuredTable({ rows }: { rows: Measured[] }) {
  const columns = ["machine", "engine", "devices", "format", "batch", "prompt", "output", "ms per token", "predicted", "off", "tokens/s of one device", "predicted", "off"];
  return (
    <details id="measured"><summary>{rows.length} measured points, each with what is predicted for its own engine and conditions</summary>
      <Table columns={columns} rows={rows.map((m) => {
        const got = rate(m, m.ttft, m.tpot), said = rate(m, m.predicted_ttft, m.predicted_tpot);
        return [m.machine, m.engine, m.devices, m.precision, m.batch, m.prompt, m.output, 1e3 * m.tpot, 1e3 * m.predicted_tpot, percent(m.predicted_tpot / m.tpot - 1), got, said, percent(said / got - 1)];
      })} />
    </details>
  );
}

export function Front({ s, o }: Shown) {
  const axes = AXES[state.mode], machines = [...new Set([s.machine, o.machine])];
  const bands = useBands(machines, JSON.stringify([state.model, machines, state.mode, state.changes, state.options]));
  const seen = machines.map((machine) => { const here = solved(machine); return here ? measuredOf(machine, devices(here)) : []; });
  const points = machines.map((machine) => steps(machine).map(({ batch, s: at }) => ({ batch, at: place(value(at, axes.x), value(at, axes.y), at) })));
  const lines = machines.map((machine, i): Line => ({
    name: machine, other: i > 0, points: points[i]!.map((q) => q.at), band: bands[machine] ?? [],
    dots: seen[i]!.map((m): Point => [1 / m.tpot, rate(m, m.ttft, m.tpot)]),
  }));
  const count = seen.flat().length, banded = Object.keys(bands).length > 0;
  return (
    <>
      <LineChart title="throughput against speed" description="batch sizes that double and fit" x={axes.titles[0]} y={axes.titles[1]} lines={lines} logX={state.mode !== "serve"} />
      <p id="sure" data-banded={banded ? "yes" : "no"}>{banded && `Bands hold ${LEVEL} % of what is measured of such machines and models. `}
        {count > 0 && `Rings and triangles are measurements of engines on as many devices, with prompts, outputs and formats of their own; they take in prompts between their tokens, where the lines decode alone.`}
        {!count && state.mode === "serve" && `Nobody's measurement of ${state.model} on as many of these devices is among the tables.`}</p>
      <Table columns={["machine", "batch_size", ...axes.titles]} rows={machines.flatMap((machine, i) => points[i]!.map((q) => [machine, q.batch, ...q.at]))} />
      {count > 0 && <MeasuredTable rows={seen.flat()} />}
    </>
  );
}
