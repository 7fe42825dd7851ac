// Which machine: the core sizes each one for a load with limits, and says how sure their order is and what would change it.

import { useState } from "preact/hooks";
import { BarChart } from "./charts";
import { longCommand, movedMachine, refusal, stopCore } from "./core";
import { labelOf } from "./core_views";
import { isInput } from "./inputs";
import { percent, solved, written } from "./numbers";
import { Choice, digits, Table, Words } from "./parts";
import { built, state, systems, update } from "./state";

interface Plan { devices: number; replicas: number; tp_size: number; pp_size: number; ep_size: number; limited_by: string; p99_ttft_ms?: number; itl_ms?: number; training_time_d?: number; mfu?: number; cost_usd_per_h: number | null }
interface Option { machine: string; feasible: boolean; meets_limits: boolean; cost?: number; lower: number; upper: number; against_choice: [number, number | null]; apart: boolean; size: { best: Plan; launch: string }; why_not?: string; smallest_change?: string }
interface Decision {
  unit: string; level: number; options: Option[]; regret: { most: number | null };
  flips: { figure: string; unit: string; now: number | null; at: number; winner: string; deviations: number | null }[]; next: { machine: string; what: string; gpu_minutes: number; regret_left: number; kernel: { op: string; size: Record<string, number> } }[];
}

/** What is asked beside the machines: option, label, and what it is at the start. */
const SERVED = [["rate", "Request rate", "10/s"], ["seq-len", "Input tokens", ""], ["output-tokens", "Output tokens", "256"], ["ttft", "First token within", "2 s"], ["itl", "Each token within", "50 ms"]] as const;
const TRAINED = [["tokens", "Training tokens", "1T"], ["within", "Done within", "90 d"]] as const;
/** Parts of the answer, and what only a fixed number of devices has. */
const FOUND = /^(accelerators|accelerators_per_node|node_count|load|batch_size|tp_size|pp_size|ep_size|cp_size|seq_len|output_tokens|unit_cost)$/;

const given = (option: string, start: string) => {
  const s = solved(state.machine), i = option === "seq-len" ? s?.p.place.get("seq_len") : undefined;
  return state.load[option] ?? (i === undefined ? start : String(s!.point[i]));
};
const machinesAsked = () => (state.load.on ?? [...new Set([state.machine, state.other])].join(",")).split(",").filter(Boolean);
async function words(): Promise<string[]> {
  const p = solved(state.machine)?.p, moved = await movedMachine(), on = machinesAsked().map((name) => (moved && name === state.machine ? moved.file : name));
  const fields = state.mode === "train" ? TRAINED : SERVED;
  const said = Object.entries({ ...state.options, ...Object.fromEntries(Object.entries(state.changes).map(([name, v]) => [name, written(v, p?.input(name))])) })
    .filter(([name]) => isInput(name) && (!FOUND.test(name) || (state.mode === "train" && /^(batch_size|seq_len)$/.test(name))));
  return ["decide", state.model, "--on", on.join(","), ...fields.flatMap(([option, , start]) => { const v = given(option, start).trim(); return v ? [`--${option}`, v] : []; }),
    ...said.flatMap(([name, v]) => [`--${name.replaceAll("_", "-")}`, v])];
}

