// What a user takes along: the question as a command, plan, Python or C++, and the view as CSV or a picture.

import { optionsShown, own } from "./core";
import { sectionOf } from "./inputs";
import { asked } from "./numbers";
import { state, systems } from "./state";

export interface Texts { shell: string; plan: string; python: string; cpp: string; machine: string }

function planText(fields: [string, string][], machine: string): string {
  const lines = (of: string) => fields.filter(([name]) => sectionOf(name) === of).map(([name, v]) => `  ${name}: ${v}\n`).join("");
  const named = (of: string, name: string) => `${of}:\n  name: ${name}\n${lines(of)}`;
  const plain = (of: string) => (lines(of) ? `${of}:\n${lines(of)}` : "");
  return `version: "1"\nname: explorer\nmode: ${state.mode}\n${fields.filter(([name]) => sectionOf(name) === "").map(([name, v]) => `${name}: ${v}\n`).join("")}${named("workload", state.model)}${named("hardware", machine)}${plain("parallelism")}${plain("ops")}`;
}
const quoted = (v: string) => (/^[\w.-]+$/.test(v) ? v : `'${v}'`);
const literal = (v: string) => (/^-?[\d.]+(e[-+]?\d+)?$/.test(v) ? v : JSON.stringify(v));

/** The options in effect as fields of a plan. */
function fieldsOf(words: string[]): [string, string][] {
  const out: [string, string][] = [];
  for (let i = 0; i + 1 < words.length; i += 2) out.push([words[i]!.slice(2).replaceAll("-", "_"), words[i + 1]!]);
  return out.filter(([name]) => name !== "mode");
}
const isFile = (name: string) => own.has(name);
/** The model in Python: an entry of the zoo, or a file of the user. */
const modelInPython = () => (isFile(state.model) ? `mlsysim.import_model(${JSON.stringify(state.model)})` : `mlsysim.Models[${JSON.stringify(state.model)}]`);
/** The machine in Python: a device or system of the zoo, or the one that a file has. */
function machineInPython(moved: { file: string; yaml: string } | undefined): string {
  const mine = own.get(state.machine), yaml = moved?.yaml ?? (mine && "bytes" in mine ? new TextDecoder().decode(mine.bytes) : undefined);
  const entry = yaml && (/^ *- name: *([^\s#]+)/m.exec(yaml)?.[1] ?? state.machine);
  if (entry) return `mlsysim.zoo.load(${JSON.stringify(moved?.file ?? state.machine)})[${JSON.stringify(entry)}]`;
  return systems.cluster.has(state.machine) ? `mlsysim.Systems[${JSON.stringify(state.machine)}]` : `mlsysim.Hardware[${JSON.stringify(state.machine)}]`;
}
/** The main number of a scorecard, in Python. @param card the expression that makes it */
const numberOf = (card: string) => `import mlsysim\ncard = ${card}\nprint(card["levels"]["performance"]["metrics"][${JSON.stringify(asked().main)}]["display"])`;
/** The question in Python: asked of objects; what is a node or a pod, as a plan. */
function pythonText(fields: [string, string][], moved: { file: string; yaml: string } | undefined): string {
  if (systems.node.has(state.machine) || systems.pod.has(state.machine)) return numberOf(`mlsysim.plans.check("""\n${planText(fields, moved?.file ?? state.machine)}""")`);
  const members = fields.map(([k, v]) => `, ${k}=${literal(v)}`).join(""), mode = state.mode === "serve" ? "" : `, mode=${JSON.stringify(state.mode)}`;
  return `import mlsysim\nanswer = mlsysim.ask(${modelInPython()}, ${machineInPython(moved)}${mode}${members})\nprint(answer.results[${JSON.stringify(asked().main)}])`;
}
/** The question as texts. @param machine the file of the machine with moved figures, or nothing */
export function texts(machine: { file: string; yaml: string } | undefined): Texts {
  const mine = own.get(state.model), fields = fieldsOf(optionsShown());
  const options = fields.map(([k, v]) => ` --${k.replaceAll("_", "-")} ${quoted(v)}`).join("");
  if (mine && "text" in mine) {
    // What was moved stands behind the plan, as options do.
    const file = /\.ya?ml$/.test(state.model) ? state.model : `${state.model}.yaml`;
    const python = options ? "" : numberOf(`mlsysim.plans.read(${JSON.stringify(file)})`);
    return { shell: `mlsysim eval ${quoted(file)}${options}`, plan: mine.plans[state.machine] ?? mine.text, python, cpp: "", machine: machine?.yaml ?? "" };
  }
  const name = machine?.file ?? state.machine;
  const mode = state.mode === "serve" ? "" : ` --mode ${state.mode}`;
  return {
    shell: `mlsysim eval ${quoted(state.model)} ${quoted(name)}${mode}${options}`,
    plan: planText(fields, name),
    python: pythonText(fields, machine),
    cpp: cppText(fields, name),
    machine: machine?.yaml ?? "",
  };
}
/** The plan, read by the library: a program that says what the page says. */
function cppText(fields: [string, string][], machine: string): string {
  return `#include <mlsysim/engine/evaluator.hpp>\n#include <mlsysim/engine/plan_file.hpp>\n#include <mlsysim/zoo/loader.hpp>\n#include <iostream>\n\nint main() {\n  using namespace mlsysim;\n`
    + `  const BuiltScenario asked = parse_plan(R"(${planText(fields, machine)})", "explorer.yaml", standard_zoo()).build();\n`
    + "  std::cout << SystemEvaluator::evaluate(asked.scenario).performance.summary << '\\n';\n}\n";
}

/** The first picture of the view as a file of its own: what style sheets say is written into it. */
export function pictureText(view: Element): string {
  const seen = view.querySelector("svg");
  if (!seen) return "";
  const copy = seen.cloneNode(true) as SVGSVGElement, box = seen.viewBox.baseVal;
  copy.setAttribute("width", String(box.width));
  copy.setAttribute("height", String(box.height));
  if (!seen.classList.contains("picture")) {
    const all = [...seen.querySelectorAll("*")];
    [...copy.querySelectorAll("*")].forEach((e, i) => {
      const style = getComputedStyle(all[i]!);
      for (const k of ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family"]) e.setAttribute(k, style.getPropertyValue(k));
    });
    const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [k, v] of Object.entries({ width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor })) ground.setAttribute(k, v);
    copy.prepend(ground);
  }
  return new XMLSerializer().serializeToString(copy);
}
export function pictureBits(text: string): Promise<Blob> {
  return new Promise((done, failed) => {
    const image = new Image();
    image.onload = () => {
      const c = document.createElement("canvas");
      [c.width, c.height] = [2 * image.width, 2 * image.height];
      c.getContext("2d")!.drawImage(image, 0, 0, c.width, c.height);
      c.toBlob((bits) => (bits ? done(bits) : failed(new Error("the picture cannot be drawn"))), "image/png");
    };
    image.onerror = () => failed(new Error("the picture cannot be drawn"));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  });
}
export function save(name: string, blob: Blob) {
  const a = document.createElement("a");
  a.download = name;
  a.href = URL.createObjectURL(blob);
  a.click();
}
