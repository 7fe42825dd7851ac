// Views that the core draws: pictures, derivations and pages as the program makes them, for what is on the screen.

import type { ComponentChild } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { BarChart } from "./charts";
import { command, longCommand, movedMachine, notTaken, own, refusal, stopCore, subject, type Subject } from "./core";
import { lessons } from "./lessons";
import { chosen } from "./choose";
import { asked, solved, unitWords } from "./numbers";
import { Program } from "./program";
import { Decide } from "./decide";
import { cap, digits, forgetTable, ResultChoice, Table, Words } from "./parts";
import { program, state } from "./state";
import { save } from "./take_along";

const LEVERS = 12;

/** A picture of the program as an element; what is no picture is text. */
export function Drawn({ svg }: { svg: string }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const page = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    page.classList.add("picture");
    place.current?.replaceChildren(document.importNode(page, true));
  }, [svg]);
  return <div ref={place} class="wide" />;
}
/** Commands of a view that is being made, for the reader to repeat. */
type Said = string[];
const quoted = (w: string) => (/^[\w./=,:@-]+$/.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`);
async function say(said: Said, ...words: string[]) {
  const answer = await command(...words);
  said.push(`mlsysim ${words.map(quoted).join(" ")}`);
  return answer;
}
/** What a command of the subject says, shown by `show`; or why not. @param before words after the subject, such as the result */
async function of(said: Said, name: string[], subjectWords: Subject, after: string[], show: (text: string) => ComponentChild) {
  if ("refused" in subjectWords) return <p>{subjectWords.refused}</p>;
  const answer = await say(said, ...name, ...subjectWords.words, ...after);
  return answer.code === 0 ? show(answer.text) : <p>{refusal(answer)}</p>;
}
const drawn = (text: string) => <Drawn svg={text} />;
const words = (text: string) => <Words>{text}</Words>;
const picture = async (said: Said, kind: string, before: string[] = [], after: string[] = []) =>
  of(said, ["plot", kind], await subject(state.machine, before), [...after, "-o", "svg"], drawn);
const page = (said: Said, ...given: string[]) => of(said, given, { words: [] }, [], words);
const bare = (said: Said, kind: string, word: string) => of(said, ["plot", kind], { words: [word] }, ["-o", "svg"], drawn);

const Result = () => { const p = program(state.machine); return <ResultChoice results={p instanceof Program ? p.results.values() : [{ name: state.of, label: state.of }]} />; };
/** The label of a key, where the program of the screen has it. */
export const labelOf = (name: string) => { const p = program(state.machine); return (p instanceof Program && (p.input(name) ?? p.results.get(name))?.label) || name; };

const stagesNow = () => { const s = solved(state.machine); return s?.point[s.p.place.get("pp_size") ?? -1] ?? 1; };

interface Spread {
  figures: string[]; bottleneck: string; flips: number; assumptions: { name: string; value: string; source: string }[];
  results: { meaning: string; unit: string; value: number; low: number; high: number; outer_bounds: [number, number]; total: number[] }[];
}
/** Kind and reference of a range, which stand behind its key. */
const sourceOf = (text: string) => cap(/^range of .* \((.+)\)$/.exec(text)?.[1] ?? text);
function Uncertain({ spread }: { spread: Spread }) {
  const r = spread.results[0]!, show = (v: number) => `${digits(v)} ${unitWords(r.unit)}`.trim();
  const rows = spread.figures.map((name, i) => ({ name: labelOf(name), from: 0, to: r.total[i]!, label: `${(100 * r.total[i]!).toFixed(0)} %` })).sort((a, b) => b.to - a.to).slice(0, LEVERS);
  return (
    <>
      <p class="lead"><strong>{show(r.value)}; nine in ten lie between {show(r.low)} and {show(r.high)}.</strong> All lie between {show(r.outer_bounds[0])} and {show(r.outer_bounds[1])}.
        {" "}{cap(labelOf(spread.bottleneck))} is the longest part{spread.flips > 0 && `, another one in ${digits(100 * spread.flips)} % of the samples`}.</p>
      <h3>What makes the spread</h3>
      <BarChart title={`what the spread of ${labelOf(state.of)} is made by`} description="total Sobol' index of each input" rows={rows} />
      <Table columns={["input", "range", "source"]} rows={spread.assumptions.map((a) => [{ name: a.name, label: labelOf(a.name) }, a.value.replace("..", " to "), sourceOf(a.source)])} />
    </>
  );
}

/** Words as a shell parts them. */
export function split(text: string): string[] {
  const all = (text.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []).map((w) => w.replace(/'([^']*)'|"([^"]*)"/g, (_, a?: string, b?: string) => a ?? b ?? ""));
  return all[0] === "mlsysim" ? all.slice(1) : all;
}
let lastLine = "optimize --help";
export function Console() {
  const [line, setLine] = useState(lastLine);
  const [out, setOut] = useState<ComponentChild>(null);
  const [busy, setBusy] = useState(false);
  const run = async () => {
    lastLine = line;
    setBusy(true);
    let told = "";
    const began = performance.now();
    const tell = () => setOut(<p id="progress">working for {((performance.now() - began) / 1000).toFixed(0)} s{told && `: ${told}`}</p>);
    tell();
    const clock = setInterval(tell, 1000);
    // As a terminal does: what comes after a carriage return takes the place of the line.
    const answer = await longCommand(split(line), (text) => { told = (told + text).split("\r").filter((each) => each.trim()).at(-1) ?? ""; tell(); });
    clearInterval(clock);
    setBusy(false);
    setOut(<>{/^(<!--[^>]*-->\s*)?<svg/.test(answer.text) ? <Drawn svg={answer.text} /> : <Words>{answer.text}</Words>}<p>{answer.notes}</p><p>exit code {answer.code}, {answer.ms.toFixed(0)} ms</p></>);
  };
  return (
    <>
      <label>mlsysim <input id="line" type="text" aria-label="a command of mlsysim" value={line} onInput={(e) => setLine(e.currentTarget.value)}
        onKeyDown={(e) => { if (e.key === "Enter") { e.preventDefault(); void run(); } }} /></label>
      <button type="button" id="run" disabled={busy} onClick={run}>run</button>
      <button type="button" id="stop" disabled={!busy} onClick={stopCore}>stop</button>
      {out}
    </>
  );
}

/** What would make it fit, as the core says. */
export function Remedies({ question }: { question: string }) {
  const [lines, setLines] = useState<string[]>([]);
  useEffect(() => {
    let here = true;
    void (async () => {
      const words = await subject(state.machine);
      if ("refused" in words) return;
      const answer = await command("eval", ...words.words, "-o", "json");
      const remedies = answer.text ? (JSON.parse(answer.text) as { remedies?: { change: string; effect: string }[] }).remedies ?? [] : [];
      if (here) setLines(remedies.map((r) => `${r.change}: ${r.effect}`));
    })();
    return () => { here = false; };
  }, [question]);
  return lines.length ? <><p>Any one of these changes makes it fit:</p><ul id="remedies">{lines.map((line) => <li>{line}</li>)}</ul></> : null;
}

/** The timeline as a file for chrome://tracing and Perfetto, layer by layer. */
function Trace() {
  const [why, say] = useState("");
  const take = async () => {
    const words = await subject(state.machine, [state.of]);
    if ("refused" in words) { say(words.refused); return; }
    const answer = await command("plot", "timeline", ...words.words, "-o", "trace");
    if (answer.code === 0) save("timeline.json", new Blob([answer.text], { type: "application/json" }));
    say(answer.code === 0 ? "" : refusal(answer));
  };
  return <p><button type="button" id="trace" onClick={() => void take()}>Trace for Perfetto</button> {why}</p>;
}

type CoreView = (said: Said) => Promise<ComponentChild>;
/** The last two are no views to choose: they stand in for numbers that cannot be taken apart or replayed here. */
export const coreViews: Record<string, CoreView> = {
  roofline: async (said) => <><Result />{await picture(said, "roofline", [state.of])}</>,
  timeline: async (said) => <><Result />{await picture(said, "timeline", [state.of])}<Trace /></>,
  async schedule(said) {
    const stages = stagesNow();
    if (state.mode === "train" && stages > 1) return <>{await picture(said, "memory-schedule")}{await picture(said, "schedule")}</>;
    const pipeline = () => { state.mode = "train"; state.changes = { pp_size: 4 }; void chosen(); };
    return <><p class="lead">This view shows what each stage of a training pipeline does and holds while the micro-batches pass. It needs pipeline parallelism above 1.</p>
      <button type="button" id="pipeline" onClick={pipeline}>Train {state.model} in four stages</button></>;
  },
  derivation: async (said) => <><Result />{await of(said, ["explain"], await subject(state.machine, [state.of]), [], words)}</>,
  uncertainty: async (said) => <><Result />
    {await of(said, ["uncertainty"], await subject(state.machine, [state.of]), ["-o", "json"], (text) => <Uncertain spread={JSON.parse(text) as Spread} />)}</>,
  async machine(said) {
    const moved = await movedMachine(), pages = [state.machine, state.other].filter((name, i, all) => all.indexOf(name) === i);
    return <>{await bare(said, "topology", moved?.file ?? state.machine)}{await Promise.all(pages.map((name) => page(said, "zoo", "show", name)))}</>;
  },
  async model(said) {
    const mine = own.get(state.model);
    if (mine && "text" in mine) return <><Words>{mine.text}</Words><Words>{mine.notes}</Words></>;
    return <>{await bare(said, "layers", state.model)}{await (mine ? page(said, "import", state.model) : page(said, "zoo", "show", state.model))}</>;
  },
  walls: lessons,
  decide: async () => <Decide />,
  difference: async (said) => picture(said, "difference", [asked().main], ["--with", `hardware=${state.other}`]),
  scorecard: async (said) => of(said, ["eval"], await subject(state.machine), [], words),
};

/** The view that is chosen, once the core has drawn it; of many moves in a row the last one counts. */
export function CoreView({ view, question }: { view: string; question: string }) {
  const [shown, setShown] = useState<{ view: string; question: string; parts: ComponentChild } | undefined>();
  const asked = useRef({ now: "", view, busy: false });
  useEffect(() => {
    Object.assign(asked.current, { now: question, view });
    if (asked.current.busy) return;
    asked.current.busy = true;
    void (async () => {
      let last: string;
      do {
        last = asked.current.now;
        const name = asked.current.view, made = { view: name, question: last, parts: await whole(name) };
        if (last === asked.current.now) setShown(made);
      } while (last !== asked.current.now);
      asked.current.busy = false;
    })();
  }, [question, view]);
  const here = shown?.view === view;
  return <div class="drawn" id={view === "difference" ? "difference" : "drawn"} data-drawn={here && shown.question === question ? view : ""}>{here ? shown.parts : <p class="note">Drawing ...</p>}</div>;
}
/** A view with what it leaves out and the commands that say the same. */
async function whole(view: string): Promise<ComponentChild> {
  const said: Said = [];
  forgetTable();
  let parts: ComponentChild;
  try { parts = await coreViews[view]?.(said); } catch (error) { parts = <p>{String(error)}</p>; }
  const left = await notTaken();
  return (
    <>
      {left.length > 0 && <p class="note">Drawn without these changed inputs, which no file of a machine takes: {left.map(labelOf).join(", ")}.</p>}
      {parts}
      {said.length > 0 && <details><summary>As a command</summary><Words>{said.join("\n")}</Words></details>}
    </>
  );
}