const labelled = (text: string) => text.split(" ").map(labelOf).join(" ");
function Ranking({ d }: { d: Decision }) {
  const [best, ...rest] = d.options, can = d.options.filter((o) => o.meets_limits && o.cost !== undefined), money = d.unit === "USD/h", cost = (v: number) => (money ? `$${digits(v)}/h` : `${digits(v)} devices`);
  const second = rest.find((o) => o.meets_limits && o.cost !== undefined);
  const degrees = (p: Plan) => [["TP", p.tp_size], ["PP", p.pp_size], ["EP", p.ep_size]].filter(([, n]) => Number(n) > 1).map(([word, n]) => `${word} ${n}`).join(" \u00d7 ") || "TP 1";
  const trains = best!.size.best.training_time_d !== undefined;
  return (
    <>
      <p id="decision" class="lead" data-best={best!.machine}><strong>{best!.machine} is the choice: {best!.cost === undefined ? "its price is not known," : cost(best!.cost)} with {digits(best!.size.best.devices)} devices.</strong>
        {" "}{second ? `${second.machine} costs ${percent(second.cost! / best!.cost! - 1).replace("+", "")} more${second.apart ? "" : ", which is less than the ranges tell apart"}. ` : "No other machine meets the limits. "}
        {second && d.regret.most !== null && `The choice can lose ${cost(d.regret.most)} at most, over all errors that the ${d.level} % ranges hold.`}</p>
      <BarChart title="cost of each machine" description={`with its ${d.level} % range`} rows={can.map((o, i) => ({ name: o.machine, from: 0, to: o.cost!, label: cost(o.cost!), whole: i > 0, low: o.lower, high: o.upper }))} />
      <Table columns={["machine", "devices", "plan of a replica", ...(trains ? ["days", "MFU"] : ["first token, 99 %", "per token", "limited by"]), `cost, ${d.level} % range`]} rows={d.options.map((o) => {
        if (!o.meets_limits) return [o.machine, "none", o.why_not ?? "", "", "", ...(trains ? [] : [""]), o.smallest_change ?? ""];
        const p = o.size.best;
        return [o.machine, p.devices, `${p.replicas} \u00d7 (${degrees(p)})`, ...(trains ? [p.training_time_d!, `${digits(100 * p.mfu!)} %`] : [`${digits(p.p99_ttft_ms!)} ms`, `${digits(p.itl_ms!)} ms`, labelled(p.limited_by)]), `${o.cost === undefined ? "not known" : `${cost(o.lower)} to ${o.upper === null ? "no limit" : cost(o.upper)}`}`];
      })} />
      {d.flips.length > 0 && <><h3>What would change the choice</h3><ul>{d.flips.map((f) => <li>{f.winner}, if {labelled(f.figure)} were {f.now === null || f.at < f.now ? "below" : "above"} {digits(f.at)} {f.unit} (now {f.now === null ? "not known" : digits(f.now)})
        {f.deviations !== null && `, ${f.deviations.toFixed(1)} standard deviations away`}</li>)}</ul></>}
      {d.next.length > 0 && <><h3>What to measure next</h3><ul>{d.next.map((m) => <li>{m.machine}: {m.kernel.op} {Object.entries(m.kernel.size).map(([name, size]) => `${name} ${size}`).join(" ")}, {m.what} ({digits(m.gpu_minutes)} GPU minutes; {cost(m.regret_left)} at stake afterwards)</li>)}</ul></>}
    </>
  );
}
export function Decide() {
  const [out, setOut] = useState<{ told: string } | { d: Decision; line: string } | { refused: string } | undefined>(), busy = out !== undefined && "told" in out;
  const set = (option: string, text: string) => { state.load[option] = text; update(); };
  const on = machinesAsked(), all = [...built.machines, ...Object.values(systems).flatMap((each) => [...each.keys()])].filter((name) => !on.includes(name));
  const run = async () => {
    setOut({ told: "" });
    const asked = await words();
    const answer = await longCommand([...asked, "-o", "json"], (told) => setOut({ told: told.split("\r").at(-1) ?? "" }));
    setOut(answer.text && answer.code === 0 ? { d: JSON.parse(answer.text) as Decision, line: asked.map((w) => (/^[\w./=,:@-]+$/.test(w) ? w : `'${w}'`)).join(" ") } : { refused: refusal(answer) });
  };
  if (state.mode === "infer") return <p class="lead">Machines are chosen for a load that is served, or for a run of training.</p>;
  return (
    <>
      <form id="load" onSubmit={(e) => { e.preventDefault(); void run(); }}>
        {(state.mode === "train" ? TRAINED : SERVED).map(([option, label, start]) => <label class="field"><span>{label}</span><input id={`load-${option}`} type="text" value={given(option, start)} placeholder="no limit" onChange={(e) => set(option, e.currentTarget.value)} /></label>)}
        <Choice id="add" label="Machines" value="" names={[{ name: "", label: "add one ..." }, ...all]} choose={(name) => set("on", [...on, name].join(","))} />
        <p class="chips">{on.map((name) => <button type="button" aria-label={`remove ${name}`} onClick={() => set("on", on.filter((each) => each !== name).join(","))}>{name} {"\u00d7"}</button>)}
          <button class="main" id="decide" disabled={busy}>Rank {on.length} machines</button>{busy && <button type="button" onClick={stopCore}>Stop</button>}</p>
      </form>
      {out === undefined && <p class="note">Every machine gets as many devices as the load needs, with its best plan; the ranking is by cost per hour.</p>}
      {out && "told" in out && <p class="note">Sizing {on.join(", ")} ... {out.told}</p>}
      {out && "refused" in out && <p>{out.refused}</p>}
      {out && "d" in out && <><Ranking d={out.d} /><details><summary>As a command</summary><Words>mlsysim {out.line}</Words></details></>}
    </>
  );
}
