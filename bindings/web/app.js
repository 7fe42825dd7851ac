// The explorer: every control recomputes everything that is seen, in this page: numbers from exported programs, which the
// core makes where it is there, pictures and words by the core (live.js).
"use strict";

const SLIDERS = ["batch_size", "seq_len", "accelerators", "tp_size", "hardware.memory.bandwidth", "hardware.memory.capacity", "hardware.compute.dense.fp16",
  "hardware.compute.dense.bf16", "hardware.power.tdp", "links.level1.bandwidth", "unit_cost", "kwh_price", "facility.pue", "facility.carbon_intensity", "duration_days"];
const VIEWS = ["answer", "time", "memory", "cost", "sensitivity", "curve", "front", "comparison", ...(live.on ? Object.keys(liveViews) : [])];
const LEVERS = 12, STEP = 0.1;
const state = { model: "", machine: "", other: "", view: "answer", along: "batch_size", of: "itl", changes: {} };
const $ = (id) => document.getElementById(id);

function program(model, machine) {
  const key = programKey(machine, model);
  if (!programs.has(key) && key in MLSYSIM.programs) programs.set(key, new Program(MLSYSIM.programs[key]));
  return programs.get(key);
}
/** The numbers of a choice: what both have is moved alike; figures of the device move on the first machine alone. */
function solved(machine, further = {}) {
  const p = program(state.model, machine);
  const changes = Object.fromEntries(Object.entries(state.changes).filter(([name]) => machine === state.machine || !name.includes(".") && name !== "unit_cost"));
  const point = p.point({ ...changes, ...further });
  return { p, point, n: p.answer(point), machine };
}
const fits = (n) => n.memory_used <= n.memory_capacity && n.plan_fits === 1;

const PREFIX = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "u"], [1e-9, "n"]];
function pretty(base, row) {
  if (!Number.isFinite(base)) return "not known";
  const value = base / row.scale, unit = row.unit;
  const plain = /^(us|ms|s)$/.test(unit) ? [base, "s"] : /^[kMGT]?B$/.test(unit) ? [base, "B"] : null;
  if (!plain) return `${+value.toPrecision(4)} ${unit}`.trim();
  const [, prefix] = PREFIX.find(([size]) => Math.abs(plain[0]) >= size) || [1, ""];
  const size = PREFIX.find(([, p]) => p === prefix)[0];
  return `${+(plain[0] / size).toPrecision(4)} ${prefix}${plain[1]}`;
}
const shown = (s, name) => pretty(s.n[name], s.p.results.get(name));

function element(tag, words, attributes = {}) {
  const e = document.createElement(tag);
  if (words !== undefined) e.textContent = words;
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
}
let lastTable = { columns: [], rows: [] };
function table(columns, rows) {
  rows = rows.map((row) => row.map((v) => (typeof v === "number" && !Number.isFinite(v) ? "does not fit" : v)));
  lastTable = { columns, rows };
  const t = element("table"), head = t.createTHead().insertRow(), body = t.createTBody();
  columns.forEach((c) => head.append(element("th", c)));
  rows.forEach((row) => { const r = body.insertRow(); row.forEach((v) => r.append(element("td", v, typeof v === "number" ? { class: "n" } : {}))); });
  return t;
}

// ---- sentences ----------------------------------------------------------------------------------------------------
const PARTS = { compute: "arithmetic", memory: "memory bandwidth", network: "collectives", overhead: "launches and dispatch" };
function longest(n, prefix) {
  const names = Object.keys(PARTS).filter((k) => Number.isFinite(n[`${prefix}_${k}`]));
  return PARTS[names.reduce((a, b) => (n[`${prefix}_${b}`] > n[`${prefix}_${a}`] ? b : a))];
}
function oneSentence(s) {
  const n = s.n;
  if (!(n.memory_used <= n.memory_capacity)) return `${state.model} does not fit on ${s.machine}: ${shown(s, "memory_missing")} are missing on each device.`;
  if (n.plan_fits !== 1) return `This is no plan: the degrees do not divide the devices, or the nodes are not full.`;
  return `${state.model} on ${n_of(s)} ${s.machine} fits: first token after ${shown(s, "ttft")}, then one every ${shown(s, "itl")}; `
    + `${Number.isFinite(n.cost_per_token) ? shown(s, "cost_per_token") + "; " : ""}decoding is limited by ${longest(n, "decode")}.`;
}
const n_of = (s) => `${s.point[s.p.place.get("accelerators")]} x`;

