// The page: what is asked above, the answer, inputs on the left and the four questions with their views; everything is recomputed at every move.

import { render } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { telephone } from "./charts";
import { chosen } from "./choose";
import { beginCore, command, live, movedKey, movedMachine, type Moved, own, planned, readNames, refusal, take as taken, unrecorded } from "./core";
import { Console, CoreView, Remedies } from "./core_views";
import { Figures } from "./figures";
import { numberViews } from "./number_views";
import { asked, fits, headed, holds, oneSentence, pretty, shown, type Shown, solved, type Solved, value } from "./numbers";
import { cap, Choice, csvText, forgetTable, Words } from "./parts";
import { Program } from "./program";
import { built, type Mode, MODES, onUpdate, program, readAddress, settle, state, systems, update, writeAddress } from "./state";
import { Launches } from "./launches";
import { pictureBits, pictureText, save, texts } from "./take_along";

/** The four questions, each with its views; without the core there are those of numbers alone. */
const QUESTIONS: [id: string, title: string, views: [view: string, title: string][]][] = ([
  ["fast", "How fast, and why?", [["answer", "Summary"], ["roofline", "Roofline"], ["timeline", "Timeline"], ["schedule", "Pipeline"], ["derivation", "Derivation"], ["uncertainty", "Range"], ["walls", "22 walls"]]],
  ["fit", "Does it fit?", [["memory", "Memory"], ["model", "Model"], ["machine", "Machine"]]],
  ["cost", "What does it cost?", [["cost", "Cost and carbon"], ["decide", "Choose a machine"]]],
  ["change", "What should I change?", [["sensitivity", "Levers"], ["curve", "One input"], ["front", "Batch and plans"], ["comparison", "Other machine"]]],
] as typeof QUESTIONS).map(([id, title, views]) => [id, title, views.filter(([view]) => live || view in numberViews)]);
const VIEWS = QUESTIONS.flatMap(([, , views]) => views.map(([view]) => view));
const questionOf = (view: string) => QUESTIONS.find(([, , views]) => views.some(([name]) => name === view)) ?? QUESTIONS[0]!;

const MODE_WORDS: Record<Mode, string> = { serve: "serve requests", train: "train a model", infer: "run one batch" };
const KEYS: [string, string][] = [["1 to 4", "choose a question"], ["[ and ]", "previous and next view"], ["arrows", "move in tabs and sliders"], ["/", "choose the model"], ["t", "light or dark"], ["r", "reset all inputs"], ["?", "this list"]];

/** Questions to begin with, as addresses. */
const EXAMPLES: [string, string][] = [
  ["chat on one node", "mode=serve&model=Llama3_70B&machine=H100&other=H200"],
  ["mixture of experts", "mode=serve&model=DeepSeek_V3&machine=H200&other=MI300X&view=front&plans=all"],
  ["4 bits on one card", "mode=serve&model=Llama3_8B&machine=RTX4090&other=H100&o.accelerators=1&o.weight_format=int4&view=memory"],
  ["fine-tuning", "mode=train&model=Llama3_8B&machine=H100&other=A100&o.lora_rank=16&of=step_latency&view=answer"],
  ["pipeline training", "mode=train&model=Llama3_8B&machine=H100&other=H200&x.pp_size=4&x.batch_size=32&of=step_latency&view=schedule"],
  ["256 devices", "mode=train&model=Llama3_70B&machine=Research_256&other=DGX_H200&of=step_latency&view=cost"],
];
let notes = "", busy = true, machineFile: { key: string; moved: Moved | undefined } = { key: "", moved: undefined };

