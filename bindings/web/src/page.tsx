// The page: what is asked on the left and above, the view in the middle, and everything recomputed at every move.

import { render } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { chosen } from "./choose";
import { beginCore, command, live, movedKey, movedMachine, type Moved, own, planned, readNames, refusal, take as taken, unrecorded } from "./core";
import { coreViews, CoreView } from "./core_views";
import { Figures } from "./figures";
import { numberViews } from "./number_views";
import { oneSentence, type Shown, solved, type Solved } from "./numbers";
import { Choice, csvText, forgetTable, Words } from "./parts";
import { Program } from "./program";
import { built, type Mode, MODES, onUpdate, program, readAddress, settle, state, systems, update, writeAddress } from "./state";
import { Launches } from "./launches";
import { pictureBits, pictureText, save, texts } from "./take_along";

const VIEWS = [...Object.keys(numberViews), ...(live ? Object.keys(coreViews).slice(0, -1) : [])];
const KEYS = "1234567890";

const MODE_WORDS: Record<Mode, string> = { serve: "serve", train: "train", infer: "one batch" };

/** Questions to begin with, as addresses. */
const EXAMPLES: [string, string][] = [
  ["a chat model on a node", "mode=serve&model=Llama3_70B&machine=H100&other=H200"],
  ["experts", "mode=serve&model=DeepSeek_V3&machine=H200&other=MI300X&view=front&plans=all"],
  ["four bits at home", "mode=serve&model=Llama3_8B&machine=RTX4090&other=H100&o.accelerators=1&o.weight_format=int4&view=memory"],
  ["fine-tuning", "mode=train&model=Llama3_8B&machine=H100&other=A100&o.lora_rank=16&of=step_latency&view=time"],
  ["training in four stages", "mode=train&model=Llama3_8B&machine=H100&other=H200&x.pp_size=4&x.batch_size=32&of=step_latency&view=schedule"],
  ["a whole cluster", "mode=train&model=Llama3_70B&machine=Research_256&other=DGX_H200&of=step_latency&view=cost"],
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

function Questions() {
  const choose = (field: "model" | "machine" | "other") => (name: string) => {
    state[field] = name;
    if (field !== "other") state.changes = {};
    if (field === "model") state.options = {};
    void chosen();
  };
  const groups = Object.entries(systems).map(([kind, each]): [string, string[]] => [`${kind}s`, [...each.keys()].sort()]);
  const mode = (words: string) => { state.mode = MODES.find((m) => MODE_WORDS[m] === words) ?? "serve"; state.changes = {}; state.options = {}; void chosen(); };
  return (
    <form id="choice" aria-label="what is asked" onSubmit={(e) => e.preventDefault()}>
      <Choice id="model" label="Model" value={state.model} names={built.models} choose={choose("model")} />
      {live && !planned() && <Choice id="mode" label="to" value={MODE_WORDS[state.mode]} names={MODES.map((m) => MODE_WORDS[m])} choose={mode} />}
      <Choice id="machine" label="on" value={state.machine} names={built.machines} groups={groups} choose={choose("machine")} />
      <Choice id="other" label="or" value={state.other} names={built.machines} groups={groups} choose={choose("other")} />
      {live && <span id="own">or your own: <input type="file" id="file" multiple aria-label="config.json, GGUF, plan or machine of your own" onChange={(e) => void takeFiles(e.currentTarget.files ?? [])}
        title="config.json, GGUF header, safetensors index, a plan, a machine, recorded traffic; or drop it anywhere" />
      <input type="text" id="launch" size={34} placeholder="vllm serve ... and Enter" aria-label="launch command of a serving engine"
        onKeyDown={(e) => { if (e.key === "Enter") { e.preventDefault(); void takeLaunch(e.currentTarget.value); } }} /></span>}
      <button type="button" id="theme" title="light or dark (key: t)" onClick={theme}>light / dark</button>
      <button type="button" id="reset" title="as published (key: r)" onClick={reset}>reset</button>
    </form>
  );
}
/** On a telephone the tabs are wider than the page: the chosen one is brought into sight. */
const showTab = () => { const tabs = document.getElementById("views"), tab = tabs?.querySelector<HTMLElement>("[aria-selected=true]"); if (tabs && tab) tabs.scrollLeft = tab.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2; };
function Tabs() {
  useLayoutEffect(showTab, [state.view]);
  const choose = (view: string) => { state.view = view; update(); };
  const arrows = (e: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    e.preventDefault();
    choose(VIEWS[(VIEWS.indexOf(state.view) + step + VIEWS.length) % VIEWS.length]!);
    document.querySelector<HTMLElement>(`[data-view="${state.view}"]`)?.focus();
  };
  return (
    <nav id="views" role="tablist" aria-label="views (keys 1 to 0, arrows)" onKeyDown={arrows}>
      {VIEWS.map((view, i) => <button key={view} type="button" role="tab" data-view={view} aria-selected={view === state.view} tabIndex={view === state.view ? 0 : -1}
        title={KEYS[i] ? `key ${KEYS[i]}` : ""} onClick={() => choose(view)}>{view}</button>)}
    </nav>
  );
}
function View({ shown, refused }: { shown: Shown | undefined; refused: string }) {
  const numbers = numberViews[state.view];
  if (!numbers) return <CoreView view={state.view} question={JSON.stringify(state)} />;
  forgetTable();
  if (!shown && live && unrecorded(program(state.machine))) return <CoreView view="scorecard" question={JSON.stringify(state)} />;
  return shown ? <>{numbers(shown)}</> : <p>{refused}</p>;
}
function TakeAlong({ s }: { s: Solved | undefined }) {
  // What is taken along is that of the screen: until the moved machine is written there is nothing to take.
  const key = live ? movedKey() : "", written = key === "" || key === machineFile.key;
  const moved = key === "" || machineFile.moved?.file === state.machine ? undefined : machineFile.moved;
  const t = written ? s && texts(moved) : undefined;
  const view = () => document.getElementById("view")!;
  const block = (id: string, title: string, text: string | undefined) => text ? <><h3>{title}</h3><Words id={id}>{text}</Words></> : null;
  return (
    <details id="take-along"><summary>Take it with you</summary>
      <p>
        <button type="button" id="csv" onClick={() => save(`${state.view}.csv`, new Blob([csvText()], { type: "text/csv" }))}>CSV of this view</button>{" "}
        <button type="button" id="svg" onClick={() => save(`${state.view}.svg`, new Blob([pictureText(view())], { type: "image/svg+xml" }))}>SVG</button>{" "}
        <button type="button" id="png" onClick={async () => save(`${state.view}.png`, await pictureBits(pictureText(view())))}>PNG</button>{" "}
        <button type="button" id="share" onClick={() => void navigator.clipboard.writeText(location.href)}>copy the address</button>
      </p>
      {block("shell", "Command line", t?.shell)}
      {block("plan", "Plan (YAML)", t?.plan)}
      {!written && <p>The moved machine is being written ...</p>}
      {block("machine-file", `The moved machine (${moved?.file})`, t?.machine)}
      {live && s && <Launches question={JSON.stringify([state.model, state.machine, state.mode, state.changes, state.options])} />}
      {block("python", "Python", t?.python)}
      {block("cpp", "C++", t?.cpp)}
    </details>
  );
}
function Page() {
  const s = solved(state.machine), second = s && (solved(state.other) ?? s);
  const why = program(state.machine), refused = s || typeof why !== "string" ? "" : unrecorded(why) ? `What ${state.model} does on ${state.machine} is no program to replay: no sliders, but the scorecard of the core.` : why;
  return (
    <>
      <header>
        <h1>What will this model do on that machine?</h1>
        <p id="answer" class="answer" aria-live="polite">{s ? oneSentence(s) : refused || (busy ? "The core is being started ..." : "")}</p>
      </header>
      <Questions />
      {live && <p id="examples">For example: {EXAMPLES.map(([words, address], i) => <>{i > 0 && ", "}<a href={`#${address}`}>{words}</a></>)}.</p>}
      <p id="taken" aria-live="polite">{notes}</p>
      <div class="columns">
        <Figures s={s} />
        <main>
          <Tabs />
          <div id="view" role="tabpanel" tabIndex={0}>{!busy && <View shown={s && second && { s, o: second }} refused={refused} />}</div>
          <TakeAlong s={s} />
        </main>
      </div>
      <footer><p id="about">mlsysim {built.version}. {live ? "The whole core in this page: " : "Programs of "}{built.models.length} models on {built.machines.length} machines; every figure of the zoo has its source there.</p></footer>
    </>
  );
}
const draw = () => render(<Page />, document.getElementById("explorer")!);

function theme() {
  const root = document.documentElement;
  const dark = root.classList.contains("dark") || (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
  root.className = dark ? "light" : "dark";
}
function reset() { state.changes = {}; update(); }
function key(e: KeyboardEvent) {
  if (e.ctrlKey || e.metaKey || e.altKey || (e.target instanceof Element && /SELECT|INPUT/.test(e.target.tagName))) return;
  const view = VIEWS[KEYS.indexOf(e.key)];
  if (KEYS.includes(e.key) && view) { state.view = view; update(); }
  else if (e.key === "t") theme();
  else if (e.key === "r") reset();
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
  readAddress();
  document.addEventListener("keydown", key);
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