/** Which machine serves cheaper, why, and what would flip it. */
function comparison(a, b) {
  const key = Number.isFinite(a.n.cost_per_token) && Number.isFinite(b.n.cost_per_token) ? "cost_per_token" : "itl";
  if (!fits(a.n) || !fits(b.n)) return { key, words: `${[a, b].filter((s) => !fits(s.n)).map((s) => s.machine).join(" and ")} cannot serve this.`, terms: [] };
  const [best, worse] = a.n[key] <= b.n[key] ? [a, b] : [b, a];
  let words = `${best.machine} is the better one: ${shown(best, key)} against ${shown(worse, key)}.`;
  const terms = attribution(worse, best, key);
  const whole = best.n[key] - worse.n[key], driver = terms.find((t) => t.part * whole > 0);
  if (driver) words += ` Most of it comes from ${driver.name}.`;
  const flip = flips(best, worse, key);
  return { key, words: flip ? `${words} ${flip}` : words, terms };
}
/** Shapley values of the figures that differ, where both are the same program: the mean over all orders of the changes. */
function attribution(from, to, key) {
  if (from.p.shape !== to.p.shape) return [];
  let names = from.p.inputs.map((x) => x.name).filter((name, i) => from.point[i] !== to.point[to.p.place.get(name)]);
  const effect = (name) => { const q = [...from.point]; q[from.p.place.get(name)] = to.point[to.p.place.get(name)]; return Math.abs(from.p.answer(q)[key] - from.n[key]); };
  names = names.map((name) => [effect(name), name]).sort((x, y) => y[0] - x[0]).map((x) => x[1]);
  const groups = names.slice(0, 9).map((name) => [name]);
  if (names.length > 9) groups.push(names.slice(9));
  const at = (mask) => {
    const q = [...from.point];
    groups.forEach((group, g) => { if (mask & (1 << g)) group.forEach((name) => { q[from.p.place.get(name)] = to.point[to.p.place.get(name)]; }); });
    return from.p.answer(q)[key];
  };
  const values = Array.from({ length: 1 << groups.length }, (_, mask) => at(mask));
  const factorial = [1]; for (let i = 1; i <= groups.length; i += 1) factorial.push(factorial[i - 1] * i);
  const bits = (m) => m.toString(2).replaceAll("0", "").length;
  return groups.map((group, g) => {
    let part = 0;
    values.forEach((v, mask) => {
      if (mask & (1 << g)) return;
      const k = bits(mask);
      part += ((factorial[k] * factorial[groups.length - k - 1]) / factorial[groups.length]) * (values[mask | (1 << g)] - v);
    });
    return { name: group.length > 1 ? `${group.length} further figures` : group[0], part };
  }).filter((t) => Math.abs(t.part) > 1e-12 * Math.abs(from.n[key])).sort((x, y) => Math.abs(y.part) - Math.abs(x.part));
}
/** The price of the better machine, or its memory bandwidth, at which the order turns: by bisection. */
function flips(best, worse, key) {
  for (const [name, ends, words] of [["unit_cost", [1, 10], "cost more than"], ["hardware.memory.bandwidth", [1, 0.1], "have less memory bandwidth than"]]) {
    const i = best.p.place.get(name);
    if (i === undefined) continue;
    const at = (factor) => { const q = [...best.point]; q[i] *= factor; return best.p.answer(q)[key] - worse.n[key]; };
    let [low, high] = ends;
    if (!(at(high) > 0)) continue;
    for (let k = 0; k < 60; k += 1) { const middle = (low + high) / 2; if (at(middle) > 0) high = middle; else low = middle; }
    return `It would flip if ${best.machine} were to ${words} ${pretty(best.point[i] * high, best.p.inputs[i])}.`;
  }
  return "";
}