export async function take(name: string, bytes: Uint8Array): Promise<string> {
  const got = await taken(name, bytes);
  if (!got.taken || !got.as) return got.words;
  if (got.taken.kind === "machine") state.machine = got.as;
  else state.model = got.as;
  state.changes = {};
  state.options = {};
  const machine = got.taken.kind === "plan" ? /^hardware:[ \t]*\n(?:[ \t]+.*\n)*?[ \t]+name:[ \t]*([^\s#]+)/m.exec(got.taken.text)?.[1] : undefined;
  if (machine && built.machines.includes(machine)) state.machine = machine;
  await chosen();
  const now = program(state.machine);
  if (typeof now === "string") return `${got.as}: ${now}`;
  const mine = own.get(got.as);
  return `${got.as} is the ${got.taken.kind} now. ${mine && "notes" in mine ? mine.notes : ""}`.trim();
}
async function takeFiles(files: Iterable<File>) {
  for (const f of files) {
    notes = "reading ...";
    draw();
    notes = await take(f.name, new Uint8Array(await f.arrayBuffer()));
  }
  draw();
}
async function takeLaunch(text: string) {
  if (text.trim()) notes = await take("launch", new TextEncoder().encode(text));
  draw();
}

function Asked() {
  const choose = (field: "model" | "machine" | "other") => (name: string) => {
    state[field] = name;
    if (field !== "other") state.changes = {};
    if (field === "model") state.options = {};
    void chosen();
  };
  const groups = Object.entries(systems).map(([kind, each]): [string, string[]] => [`${kind}s`, [...each.keys()].sort()]);
  const mode = (name: string) => { Object.assign(state, { mode: name, changes: {}, options: {} }); void chosen(); };
  return (
    <form id="choice" aria-label="What is asked" onSubmit={(e) => e.preventDefault()}>
      <Choice id="model" label="Model" value={state.model} names={built.models} choose={choose("model")} />
      {live && !planned() && <Choice id="mode" label="Task" value={state.mode} names={MODES.map((name) => ({ name, label: MODE_WORDS[name] }))} choose={mode} />}
      <Choice id="machine" label="Machine" value={state.machine} names={built.machines} groups={groups} choose={choose("machine")} />
      <Choice id="other" label="Compared with" value={state.other} names={built.machines} groups={groups} choose={choose("other")} />
      {live && <details id="own"><summary>Bring your own</summary>
        <label class="field"><span>Launch command</span><input type="text" id="launch" placeholder="vllm serve ... and Enter"
          onKeyDown={(e) => { if (e.key === "Enter") { e.preventDefault(); void takeLaunch(e.currentTarget.value); } }} /></label>
        <label class="field"><span>Files: config.json, GGUF or safetensors header, plan, machine, recorded traffic. Or drop them anywhere.</span>
          <input type="file" id="file" multiple onChange={(e) => void takeFiles(e.currentTarget.files ?? [])} /></label>
      </details>}
    </form>
  );
}
/** The numbers that matter, for both machines; each leads to the view that takes it apart. */
function Tiles({ s, o }: Shown) {
  const both = o.machine !== s.machine, share = (m: Solved) => `${(100 * value(m, "memory_used") / value(m, "memory_capacity")).toFixed(0)} %`;
  const tiles = asked().tiles.filter((name) => s.p.results.has(name)).map((name): [string, string, string, string, string] =>
    [name, ...headed(s, name), both ? headed(o, name)[1] : "", /cost|tco/.test(name) ? "cost" : "answer"]);
  tiles.push(["memory_used", "memory per device", `${shown(s, "memory_used")} (${share(s)})`, both ? `${shown(o, "memory_used")} (${share(o)})` : "", "memory"]);
  return <div id="tiles">{tiles.map(([name, label, now, other, view]) =>
    <button type="button" key={name} data-result={name} title={s.p.result(name).meaning} onClick={() => look(view)}><span>{cap(label)}</span><strong>{now}</strong>{other && <small>{o.machine}: {other}</small>}</button>)}</div>;
}
/** The conditions that every number on the page has. */
const conditions = (s: Solved) => ["batch_size", "seq_len", "output_tokens", "tp_size", "pp_size", "ep_size"].flatMap((name) => {
  const input = s.p.input(name), now = s.point[s.p.place.get(name) ?? -1];
  return input && now !== undefined && (now > 1 || !name.endsWith("p_size")) ? [`${input.label} ${pretty(now, input)}`] : [];
}).concat(Object.values(state.options)).join(" \u00b7 ");

const look = (view: string) => { state.view = view; update(); };
/** On a telephone the tabs are wider than the page: the chosen one is brought into sight. */
function Tabs(p: { id: string; label: string; chosen: string; tabs: [name: string, title: string][]; choose: (name: string) => void }) {
  const list = useRef<HTMLElement>(null);
  useLayoutEffect(() => { const tabs = list.current, tab = tabs?.querySelector<HTMLElement>("[aria-selected=true]"); if (tabs && tab) tabs.scrollLeft = tab.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2; }, [p.chosen]);
  const arrows = (e: KeyboardEvent) => {
    const at = p.tabs.findIndex(([name]) => name === p.chosen), n = p.tabs.length;
    const to = { ArrowRight: (at + 1) % n, ArrowLeft: (at + n - 1) % n, Home: 0, End: n - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    p.choose(p.tabs[to]![0]);
    list.current?.querySelector<HTMLElement>("[aria-selected=true]")?.focus();
  };
  return (
    <nav id={p.id} ref={list} role="tablist" aria-label={p.label} onKeyDown={arrows}>
      {p.tabs.map(([name, title]) => <button key={name} type="button" role="tab" data-view={name} aria-selected={name === p.chosen} aria-controls="view" tabIndex={name === p.chosen ? 0 : -1} onClick={() => p.choose(name)}>{title}</button>)}
    </nav>
  );
}
/** The view of each question that was seen last. */
const last: Record<string, string> = {};
function Views() {
  const [id, title, views] = questionOf(state.view);
  last[id] = state.view;
  return (
    <>
      <Tabs id="questions" label="Questions" chosen={id} tabs={QUESTIONS.map(([name, words]) => [name, words])} choose={ask} />
      {views.length > 1 && <Tabs id="views" label={title} chosen={state.view} tabs={views} choose={look} />}
    </>
  );
}
const ask = (id: string) => look(last[id] ?? QUESTIONS.find(([name]) => name === id)![2][0]![0]);
function View({ shown, refused }: { shown: Shown | undefined; refused: string }) {
  const numbers = numberViews[state.view];
  if (!numbers) return <CoreView view={state.view} question={JSON.stringify(state)} />;
  forgetTable();
  if (!shown && live && unrecorded(program(state.machine))) return <CoreView view="scorecard" question={JSON.stringify(state)} />;
  return shown ? <>{numbers(shown)}</> : <p class="lead">{refused}</p>;
}
function TakeAlong({ s }: { s: Solved | undefined }) {
  // What is taken along is that of the screen: until the moved machine is written there is nothing to take.
  const key = live ? movedKey() : "", written = key === "" || key === machineFile.key;
  const moved = key === "" || machineFile.moved?.file === state.machine ? undefined : machineFile.moved;
  const t = written ? s && texts(moved) : undefined;
  const view = () => document.getElementById("view")!;
  const block = (id: string, title: string, text: string | undefined) => text ? <><h3>{title}</h3><Words id={id}>{text}</Words></> : null;
  return (
    <details id="take-along"><summary>Take it with you: files, code, launch, any command</summary>
      <p class="chips">
        <button type="button" id="csv" onClick={() => save(`${state.view}.csv`, new Blob([csvText()], { type: "text/csv" }))}>CSV of this view</button>{" "}
        <button type="button" id="svg" onClick={() => save(`${state.view}.svg`, new Blob([pictureText(view())], { type: "image/svg+xml" }))}>SVG</button>{" "}
        <button type="button" id="png" onClick={async () => save(`${state.view}.png`, await pictureBits(pictureText(view())))}>PNG</button>{" "}
        <button type="button" id="share" onClick={() => void navigator.clipboard.writeText(location.href)}>Copy the link</button>
      </p>
      {block("shell", "Command line", t?.shell)}
      {block("plan", "Plan (YAML)", t?.plan)}
      {!written && <p>The changed machine is being written ...</p>}
      {block("machine-file", `The changed machine (${moved?.file})`, t?.machine)}
      {live && s && <Launches question={JSON.stringify([state.model, state.machine, state.mode, state.changes, state.options])} />}
      {block("python", "Python", t?.python)}
      {block("cpp", "C++", t?.cpp)}
      {live && <><h3>Any command of the program</h3><Console /></>}
    </details>
  );
}
function Page() {
  const s = solved(state.machine), second = s && (solved(state.other) ?? s), why = program(state.machine);
  const refused = s || typeof why !== "string" ? "" : unrecorded(why) ? `${state.model} on ${state.machine} has a scorecard, but no sliders.` : why;
  return (
    <>
      <a class="skip" href="#view" onClick={(e) => { e.preventDefault(); document.getElementById("view")!.focus(); }}>Skip to the answer</a>
      <header>
        <strong id="brand">mlsysim <span>explorer</span></strong>
        {live && <p id="examples"><span>Try</span> {EXAMPLES.map(([words, address]) => <a href={`#${address}`}>{words}</a>)}</p>}
        <button type="button" id="reset" title="all inputs as published (key: r)" onClick={reset}>Reset</button>
        <button type="button" id="theme" title="light or dark (key: t)" aria-label="light or dark" onClick={theme}>{"\u25d0"}</button>
        <button type="button" id="help" title="keyboard (key: ?)" aria-label="keyboard shortcuts" onClick={help}>?</button>
      </header>
      <Asked />
      <p id="taken" aria-live="polite">{notes}</p>
      <section id="hero" class={s ? (fits(s) ? "yes" : "no") : ""}>
        <h1 id="answer" aria-live="polite">{s ? oneSentence(s) : refused || (busy ? "Starting the core ..." : "")}</h1>
        {s && <p id="conditions">{conditions(s)}</p>}
        {s && live && !holds(s) && <Remedies question={JSON.stringify(state)} />}
        {s && second && <Tiles s={s} o={second} />}
      </section>
      <div class="columns">
        <Figures s={s} />
        <main>
          <Views />
          <div id="view" role="tabpanel" tabIndex={-1}>{!busy && <View shown={s && second && { s, o: second }} refused={refused} />}</div>
          <TakeAlong s={s} />
        </main>
      </div>
      <footer id="about">mlsysim {built.version}. {live ? "The whole core runs in this page; nothing leaves it. " : "Programs of "}{built.models.length} models on {built.machines.length} devices.</footer>
      <dialog id="keys" onClick={(e) => e.currentTarget.close()}><h2>Keyboard</h2><dl>{KEYS.map(([each, what]) => <><dt>{each}</dt><dd>{what}</dd></>)}</dl></dialog>
    </>
  );
}
const draw = () => render(<Page />, document.getElementById("explorer")!);

/** Light or dark, as the system has it until a reader says otherwise; pages from file:// may have no memory. */
const THEME = "mlsysim-theme";
function theme() {
  const root = document.documentElement;
  const dark = root.classList.contains("dark") || (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
  root.className = dark ? "light" : "dark";
  try { localStorage.setItem(THEME, root.className); } catch { /* this page alone */ }
}
function reset() {
  const other = Object.keys(state.options).length > 0;  // choices make another program
  Object.assign(state, { changes: {}, options: {} });
  if (other) void chosen();
  else update();
}
const help = () => document.querySelector<HTMLDialogElement>("#keys")?.showModal();
function key(e: KeyboardEvent) {
  if (e.ctrlKey || e.metaKey || e.altKey || (e.target instanceof Element && /SELECT|INPUT/.test(e.target.tagName))) return;
  const step = { "[": VIEWS.length - 1, "]": 1 }[e.key], question = QUESTIONS[Number(e.key) - 1];
  if (question) ask(question[0]);
  else if (step) look(VIEWS[(VIEWS.indexOf(state.view) + step) % VIEWS.length]!);
  else if (e.key === "t") theme();
  else if (e.key === "r") reset();
  else if (e.key === "?") help();
  else if (e.key === "/") { e.preventDefault(); document.getElementById("model")?.focus(); }
}
/** After every change: the address, everything that is seen, and then the file of a machine with moved figures. */
function changed() {
  // What was written here travels with the address; files do not.
  const mine = own.get(state.model);
  writeAddress(mine && "text" in mine ? { [mine.kind]: mine.text } : {});
  draw();
  const key = live && !busy ? movedKey() : "";
  if (key !== "" && key !== machineFile.key) void movedMachine().then((moved) => { if (key === movedKey()) { machineFile = { key, moved }; draw(); } });
}
async function start() {
  onUpdate(changed);
  try { document.documentElement.className = localStorage.getItem(THEME) ?? ""; } catch { /* as the system has it */ }
  readAddress();
  document.addEventListener("keydown", key);
  telephone.addEventListener("change", draw);
  document.addEventListener("dragover", (e) => e.preventDefault());
  document.addEventListener("drop", (e) => { e.preventDefault(); void takeFiles(e.dataTransfer?.files ?? []); });
  draw();
  if (live) {
    await beginCore();
    performance.mark("core");
    await readNames();
  }
  busy = false;
  window.addEventListener("hashchange", () => void fromAddress());
  await fromAddress();
}
/** The question that the address holds: at the start, and where a reader follows a link to another one. */
async function fromAddress() {
  document.documentElement.dataset.ready = "no";
  const given = readAddress();
  settle(VIEWS);
  for (const kind of ["launch", "plan"])
    if (live && given.has(kind)) {
      notes = await take(kind === "plan" ? given.get("model") ?? "plan.yaml" : "launch", new TextEncoder().encode(given.get(kind)!));
      // What was moved on it stands in the address, too.
      readAddress();
      settle(VIEWS);
    }
  await chosen();
}
/** Without its core the page says why, and waits for nothing. */
void start().catch((error: unknown) => { notes = `The core does not start: ${error instanceof Error ? error.message : String(error)}`; busy = false; draw(); document.documentElement.dataset.ready = "yes"; });

/** For whoever opens the browser's console, and for tests. */
export { chosen, command, csvText, pictureBits, pictureText, program, Program, refusal, solved, state, update };
