// The core in the page: any model, machine, plan or launch; pictures and words as the program makes them.
"use strict";

const live = { on: "worker" in MLSYSIM, next: 1, waiting: new Map(), own: new Map(), busy: false, again: false, said: [] };
const programs = new Map();  // of pairs: a Program, or the words of a refusal
const OWN_ROOM = 64 * 1024 * 1024;

function ask(message) {
  return new Promise((done) => { const id = live.next; live.next += 1; live.waiting.set(id, done); live.worker.postMessage({ id, ...message }); });
}
/** A command line of the program: {code, text, notes, ms}. */
const command = (...words) => ask({ words });

/** The module and the zoo: files of a server, which packs them; from file://, where nothing may be fetched, a script. */
async function coreData() {
  if (location.protocol !== "file:") {
    const [wasm, zoo] = await Promise.all(["mlsysim.wasm", "zoo.bin"].map(async (name) => (await fetch(name)).arrayBuffer()));
    return { wasm, zoo };
  }
  await new Promise((done, failed) => { const script = element("script", undefined, { src: "core.js" }); script.onload = done; script.onerror = failed; document.head.append(script); });
  return MLSYSIM_CORE;
}
async function beginCore() {
  live.data = live.data || (await coreData());
  live.worker = new Worker(URL.createObjectURL(new Blob([MLSYSIM.worker], { type: "text/javascript" })));
  live.worker.onmessage = ({ data }) => { const done = live.waiting.get(data.id); live.waiting.delete(data.id); if (done) done(data); };
  const files = [...live.own].filter(([, own]) => own.bytes);
  return Promise.all([ask({ begin: live.data }), ...files.map(([name, { bytes }]) => ask({ file: name, bytes }))]);
}
/** Ends what takes too long; the core begins anew with the same files. */
function stopCore() {
  live.worker.terminate();
  for (const own of live.own.values()) if (own.made) own.made.clear();
  for (const done of live.waiting.values()) done({ code: 1, text: "", notes: "stopped", ms: 0 });
  live.waiting.clear();
  live.busy = false;
  return beginCore();
}
async function namesOf(kind) {
  return JSON.parse((await command("zoo", "list", kind, "-o", "json")).text).rows.map((row) => row.name);
}

// ---- what is asked: names of the zoo, files, plans, launches ---------------------------------------------------------
const message = (answer) => answer.notes.replace(/^mlsysim: error: /, "").trim();

