// Runs exported programs (docs/reference/exported-programs.md) on doubles: the same operations in the same order
// as the library, so the same bits.
"use strict";

const OPERATIONS = {
  negate: (a) => -a, abs: Math.abs, ceil: Math.ceil, floor: Math.floor, sqrt: Math.sqrt, log: Math.log, log2: Math.log2,
  exp: Math.exp, negation: (a) => 1 - a,
  add: (a, b) => a + b, subtract: (a, b) => a - b, multiply: (a, b) => a * b, both: (a, b) => a * b, divide: (a, b) => a / b,
  pow: Math.pow, quadrature: (a, b) => Math.sqrt(a * a + b * b), min: (a, b) => (b < a ? b : a), max: (a, b) => (a < b ? b : a),
  either: (a, b) => (a < b ? b : a), less: (a, b) => +(a < b), less_equal: (a, b) => +(a <= b), equal: (a, b) => +(a === b),
  not_equal: (a, b) => +(a !== b), select: (a, b, c) => (a !== 0 ? b : c),
};

/** One list of operations, with its constants and loops. */
class Tape {
  constructor(json) {
    this.constants = json.constants.map(Number);
    this.nodes = json.nodes.map(([name, ...at]) => {
      if (name === "input" || name === "constant" || name === "loop") return { name, at };
      if (!(name in OPERATIONS)) throw new Error(`unknown operation '${name}'`);
      return { run: OPERATIONS[name], at };
    });
    this.loops = (json.loops || []).map((loop) => ({ ...loop, tape: new Tape(loop.body), outputs: loop.body.outputs }));
    this.values = new Float64Array(this.nodes.length);
  }

  run(given) {
    const v = this.values;
    const states = new Map();
    this.nodes.forEach((node, i) => {
      const [a, b, c] = node.at;
      if (node.run) v[i] = node.run(v[a], v[b], v[c]);
      else if (node.name === "input") v[i] = given[a];
      else if (node.name === "constant") v[i] = this.constants[a];
      else {
        if (!states.has(a)) states.set(a, this.states(this.loops[a]));
        v[i] = states.get(a)[b];
      }
    });
    return v;
  }

  states(loop) {
    let now = loop.initial.map((n) => this.values[n]);
    const rounds = this.values[loop.count];
    if (!(rounds <= loop.bound)) return now.map(() => NaN);
    const captured = loop.captured.map((n) => this.values[n]);
    for (let round = 0; round < rounds; round += 1) {
      const body = loop.tape.run([round, ...now, ...captured]);
      now = loop.outputs.map((n) => body[n]);
    }
    return now;
  }
}

/** A program with its inputs and results by name; all numbers in base units. */
class Program {
  constructor(json) {
    this.inputs = json.inputs;
    this.results = new Map(json.results.map((r) => [r.name, r]));
    this.place = new Map(json.inputs.map((input, i) => [input.name, i]));
    this.tape = new Tape(json);
    this.shape = json.nodes.map(([name, ...at]) => `${name}${at}`).join(" ");
  }

  point(changes = {}) {
    const out = this.inputs.map((input) => input.value);
    for (const [name, value] of Object.entries(changes)) if (this.place.has(name)) out[this.place.get(name)] = value;
    return out;
  }

  /** {name: number in base units} of every result. */
  answer(point) {
    const v = this.tape.run(point);
    const out = {};
    for (const [name, r] of this.results) out[name] = v[r.node];
    return out;
  }
}

if (typeof module !== "undefined") module.exports = { Program, Tape };
