// Runs exported programs (docs/reference/exported-programs.md) on doubles: the same operations in the same order
// as the library, so the same bits.

export interface Input { name: string; unit: string; scale: number; meaning: string; low?: number; high?: number; above?: number; whole?: boolean; value: number }
export interface Result { name: string; unit: string; scale: number; meaning: string; node: number }
type NodeJson = [string, ...number[]];
interface LoopJson { count: number; bound: number; initial: number[]; captured: number[]; body: TapeJson & { outputs: number[] } }
interface TapeJson { constants: (number | string)[]; nodes: NodeJson[]; loops?: LoopJson[] }
export interface ProgramJson extends TapeJson { inputs: Input[]; results: Result[] }

type Operation = (a: number, b: number, c: number) => number;
const OPERATIONS: Record<string, Operation> = {
  negate: (a) => -a, abs: Math.abs, ceil: Math.ceil, floor: Math.floor, sqrt: Math.sqrt, log: Math.log, log2: Math.log2,
  exp: Math.exp, negation: (a) => 1 - a,
  add: (a, b) => a + b, subtract: (a, b) => a - b, multiply: (a, b) => a * b, both: (a, b) => a * b, divide: (a, b) => a / b,
  pow: Math.pow, quadrature: (a, b) => Math.sqrt(a * a + b * b), min: (a, b) => (b < a ? b : a), max: (a, b) => (a < b ? b : a),
  either: (a, b) => (a < b ? b : a), less: (a, b) => +(a < b), less_equal: (a, b) => +(a <= b), equal: (a, b) => +(a === b),
  not_equal: (a, b) => +(a !== b), select: (a, b, c) => (a !== 0 ? b : c),
};
const NOWHERE = 0;  // for operands that an operation does not have

interface Step { run: Operation | undefined; kind: string; a: number; b: number; c: number }
interface Loop extends LoopJson { tape: Tape }

/** One list of operations, with its constants and loops. */
class Tape {
  private readonly constants: number[];
  private readonly steps: Step[];
  private readonly loops: Loop[];
  private readonly values: Float64Array;

  constructor(json: TapeJson) {
    this.constants = json.constants.map(Number);
    this.steps = json.nodes.map(([kind, a = NOWHERE, b = NOWHERE, c = NOWHERE]) => {
      const run = OPERATIONS[kind];
      if (!run && kind !== "input" && kind !== "constant" && kind !== "loop") throw new Error(`unknown operation '${kind}'`);
      return { run, kind, a, b, c };
    });
    this.loops = (json.loops ?? []).map((loop) => ({ ...loop, tape: new Tape(loop.body) }));
    this.values = new Float64Array(this.steps.length);
  }

  run(given: ArrayLike<number>): Float64Array {
    const v = this.values;
    const states = new Map<number, number[]>();
    this.steps.forEach(({ run, kind, a, b, c }, i) => {
      if (run) v[i] = run(v[a]!, v[b]!, v[c]!);
      else if (kind === "input") v[i] = given[a]!;
      else if (kind === "constant") v[i] = this.constants[a]!;
      else {
        if (!states.has(a)) states.set(a, this.states(this.loops[a]!));
        v[i] = states.get(a)![b]!;
      }
    });
    return v;
  }

  private states(loop: Loop): number[] {
    let now = loop.initial.map((n) => this.values[n]!);
    const rounds = this.values[loop.count]!;
    if (!(rounds <= loop.bound)) return now.map(() => NaN);
    const captured = loop.captured.map((n) => this.values[n]!);
    for (let round = 0; round < rounds; round += 1) {
      const body = loop.tape.run([round, ...now, ...captured]);
      now = loop.body.outputs.map((n) => body[n]!);
    }
    return now;
  }
}

export type Numbers = Record<string, number>;

/** A program with its inputs and results by name; all numbers in base units. */
export class Program {
  readonly inputs: Input[];
  readonly results: Map<string, Result>;
  readonly place: Map<string, number>;
  /** Equal for programs that do the same operations, whatever their inputs. */
  readonly shape: string;
  private readonly tape: Tape;

  constructor(json: ProgramJson) {
    this.inputs = json.inputs;
    this.results = new Map(json.results.map((r) => [r.name, r]));
    this.place = new Map(json.inputs.map((input, i) => [input.name, i]));
    this.tape = new Tape(json);
    this.shape = json.nodes.map(([name, ...at]) => `${name}${at}`).join(" ");
  }

  input(name: string): Input | undefined {
    const at = this.place.get(name);
    return at === undefined ? undefined : this.inputs[at];
  }

  result(name: string): Result {
    const r = this.results.get(name);
    if (!r) throw new Error(`the program has no result '${name}'`);
    return r;
  }

  /** Values of all inputs: those published, but for the changes. */
  point(changes: Numbers = {}): number[] {
    const out = this.inputs.map((input) => input.value);
    for (const [name, value] of Object.entries(changes)) {
      const at = this.place.get(name);
      if (at !== undefined) out[at] = value;
    }
    return out;
  }

  /** {name: number in base units} of every result; NaN for what the program does not have. */
  answer(point: ArrayLike<number>): Numbers {
    const v = this.tape.run(point);
    const out: Numbers = {};
    for (const [name, r] of this.results) out[name] = v[r.node]!;
    return out;
  }
}