const NAMED = /^(hardware:[ \t]*\n(?:[ \t]+.*\n)*?[ \t]+name:[ \t]*)([^\s#]+)/m;  // the machine of a plan

/** The first words of a command about a model on a machine, or {refused: why}. */
async function targets(model, machine) {
  const own = live.own.get(model);
  if (!own || own.kind === "model") return { words: [model, machine] };
  const name = `${model}@${machine.replaceAll("/", "_")}.yaml`;
  if (!own.made.has(name)) {
    let text = own.text;
    if (own.kind === "launch") {
      const plan = await command("import", own.text, "--hardware", machine);
      if (plan.code !== 0) return { refused: message(plan) };
      text = plan.text;
      own.notes = plan.notes;
    } else if (NAMED.test(text)) {
      text = text.replace(NAMED, `$1${machine}`);
    } else {
      return { refused: "this plan describes its machine itself, so it is not put on another one" };
    }
    await ask({ file: name, bytes: new TextEncoder().encode(text) });
    own.made.add(name);
    own.plans[machine] = text;
  }
  return { words: [name] };
}
/** The same with the options of what was moved; figures of the device have no option. */
async function subject(machine, before = []) {
  const t = await targets(state.model, machine);
  if (t.refused) return t;
  return { words: [...t.words, ...before, ...baseOptions(), ...optionWords(machine)] };
}
function baseOptions() {
  const own = live.own.get(state.model);
  if (own && own.kind !== "model") return [];
  return ["accelerators" in state.changes ? [] : ["--accelerators", "8"], ["--mode", "serve"]].flat();
}
function optionWords(machine) {
  const p = programs.get(programKey(machine));
  return Object.entries(state.changes).filter(([name]) => !name.includes(".")).flatMap(([name, v]) => {
    const row = p instanceof Program ? p.inputs[p.place.get(name)] : undefined;
    return [`--${name.replaceAll("_", "-")}`, row && row.unit ? `${v / row.scale} ${row.unit}` : String(v)];
  });
}
const programKey = (machine, model = state.model) => `${model}|${machine}`;
/** Makes the program of a pair, unless it is there; where the core refuses, its words are kept instead. */
async function have(machine) {
  const key = programKey(machine);
  if (program(state.model, machine) !== undefined) return;
  const t = await targets(state.model, machine);
  if (t.refused) { programs.set(key, t.refused); return; }
  const own = live.own.get(state.model), options = own && own.kind !== "model" ? [] : ["--accelerators", "8", "--mode", "serve"];
  let why = "";
  for (const results of [[...MLSYSIM.results, ...MLSYSIM.charged], MLSYSIM.results]) {
    const got = await command("export", ...t.words, results.join(","), ...options);
    if (got.code === 0) { programs.set(key, new Program(JSON.parse(got.text))); return; }
    why = why || message(got);
  }
  programs.set(key, why);
}

/** Takes a file or a text: a plan, a launch, a model file, a machine, or recorded traffic. @return what became of it */
async function take(name, bytes) {
  if (bytes.length > OWN_ROOM) return `${name} has ${(bytes.length / 1e6).toFixed(0)} MB; the page takes files up to ${OWN_ROOM / 1024 / 1024} MiB`;
  const text = new TextDecoder().decode(bytes), plain = name.replace(/[^\w.@-]/g, "_");
  if (/\.(jsonl|csv|gz)$/.test(plain)) {
    await ask({ file: plain, bytes });
    return `${plain} is there for the console: mlsysim traffic show ${plain}`;
  }
  const launch = !/\.(json|gguf|safetensors|ya?ml)$/.test(plain);
  const machine = /\.ya?ml$/.test(plain) && /^schema: *mlsysim\/hardware/m.test(text);
  const plan = /\.ya?ml$/.test(plain) && /^version:/m.test(text);
  if (!launch && !plan) await ask({ file: plain, bytes });
  const list = machine ? MLSYSIM.machines : MLSYSIM.models, field = machine ? "machine" : "model";
  if (launch || plan) live.own.set(plain, { kind: launch ? "launch" : "plan", text: text.trim(), made: new Set(), plans: {} });
  else live.own.set(plain, { kind: machine ? "machine" : "model", bytes });
  if (!list.includes(plain)) list.unshift(plain);
  for (const key of [...programs.keys()]) if (key.split("|").includes(plain)) programs.delete(key);
  state[field] = plain;
  state.changes = {};
  const named = plan && NAMED.exec(text);
  if (named && MLSYSIM.machines.includes(named[2])) state.machine = named[2];
  fillChoices();
  await chosen();
  const own = live.own.get(plain), refused = programs.get(programKey(state.machine));
  if (typeof refused === "string") return `${plain}: ${refused}`;
  const kind = own.kind === "launch" ? "the launch" : own.kind === "machine" ? "the machine" : own.kind === "plan" ? "the plan" : "the model";
  return `${plain} is ${kind} now. ${own.notes || ""}`.trim();
}

// ---- views that the core draws ---------------------------------------------------------------------------------------
function drawn(text) {
  const page = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  page.classList.add("picture");
  return document.importNode(page, true);
}
const words = (text) => element("pre", text);
async function said(name, ...given) {
  const answer = await command(name, ...given);
  live.said.push(`mlsysim ${[name, ...given].map((w) => (/^[\w./=,:@-]+$/.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`)).join(" ")}`);
  return answer;
}
/** A picture, or why there is none. @param before words that follow the subject, such as the result */
async function picture(kind, before = [], after = []) {
  const s = await subject(state.machine, before);
  if (s.refused) return element("p", s.refused);
  const answer = await said("plot", kind, ...s.words, ...after, "-o", "svg");
  return answer.code === 0 ? drawn(answer.text) : element("p", message(answer));
}
async function page(...given) {
  const answer = await said(...given);
  return words(answer.code === 0 ? answer.text : message(answer));
}
const resultNames = () => { const p = programs.get(programKey(state.machine)); return p instanceof Program ? [...p.results.keys()] : ["itl"]; };

const liveViews = {
  roofline: async () => [chooser("of", resultNames()), await picture("roofline", [state.of])],
  timeline: async () => [chooser("of", resultNames()), await picture("timeline", [state.of])],
  async derivation() {
    const s = await subject(state.machine, [state.of]);
    return [chooser("of", resultNames()), s.refused ? element("p", s.refused) : await page("explain", ...s.words)];
  },
  async uncertainty() {
    const s = await subject(state.machine, [state.of]);
    if (s.refused) return [element("p", s.refused)];
    const answer = await said("uncertainty", ...s.words, "-o", "json");
    if (answer.code !== 0) return [chooser("of", resultNames()), element("p", message(answer))];
    const json = JSON.parse(answer.text), r = json.results[0], show = (v) => `${+v.toPrecision(4)} ${r.unit}`.trim();
    const rows = json.figures.map((name, i) => ({ name, from: 0, to: r.total[i], label: r.total[i].toFixed(3) })).sort((a, b) => b.to - a.to).slice(0, LEVERS);
    return [chooser("of", resultNames()),
      element("p", `${r.meaning}: ${show(r.value)}; nine in ten lie between ${show(r.low)} and ${show(r.high)}, all between ${show(r.outer_bounds[0])} and ${show(r.outer_bounds[1])}. ${json.bottleneck} is the longest part, another one in ${(100 * json.flips).toFixed(0)} % of the samples.`),
      barChart(`what the spread of ${state.of} is made by`, "total Sobol' index of each figure", rows),
      table(["figure", "range", "source"], json.assumptions.map((a) => [a.name, a.value, a.source]))];
  },
  difference: async () => [chooser("of", resultNames()), await picture("difference", [state.of], ["--with", `hardware=${state.other}`])],
  machine: async () => [await bare("topology", state.machine), await page("zoo", "show", state.machine), ...(state.other === state.machine ? [] : [await page("zoo", "show", state.other)])],
  async model() {
    const own = live.own.get(state.model);
    if (own && own.kind !== "model") return [words(own.text), words(own.notes || "")];
    return [await bare("layers", state.model), own ? await page("import", state.model) : await page("zoo", "show", state.model)];
  },
  async walls() {
    const list = JSON.parse((await command("walls", "-o", "json")).text).rows, out = words(""), cards = element("div", undefined, { class: "cards" });
    for (const wall of list) {
      const b = element("button", `${wall.wall} ${wall.name}: ${wall.constraint}`, { type: "button" });
      b.addEventListener("click", async () => { out.textContent = (await command("walls", String(wall.wall))).text; });
      cards.append(b);
    }
    return [cards, out];
  },
  async console() {
    const line = element("input", undefined, { id: "line", type: "text", "aria-label": "a command of mlsysim", value: live.line || "optimize --help" });
    const go = element("button", "run", { type: "button", id: "run" }), stop = element("button", "stop", { type: "button" }), out = element("div");
    const run = async () => {
      live.line = line.value;
      out.replaceChildren(element("p", "working ..."));
      const answer = await command(...split(line.value));
      out.replaceChildren(...(/^(<!--[^>]*-->\s*)?<svg/.test(answer.text) ? [drawn(answer.text)] : [words(answer.text)]), element("p", answer.notes), element("p", `exit code ${answer.code}, ${answer.ms.toFixed(0)} ms`));
    };
    go.addEventListener("click", run);
    line.addEventListener("keydown", (e) => { if (e.key === "Enter") { e.preventDefault(); run(); } });
    stop.addEventListener("click", stopCore);
    const label = element("label", "mlsysim ");
    label.append(line, go, stop);
    return [label, out];
  },
};

async function bare(kind, word) {
  const answer = await said("plot", kind, word, "-o", "svg");
  return answer.code === 0 ? drawn(answer.text) : element("p", message(answer));
}
/** Words as a shell parts them. */
function split(text) {
  const all = (text.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) || []).map((w) => w.replace(/'([^']*)'|"([^"]*)"/g, (_, a, b) => a ?? b));
  return all[0] === "mlsysim" ? all.slice(1) : all;
}

/** Draws the view that is chosen; of many moves in a row the last one counts. */
async function showLive() {
  if (live.busy) { live.again = true; return; }
  live.busy = true;
  const view = state.view;
  live.said = [];
  let parts;
  try { parts = await liveViews[view](); } catch (error) { parts = [element("p", String(error.message))]; }
  if (state.view === view) {
    const moved = Object.keys(state.changes).filter((name) => name.includes("."));
    if (moved.length) parts.unshift(element("p", `Drawn without the moved figures of the device: ${moved.join(", ")}.`));
    if (live.said.length) { const d = element("details"); d.append(element("summary", "as a command"), words(live.said.join("\n"))); parts.push(d); }
    $("view").replaceChildren(...parts);
    $("view").dataset.drawn = view;
  }
  live.busy = false;
  if (live.again) { live.again = false; if (state.view in liveViews) showLive(); }
}