// ---- views --------------------------------------------------------------------------------------------------------
const draw = {
  answer(s, o) {
    const names = ["ttft", "itl", "request_latency", "token_throughput", "throughput_per_accelerator", "memory_used", "memory_capacity", "mfu", "cost_per_token",
      "energy_per_token", "carbon_per_token", "tco", "carbon_footprint"].filter((name) => s.p.results.has(name));
    return [element("p", comparison(s, o).words), waterfall(s, "itl", "decode"),
      table(["number", s.machine, o.machine, "meaning"], names.map((name) => [name, shown(s, name), o.p.results.has(name) ? shown(o, name) : "", s.p.results.get(name).meaning]))];
  },
  time: (s) => [element("h2", "time to first token"), waterfall(s, "ttft", "prefill"), element("h2", "time between two tokens"), waterfall(s, "itl", "decode"),
    table(["part", "first token", "each token"], Object.entries(PARTS).map(([k, words]) => [words, shown(s, `prefill_${k}`), shown(s, `decode_${k}`)]))],
  memory(s) {
    const names = [...s.p.results.keys()].filter((name) => name.startsWith("memory.") && !/total|capacity/.test(name) && s.n[name] > 0);
    let at = 0;
    const rows = names.map((name) => { const from = at; at += s.n[name]; return { name: name.slice(7), from, to: at, label: shown(s, name) }; });
    rows.push({ name: "used", from: 0, to: s.n.memory_used, label: shown(s, "memory_used"), other: true }, { name: "capacity", from: 0, to: s.n.memory_capacity, label: shown(s, "memory_capacity"), other: true });
    return [barChart("memory of one device", "what fills it, and its capacity", rows), table(["part", "bytes"], names.map((name) => [name.slice(7), s.n[name]]))];
  },
  cost(s) {
    const bars = (whole, names) => {
      let at = 0;
      const rows = names.map((name) => { const from = at; at += s.n[name]; return { name, from, to: at, label: shown(s, name) }; });
      return [...rows, { name: whole, from: 0, to: s.n[whole], label: shown(s, whole), other: true }];
    };
    return [element("h2", "costs of the period"), barChart("costs", "of the period", bars("tco", ["capex", "energy_cost", "maintenance"])),
      element("h2", "emissions"), barChart("emissions", "of the period", bars("carbon_footprint", ["operational_carbon", "embodied_carbon"])),
      table(["number", "value"], ["tco", "capex", "energy_cost", "maintenance", "carbon_footprint", "operational_carbon", "embodied_carbon"].map((name) => [name, shown(s, name)]))];
  },
  sensitivity(s) {
    const of = state.of, moved = [];
    s.p.inputs.forEach((input, i) => {
      if (!s.point[i]) return;
      const at = (factor) => { const q = [...s.point]; q[i] = input.whole ? Math.max(input.low ?? 1, Math.round(q[i] + Math.sign(factor - 1) * Math.max(1, Math.abs(factor - 1) * q[i]))) : q[i] * factor; return s.p.answer(q)[of] / s.n[of] - 1; };
      const [down, up] = [at(1 - STEP), at(1 + STEP)];
      const reach = Math.max(Math.abs(down) || 0, Math.abs(up) || 0);
      if (reach > 1e-9) moved.push({ input: input.name, down, up, reach });
    });
    moved.sort((a, b) => b.reach - a.reach);
    const percent = (v) => `${v > 0 ? "+" : ""}${(100 * v).toFixed(2)} %`;
    const rows = moved.slice(0, LEVERS).flatMap((m) => [{ name: `${m.input} less`, from: 0, to: 100 * m.down, label: percent(m.down) }, { name: "more", from: 0, to: 100 * m.up, label: percent(m.up), other: true }]);
    return [chooser("of", [...s.p.results.keys()]), element("p", `Change of ${of} when one figure moves by 10 %, counts to the next one.`), barChart(`what ${of} hangs on`, "tornado", rows),
      table(["figure", "10 % less", "10 % more"], moved.map((m) => [m.input, m.down, m.up]))];
  },
  curve(s, o) {
    const input = s.p.inputs[s.p.place.get(state.along)], r = s.p.results.get(state.of), start = s.point[s.p.place.get(state.along)];
    const values = Array.from({ length: 121 }, (_, k) => start * 4 ** ((k - 60) / 30)).map((v) => (input.whole ? Math.max(1, Math.round(v)) : v)).filter((v, i, all) => i === 0 || v !== all[i - 1]);
    const line = (machine, other) => ({ name: machine, other, points: values.map((v) => { const at = solved(machine, { [state.along]: v }); return fits(at.n) ? [v / input.scale, at.n[state.of] / r.scale] : [NaN, NaN]; }) });
    const lines = [line(s.machine, false), ...(o.machine === s.machine ? [] : [line(o.machine, true)])];
    const unit = (row) => (row.unit ? ` [${row.unit}]` : "");
    return [chooser("of", [...s.p.results.keys()]), chooser("along", s.p.inputs.map((i) => i.name)),
      lineChart(`${state.of} over ${state.along}`, "points that fit", state.along + unit(input), state.of + unit(r), lines, start > 0),
      table([state.along, ...lines.map((l) => `${state.of} ${l.name}`)], values.map((v, i) => [v, ...lines.map((l) => l.points[i][1])]))];
  },
  front(s, o) {
    const rows = [], lines = [...new Set([s.machine, o.machine])].map((machine, i) => {
      const points = [];
      for (let b = 1; b <= 4096; b *= 2) { const at = solved(machine, { batch_size: b }); if (fits(at.n)) { points.push([1 / at.n.itl, at.n.throughput_per_accelerator]); rows.push([machine, b, 1 / at.n.itl, at.n.throughput_per_accelerator]); } }
      return { name: machine, points, other: i > 0 };
    });
    return [lineChart("throughput against interactivity", "batch sizes 1, 2, 4, ... that fit", "tokens per second of one user", "tokens per second of one device", lines, false), table(["machine", "batch_size", "tokens/s of a user", "tokens/s of a device"], rows)];
  },
  comparison(s, o) {
    const c = comparison(s, o), row = s.p.results.get(c.key);
    let at = Math.max(s.n[c.key], o.n[c.key]);
    const first = at, bars = c.terms.map((t) => { const from = at; at += t.part; return { name: t.name, from: from / row.scale, to: at / row.scale, label: `${(t.part / row.scale).toPrecision(3)} ${row.unit}`, other: true }; });
    const all = MLSYSIM.machines.filter((m) => program(state.model, m) instanceof Program).map((m) => solved(m));
    return [element("p", c.words), ...(bars.length ? [barChart(c.key, "which figure makes how much of the difference", [{ name: "the dearer one", from: 0, to: first / row.scale, label: "" }, ...bars, { name: "the better one", from: 0, to: at / row.scale, label: "" }])]
      : [element("p", "The two are computed by different operations, so the difference is not taken apart here; mlsysim compare does.")]),
    table(["machine", "fits", "ttft", "itl", "tokens/s of a device", "cost_per_token"], all.map((m) => [m.machine, fits(m.n) ? "yes" : "no", shown(m, "ttft"), shown(m, "itl"), shown(m, "throughput_per_accelerator"), shown(m, "cost_per_token")]))];
  },
};
function waterfall(s, whole, prefix) {
  let at = 0;
  const rows = Object.entries(PARTS).filter(([k]) => s.n[`${prefix}_${k}`] > 0).map(([k, words]) => { const from = at; at += s.n[`${prefix}_${k}`]; return { name: words, from, to: at, label: shown(s, `${prefix}_${k}`) }; });
  return barChart(`parts of ${whole}`, "one after the other", [...rows, { name: whole, from: 0, to: s.n[whole], label: shown(s, whole), other: true }]);
}
function chooser(field, names) {
  const label = element("label", field === "of" ? "result " : "along "), select = element("select");
  names.forEach((name) => select.append(new Option(name, name, false, name === state[field])));
  select.addEventListener("change", () => { state[field] = select.value; update(); });
  label.append(select);
  return label;
}

