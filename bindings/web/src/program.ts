// Runs exported programs (docs/reference/exported-programs.md) on doubles: the same operations in the same order
// as the library, so the same bits.

export interface Input { name: string; label: string; unit: string; scale: number; meaning: string; low?: number; high?: number; above?: number; whole?: boolean; value: number }
export interface Result { name: string; label: string; unit: string; scale: number; meaning: string; node: number }
type NodeJson = [string, ...number[]];
interface LoopJson { count: number; bound: number; initial: number[]; captured: number[]; body: TapeJson & { outputs: number[] } }
interface TapeJson { constants: (number | string)[]; nodes: NodeJson[]; loops?: LoopJson[] }
export interface ProgramJson extends TapeJson { inputs: Input[]; results: Result[] }

/** One operation on `n` points: what it gives goes into `o`. */
type Kernel = (o: Float64Array, a: Float64Array, b: Float64Array, c: Float64Array, n: number) => void;
/** Loops of their own for what programs are made of: a shared one would call its operation point by point. */
const KERNELS: Record<string, Kernel> = {
  add(o, a, b, _, n) { for (let i = 0; i < n; i += 1) o[i] = a[i]! + b[i]!; },
  subtract(o, a, b, _, n) { for (let i = 0; i < n; i += 1) o[i] = a[i]! - b[i]!; },
  multiply(o, a, b, _, n) { for (let i = 0; i < n; i += 1) o[i] = a[i]! * b[i]!; },
  divide(o, a, b, _, n) { for (let i = 0; i < n; i += 1) o[i] = a[i]! / b[i]!; },
  min(o, a, b, _, n) { for (let i = 0; i < n; i += 1) o[i] = b[i]! < a[i]! ? b[i]! : a[i]!; },
  max(o, a, b, _, n) { for (let i = 0; i < n; i += 1) o[i] = a[i]! < b[i]! ? b[i]! : a[i]!; },
  select(o, a, b, c, n) { for (let i = 0; i < n; i += 1) o[i] = a[i]! !== 0 ? b[i]! : c[i]!; },
  less(o, a, b, _, n) { for (let i = 0; i < n; i += 1) o[i] = a[i]! < b[i]! ? 1 : 0; },
  less_equal(o, a, b, _, n) { for (let i = 0; i < n; i += 1) o[i] = a[i]! <= b[i]! ? 1 : 0; },
  equal(o, a, b, _, n) { for (let i = 0; i < n; i += 1) o[i] = a[i]! === b[i]! ? 1 : 0; },
  not_equal(o, a, b, _, n) { for (let i = 0; i < n; i += 1) o[i] = a[i]! !== b[i]! ? 1 : 0; },
  negation(o, a, _, __, n) { for (let i = 0; i < n; i += 1) o[i] = 1 - a[i]!; },
  negate(o, a, _, __, n) { for (let i = 0; i < n; i += 1) o[i] = -a[i]!; },
  ceil(o, a, _, __, n) { for (let i = 0; i < n; i += 1) o[i] = Math.ceil(a[i]!); },
  floor(o, a, _, __, n) { for (let i = 0; i < n; i += 1) o[i] = Math.floor(a[i]!); },
  abs(o, a, _, __, n) { for (let i = 0; i < n; i += 1) o[i] = Math.abs(a[i]!); },
  sqrt(o, a, _, __, n) { for (let i = 0; i < n; i += 1) o[i] = Math.sqrt(a[i]!); },
  quadrature(o, a, b, _, n) { for (let i = 0; i < n; i += 1) o[i] = Math.sqrt(a[i]! * a[i]! + b[i]! * b[i]!); },
  pow(o, a, b, _, n) { for (let i = 0; i < n; i += 1) o[i] = Math.pow(a[i]!, b[i]!); },
  exp(o, a, _, __, n) { for (let i = 0; i < n; i += 1) o[i] = Math.exp(a[i]!); },
  log(o, a, _, __, n) { for (let i = 0; i < n; i += 1) o[i] = Math.log(a[i]!); },
  log2(o, a, _, __, n) { for (let i = 0; i < n; i += 1) o[i] = Math.log2(a[i]!); },
};
KERNELS.both = KERNELS.multiply!;
KERNELS.either = KERNELS.max!;

const NOWHERE = 0;  // for operands that an operation does not have
const NONE: ReadonlyMap<number, Float64Array> = new Map();
const BLOCK = 64;   // points that pass through all operations together

interface Step { run: Kernel | undefined; kind: string; a: number; b: number; c: number }
interface Loop extends LoopJson { tape: Tape }

/** One list of operations, with its constants and loops. */
class Tape {
  private readonly steps: Step[];
  private readonly loops: Loop[];
  private readonly constants: number[];
  private readonly places: number[];
  /** What each operation gave of each point of a block. */
  readonly values: Float64Array[];

  constructor(json: TapeJson) {
    this.constants = json.constants.map(Number);
    this.steps = json.nodes.map(([kind, a = NOWHERE, b = NOWHERE, c = NOWHERE]) => {
      const run = KERNELS[kind];
      if (!run && kind !== "input" && kind !== "constant" && kind !== "loop") throw new Error(`unknown operation '${kind}'`);
      return { run, kind, a, b, c };
    });
    this.loops = (json.loops ?? []).map((loop) => ({ ...loop, tape: new Tape(loop.body) }));
    this.places = this.steps.map((_, i) => i);
    const all = new Float64Array(BLOCK * this.steps.length);
    this.values = this.steps.map((_, i) => all.subarray(BLOCK * i, BLOCK * (i + 1)));
  }

  /** Nodes that an operation reads. */
  private operands({ run, kind, a, b, c }: Step): number[] {
    if (kind !== "loop") return run ? [a, b, c] : [];
    const { count, initial, captured } = this.loops[a]!;
    return [count, ...initial, ...captured];
  }
  /** Operations that these nodes hang on. */
  private behind(nodes: Iterable<number>): Uint8Array {
    const out = new Uint8Array(this.steps.length);
    for (const i of nodes) out[i] = 1;
    for (let i = out.length - 1; i >= 0; i -= 1) if (out[i]) for (const at of this.operands(this.steps[i]!)) out[at] = 1;
    return out;
  }
  /** Operations that differ between points whose inputs differ at these places. */
  private moving(inputs: ReadonlySet<number>): Uint8Array {
    const out = new Uint8Array(this.steps.length);
    this.steps.forEach((step, i) => { if (step.kind === "input" ? inputs.has(step.a) : this.operands(step).some((at) => out[at])) out[i] = 1; });
    return out;
  }
  /** One point. */
  run(point: ArrayLike<number>): this {
    this.pass(this.places, point, NONE, 0, 1);
    return this;
  }
  /** Many points, block after block; what hangs on no input of `moved` is computed once, and what no node of `wanted` hangs on not at all. `each` reads the values of `size` points from the first on. */
  blocks(point: ArrayLike<number>, moved: ReadonlyMap<number, Float64Array>, count: number, wanted: number[], each: (first: number, size: number) => void) {
    const moving = this.moving(new Set(moved.keys())), needed = this.behind(wanted), all = this.places.filter((i) => needed[i]);
    const still = all.filter((i) => !moving[i]), rest = all.filter((i) => moving[i]);
    this.pass(still, point, moved, 0, 1);
    for (const i of still) this.values[i]!.fill(this.values[i]![0]!);
    for (let first = 0; first < count; first += BLOCK) {
      const size = Math.min(BLOCK, count - first);
      this.pass(rest, point, moved, first, size);
      each(first, size);
    }
  }
  private pass(places: number[], point: ArrayLike<number>, moved: ReadonlyMap<number, Float64Array>, first: number, size: number) {
    const v = this.values, states = new Map<number, Float64Array[]>();
    for (const i of places) {
      const { run, kind, a, b, c } = this.steps[i]!, o = v[i]!;
      if (run) run(o, v[a]!, v[b]!, v[c]!, size);
      else if (kind === "constant") o.fill(this.constants[a]!, 0, size);
      else if (kind === "input") {
        const column = moved.get(a);
        if (column) o.set(column.subarray(first, first + size));
        else o.fill(point[a]!, 0, size);
      } else {
        if (!states.has(a)) states.set(a, this.states(this.loops[a]!, size));
        o.set(states.get(a)![b]!);
      }
    }
  }
  /** The last states of a loop at each point: points have rounds of their own. */
  private states(loop: Loop, size: number): Float64Array[] {
    const out = loop.initial.map(() => new Float64Array(size));
    for (let p = 0; p < size; p += 1) {
      let now = loop.initial.map((n) => this.values[n]![p]!);
      const rounds = this.values[loop.count]![p]!, captured = loop.captured.map((n) => this.values[n]![p]!);
      if (!(rounds <= loop.bound)) now = now.map(() => NaN);
      else for (let round = 0; round < rounds; round += 1) {
        const body = loop.tape.run([round, ...now, ...captured]).values;
        now = loop.body.outputs.map((n) => body[n]![0]!);
      }
      now.forEach((value, k) => { out[k]![p] = value; });
    }
    return out;
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
    const v = this.tape.run(point).values;
    const out: Numbers = {};
    for (const [name, r] of this.results) out[name] = v[r.node]![0]!;
    return out;
  }
  /** Results at many points: bit for bit those of `answer` at each. @param moved inputs as columns, all equally long; further names move nothing */
  columns(point: ArrayLike<number>, moved: Record<string, Float64Array>, results: string[]): Record<string, Float64Array> {
    const given = new Map(Object.entries(moved).flatMap(([name, column]): [number, Float64Array][] => { const at = this.place.get(name); return at === undefined ? [] : [[at, column]]; }));
    const count = Object.values(moved)[0]?.length ?? 0;
    const out = Object.fromEntries(results.map((name) => [name, new Float64Array(count).fill(NaN)]));
    const known = results.filter((name) => this.results.has(name)).map((name) => ({ column: out[name]!, node: this.result(name).node }));
    this.tape.blocks(point, given, count, known.map((each) => each.node), (first, size) => {
      for (const { column, node } of known) column.set(this.tape.values[node]!.subarray(0, size), first);
    });
    return out;
  }
}