// ---- state, sliders, exports ----------------------------------------------------------------------------------------
function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const key of ["model", "machine", "other", "view", "along", "of"]) if (given.has(key)) state[key] = given.get(key);
  for (const [key, value] of given) if (key.startsWith("x.") && Number.isFinite(Number(value))) state.changes[key.slice(2)] = Number(value);
  return given;
}
/** What an address names and is not there is replaced by what is. */
function settle() {
  const known = (list, value, ...otherwise) => [value, ...otherwise].find((name) => list.includes(name)) ?? list[0];
  state.model = known(MLSYSIM.models, state.model, "Llama3_70B");
  state.machine = known(MLSYSIM.machines, state.machine, "H100");
  state.other = known(MLSYSIM.machines, state.other, "H200");
  state.view = known(VIEWS, state.view);
}
function writeAddress() {
  const q = new URLSearchParams(Object.entries(state).filter(([k]) => k !== "changes"));
  for (const [name, value] of Object.entries(state.changes)) q.set(`x.${name}`, value);
  // What was written here travels with the address; files do not.
  const own = live.own.get(state.model);
  if (own && own.text) q.set(own.kind, own.text);
  history.replaceState(null, "", `#${q}`);
}
function makeSliders() {
  const p = program(state.model, state.machine);
  if (!(p instanceof Program)) { $("sliders").replaceChildren(); return; }
  $("sliders").replaceChildren(...SLIDERS.filter((name) => p.place.has(name) && p.inputs[p.place.get(name)].value > 0).map((name) => {
    const input = p.inputs[p.place.get(name)], label = element("label", `${name} `, { title: input.meaning });
    const output = element("output"), range = element("input", undefined, { type: "range", min: -64, max: 64, step: 1, "data-name": name, "aria-label": `${name}: ${input.meaning}` });
    range.value = 16 * Math.log2((state.changes[name] ?? input.value) / input.value);
    range.addEventListener("input", () => {
      const moved = input.value * 2 ** (range.value / 16);
      const value = input.whole ? Math.max(input.low ?? 1, Math.round(moved)) : moved;
      if (Number(range.value) === 0) delete state.changes[name]; else state.changes[name] = value;
      update();
    });
    label.append(output, range);
    return label;
  }));
}
function showSliders(s) {
  for (const range of $("sliders").querySelectorAll("input")) {
    const i = s.p.place.get(range.dataset.name), output = range.previousElementSibling;
    output.textContent = pretty(s.point[i], s.p.inputs[i]);
    output.classList.toggle("moved", range.dataset.name in state.changes);
  }
}
/** A plan file: which block of it a field belongs to. */
function planText(fields) {
  const block = (name) => (/^(batch_size|seq_len|output_tokens|cached_prefix_len|prefill_chunk_tokens|draft_)/.test(name) ? "workload"
    : /^(grid|datacenter|duration_days|kwh_price)$/.test(name) ? "ops"
      : /^(accelerators|node_count|intra_node_bw|fabric_bandwidth|precision|kv_precision|efficiency$|unit_cost|infrastructure_|congestion_|straggler_)/.test(name) ? "hardware" : "parallelism");
  const lines = (of) => fields.filter(([name]) => block(name) === of).map(([name, v]) => `  ${name}: ${v}\n`).join("");
  const named = (of, name) => `${of}:\n  name: ${name}\n${lines(of)}`;
  const plain = (of) => (lines(of) ? `${of}:\n${lines(of)}` : "");
  return `version: "1"\nname: explorer\nmode: serve\n${named("workload", state.model)}${named("hardware", state.machine)}${plain("parallelism")}${plain("ops")}`;
}
function exportTexts(s) {
  const own = live.own.get(state.model);
  if (own && own.text) {
    for (const id of ["shell", "python", "cpp"]) $(id).textContent = "";
    $("plan").textContent = own.plans[state.machine] || own.text;
    return;
  }
  const fields = Object.entries(state.changes).filter(([name]) => !name.includes("."));
  const moved = Object.entries(state.changes).filter(([name]) => name.includes("."));
  const value = (name, v) => { const row = s.p.inputs[s.p.place.get(name)]; return row.unit ? `${v / row.scale} ${row.unit}` : String(v); };
  const base = s.p.inputs[s.p.place.get("accelerators")].value, count = state.changes.accelerators ?? base;
  const rest = fields.filter(([name]) => name !== "accelerators");
  const note = moved.length ? `\n# moved figures of the device: ${moved.map(([k, v]) => `${k} = ${value(k, v)}`).join("; ")}` : "";
  $("shell").textContent = `mlsysim eval ${state.model} ${state.machine} --accelerators ${count}${rest.map(([k, v]) => ` --${k.replaceAll("_", "-")} '${value(k, v)}'`).join("")}${note}`;
  $("plan").textContent = planText([["accelerators", count], ...rest.map(([k, v]) => [k, value(k, v)])]);
  $("python").textContent = `import mlsysim\nchat = mlsysim.ask(mlsysim.Models[${JSON.stringify(state.model)}], mlsysim.Hardware[${JSON.stringify(state.machine)}], accelerators=${count}${rest.map(([k, v]) => `, ${k}=${JSON.stringify(value(k, v)).replace(/^"([\d.]+)"$/, "$1")}`).join("")})\nprint(chat.results["itl"])`;
  $("cpp").textContent = `#include <mlsysim/mlsysim.hpp>\n#include <iostream>\nint main() {\n  using namespace mlsysim;\n  const Zoo& zoo = standard_zoo();\n  const auto card = SystemEvaluator::evaluate({.workload = &zoo.at<Workload>(${JSON.stringify(state.model)}),\n      .hardware = &zoo.at<HardwareNode>(${JSON.stringify(state.machine)}), .batch_size = ${state.changes.batch_size ?? 1}, .accelerators = ${count}});\n  std::cout << card.performance.summary << '\\n';\n}`;
}
function update() {
  for (const b of $("views").children) b.setAttribute("aria-selected", b.dataset.view === state.view);
  writeAddress();
  const first = program(state.model, state.machine), second = program(state.model, state.other);
  const s = first instanceof Program ? solved(state.machine) : null, o = second instanceof Program ? solved(state.other) : s;
  $("answer").textContent = s ? oneSentence(s) : String(first);
  if (s) { showSliders(s); exportTexts(s); }
  $("view").dataset.drawn = "";
  if (live.on && state.view in liveViews) showLive();
  else $("view").replaceChildren(...(s ? draw[state.view](s, o) : [element("p", String(first))]));
}
/** After a choice of model or machines: their programs, then everything. */
async function chosen() {
  if (live.on) { await have(state.machine); await have(state.other); }
  makeSliders();
  update();
}
function fillChoices() {
  for (const [id, names] of [["model", MLSYSIM.models], ["machine", MLSYSIM.machines], ["other", MLSYSIM.machines]])
    $(id).replaceChildren(...names.map((name) => new Option(name, name, false, name === state[id])));
}
function csvText() {
  const cell = (v) => (/[",\n]/.test(String(v)) ? `"${String(v).replaceAll('"', '""')}"` : String(v));
  return [lastTable.columns, ...lastTable.rows].map((row) => row.map(cell).join(",")).join("\r\n");
}
/** The first picture of the view as a file of its own: what style sheets say is written into it. */
function pictureText() {
  const seen = $("view").querySelector("svg");
  if (!seen) return "";
  const copy = seen.cloneNode(true), box = seen.viewBox.baseVal;
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  if (!seen.classList.contains("picture")) {
    const all = [...seen.querySelectorAll("*")];
    [...copy.querySelectorAll("*")].forEach((e, i) => { const style = getComputedStyle(all[i]); for (const k of ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family"]) e.setAttribute(k, style.getPropertyValue(k)); });
    copy.prepend(svg("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor }));
  }
  return new XMLSerializer().serializeToString(copy);
}
function save(name, blob) { element("a", "", { download: name, href: URL.createObjectURL(blob) }).click(); }
function pictureBits(text) {
  return new Promise((done, failed) => {
    const image = new Image();
    image.onload = () => { const c = element("canvas", undefined, { width: 2 * image.width, height: 2 * image.height }); c.getContext("2d").drawImage(image, 0, 0, c.width, c.height); c.toBlob(done, "image/png"); };
    image.onerror = () => failed(new Error("the picture cannot be drawn"));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  });
}
async function start() {
  const given = readAddress();
  const taken = async (name, bytes) => { $("taken").textContent = "reading ..."; $("taken").textContent = await take(name, bytes); };
  if (live.on) {
    $("own").hidden = false;
    await beginCore();
    [MLSYSIM.models, MLSYSIM.machines] = [await namesOf("models"), await namesOf("hardware")];
  }
  settle();
  fillChoices();
  for (const field of ["model", "machine", "other"])
    $(field).addEventListener("change", (e) => { state[field] = e.target.value; if (field !== "other") state.changes = {}; chosen(); });
  $("views").replaceChildren(...VIEWS.map((view, i) => {
    const b = element("button", view, { type: "button", role: "tab", "data-view": view, title: `key ${i + 1}` });
    b.addEventListener("click", () => { state.view = view; update(); });
    return b;
  }));
  const theme = () => { const dark = document.documentElement.classList.contains("dark") || (!document.documentElement.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.className = dark ? "light" : "dark"; };
  const reset = () => { state.changes = {}; makeSliders(); update(); };
  $("theme").addEventListener("click", theme);
  $("reset").addEventListener("click", reset);
  $("csv").addEventListener("click", () => save(`${state.view}.csv`, new Blob([csvText()], { type: "text/csv" })));
  $("svg").addEventListener("click", () => save(`${state.view}.svg`, new Blob([pictureText()], { type: "image/svg+xml" })));
  $("png").addEventListener("click", async () => save(`${state.view}.png`, await pictureBits(pictureText())));
  $("file").addEventListener("change", async (e) => { for (const f of e.target.files) await taken(f.name, new Uint8Array(await f.arrayBuffer())); });
  $("launch").addEventListener("keydown", (e) => { if (e.key === "Enter" && e.target.value.trim()) { e.preventDefault(); taken("launch", new TextEncoder().encode(e.target.value)); } });
  document.addEventListener("dragover", (e) => e.preventDefault());
  document.addEventListener("drop", async (e) => { e.preventDefault(); for (const f of e.dataTransfer.files) await taken(f.name, new Uint8Array(await f.arrayBuffer())); });
  $("share").addEventListener("click", () => navigator.clipboard.writeText(location.href));
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || /SELECT|INPUT/.test(e.target.tagName)) return;
    if (VIEWS[e.key - 1]) { state.view = VIEWS[e.key - 1]; update(); } else if (e.key === "t") theme(); else if (e.key === "r") reset();
  });
  $("about").textContent = `mlsysim ${MLSYSIM.version}. ${live.on ? "The whole core in this page: " : "Programs of "}${MLSYSIM.models.length} models on ${MLSYSIM.machines.length} machines, serving; every figure of the zoo has its source there.`;
  if (live.on) for (const kind of ["launch", "plan"]) if (given.has(kind)) await taken(kind === "plan" ? given.get("model") || "plan.yaml" : "launch", new TextEncoder().encode(given.get(kind)));
  await chosen();
  document.documentElement.dataset.ready = "yes";
}
start();
