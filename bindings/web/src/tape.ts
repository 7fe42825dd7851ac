// Lists of operations as WebAssembly, two points at a time: the same operations in the same order as the library, so the same bits.

export type NodeJson = [string, ...number[]];
interface LoopJson { count: number; bound: number; initial: number[]; captured: number[]; body: TapeJson & { outputs: number[] } }
export interface TapeJson { constants: (number | string)[]; nodes: NodeJson[]; loops?: LoopJson[] }

const TWO = 2, SIZE = 8 * TWO, PAGE = 65536;  // numbers of a place, their bytes, and those of a page of memory
const MOST = 1000;                            // operations of a function: one of all of them takes long to compile

/** Instructions behind their operands. `pmin` is b < a ? b : a, and `pmax` a < b ? b : a. */
const of = (...bytes: number[]) => [0xfd, ...bytes];
const ADD = of(0xf0, 1), SUBTRACT = of(0xf1, 1), MULTIPLY = of(0xf2, 1), MAX = of(0xf7, 1), ROOT = of(0xef, 1), LESS = of(0x49), LESS_EQUAL = of(0x4b), NOT_EQUAL = of(0x48);
const PLAIN: Record<string, number[]> = { add: ADD, subtract: SUBTRACT, multiply: MULTIPLY, both: MULTIPLY, divide: of(0xf3, 1), min: of(0xf6, 1), max: MAX, either: MAX,
  negate: of(0xed, 1), ceil: of(0x74), floor: of(0x75), abs: of(0xec, 1), sqrt: ROOT };
/** Conditions, which are 1 where they hold. */
const CONDITIONS: Record<string, number[]> = { less: LESS, less_equal: LESS_EQUAL, equal: of(0x47), not_equal: NOT_EQUAL };
/** Functions that WebAssembly does not have, by the number of their arguments. */
const CALLS: Record<string, number> = { exp: 1, log: 1, log2: 1, pow: 2 };
const NAMES = Object.keys(CALLS), OTHERS = ["input", "constant", "loop", "select", "negation", "quadrature"];
const AND = of(0x4e), CHOOSE = of(0x52), NONE_HOLDS = [...of(0x53), 0x45], BOTH = of(0x14), SECOND = of(0x22, 1), END = 0x0b, CALL = 0x10;
const constant = (x: number) => [0x44, ...new Uint8Array(new Float64Array([x]).buffer), ...BOTH];
const ZERO = constant(0), ONE = constant(1), NEITHER = constant(NaN);
const LOCAL = [1, 1, 0x7b];  // a function has one place of its own
/** Addresses are constants behind these. */
const ADDRESS = [0x41, 0], LOAD = [...ADDRESS, ...of(0), 4], LOAD_ONE = [...ADDRESS, 0x2b, 3], STORE = [...of(0x0b), 4];

/** A list with the places of its values in memory; those of the inputs of a loop's body are where the loop has them. */
interface Level { nodes: NodeJson[]; reads: number[][]; at: number[]; loops: Loop[] }
interface Loop extends LoopJson { round: number; states: number[]; level: Level }

/** The operations that the wanted ones hang on. */
function needed({ reads }: Level, wanted: readonly number[]): Uint8Array {
  const out = new Uint8Array(reads.length);
  for (const i of wanted) out[i] = 1;
  for (let i = out.length - 1; i >= 0; i -= 1) if (out[i]) for (const at of reads[i]!) out[at] = 1;
  return out;
}

/** Code of a function, which is as long as its operations make it. */
class Code {
  readonly bodies: number[][] = [];
  private code = [...LOCAL];
  private count = 0;

  private word(n: number) { for (; n > 127; n >>>= 7) this.code.push((n & 127) | 128); this.code.push(n); }
  private load(place: number) { this.code.push(...LOAD); this.word(SIZE * place); }
  /** @param value puts it on the stack */
  private store(place: number, value: () => void) { this.code.push(...ADDRESS); value(); this.code.push(...STORE); this.word(SIZE * place); }

  /** Computes operations in their order. @param read those of which others read the values behind it @param ends whether functions may end between them */
  operations(level: Level, places: number[], read: Uint8Array, ends: boolean) {
    const { nodes, reads, at } = level, size = nodes.length, inside = new Uint8Array(size), uses = new Uint32Array(size), twice = new Uint8Array(size), begun = new Set<number>();
    for (const i of places) {
      inside[i] = 1;
      for (const from of reads[i]!) { uses[from]! += 1; if (nodes[i]![0] === "quadrature" || nodes[i]![0] === "loop" || nodes[i]![0] in CALLS) twice[from] = 1; }
    }
    // What one operation alone reads, and once, stays on the stack.
    const stored = (i: number) => !inside[i] || read[i] || twice[i] || uses[i] !== 1 || nodes[i]![0] === "loop";
    const value = (i: number) => { if (stored(i)) this.load(at[i]!); else one(i); };
    const one = (i: number) => {
      const [kind, a = 0, b = 0, c = 0] = nodes[i]!, { code } = this;
      this.count += 1;
      if (kind in PLAIN) {
        for (const from of reads[i]!) value(from);
        code.push(...PLAIN[kind]!);
      } else if (kind in CONDITIONS) {
        value(a); value(b);
        code.push(...CONDITIONS[kind]!, ...ONE, ...AND);
      } else if (kind === "select") {
        value(b); value(c); value(a);
        code.push(...ZERO, ...NOT_EQUAL, ...CHOOSE);
      } else if (kind === "negation") {
        code.push(...ONE);
        value(a);
        code.push(...SUBTRACT);
      } else if (kind === "quadrature") {
        for (const from of [a, b]) { this.load(at[from]!); this.load(at[from]!); code.push(...MULTIPLY); }
        code.push(...ADD, ...ROOT);
      } else if (kind === "loop") {
        this.load(level.loops[a]!.states[b]!);
      } else {
        for (let lane = 0; lane < TWO; lane += 1) {
          for (const from of reads[i]!) { code.push(...LOAD_ONE); this.word(SIZE * at[from]! + 8 * lane); }
          code.push(CALL, NAMES.indexOf(kind), ...(lane ? SECOND : BOTH));
        }
      }
    };
    for (const i of places) {
      if (!stored(i)) continue;
      const [kind, a = 0] = nodes[i]!;
      if (kind === "loop" && !begun.has(a)) { begun.add(a); this.loop(level, level.loops[a]!); }
      this.store(at[i]!, () => one(i));
      if (ends && this.count >= MOST) this.end();
    }
  }
  /** Rounds until both points have had theirs: the states of one that has stay as they are. */
  private loop({ at }: Level, { count, bound, initial, body, round, states, level }: Loop) {
    const { code } = this, counted = at[count]!, inner = needed(level, body.outputs), read = new Uint8Array(inner.length);
    const admitted = () => { this.load(counted); code.push(...constant(bound), ...LESS_EQUAL); };
    const going = () => { this.load(round); this.load(counted); code.push(...LESS); admitted(); code.push(...AND); };
    states.forEach((state, k) => this.store(state, () => this.load(at[initial[k]!]!)));
    this.store(round, () => code.push(...ZERO));
    code.push(0x02, 0x40, 0x03, 0x40);  // block, and in it a loop
    going();
    code.push(...NONE_HOLDS, 0x0d, 1);  // ends the block
    for (const i of body.outputs) read[i] = 1;
    this.operations(level, [...inner.keys()].filter((i) => inner[i] && level.reads[i]!.length), read, false);
    // All outputs are there before a state changes: each may read every state.
    for (const output of body.outputs) this.load(level.at[output]!);
    [...states.keys()].reverse().forEach((k) => this.keep(states[k]!, going));
    this.store(round, () => { this.load(round); code.push(...ONE, ...ADD); });
    code.push(0x0c, 0, END, END);
    for (const state of states) this.store(state, () => { this.load(state); code.push(...NEITHER); admitted(); code.push(...CHOOSE); });
  }
  /** Takes the value on the stack for a place, where a condition holds. */
  private keep(place: number, condition: () => void) {
    const { code } = this;
    code.push(0x21, 0);  // local 0
    this.store(place, () => { code.push(0x20, 0); this.load(place); condition(); code.push(...CHOOSE); });
  }
  end() {
    if (this.count) { this.code.push(END); this.bodies.push(this.code); }
    this.code = [...LOCAL];
    this.count = 0;
  }
}

/** Bytes that grow. */
class Bytes {
  private all = new Uint8Array(1024);
  private size = 0;
  put(bytes: ArrayLike<number>) {
    if (this.size + bytes.length > this.all.length) {
      const old = this.all;
      this.all = new Uint8Array(2 * (this.size + bytes.length));
      this.all.set(old);
    }
    this.all.set(bytes, this.size);
    this.size += bytes.length;
    return this;
  }
  /** A number in as few bytes as it takes (LEB128). */
  word(n: number): this { return n > 127 ? this.put([(n & 127) | 128]).word(n >>> 7) : this.put([n]); }
  /** Bytes behind their number. */
  sized(bytes: ArrayLike<number>) { return this.word(bytes.length).put(bytes); }
  read() { return this.all.subarray(0, this.size); }
}
/** Functions without arguments as one that calls them in their order. */
function linked(bodies: number[][], memory: WebAssembly.Memory): () => void {
  if (!bodies.length) return () => undefined;
  const text = (s: string) => new Bytes().sized(new TextEncoder().encode(s)).read(), m = text("m"), names = NAMES.map(text);
  const list = (items: ArrayLike<number>[]) => items.reduce((out: Bytes, item) => out.put(item), new Bytes().word(items.length)).read();
  const all = [...bodies, [...bodies.reduce((out, _, i) => out.put([CALL]).word(NAMES.length + i), new Bytes().word(0)).put([END]).read()]];
  const sections: [number, Uint8Array][] = [
    [1, list([[0x60, 0, 0], [0x60, 1, 0x7c, 1, 0x7c], [0x60, 2, 0x7c, 0x7c, 1, 0x7c]])],  // types: no, one and two numbers
    [2, list([[...m, ...m, 2, 0, 0], ...names.map((name, i) => [...m, ...name, 0, CALLS[NAMES[i]!]!])])],
    [3, list(all.map(() => [0]))],
    [7, list([[...m, 0, ...new Bytes().word(NAMES.length + bodies.length).read()]])],
    [10, list(all.map((body) => new Bytes().sized(body).read()))],
  ];
  const bytes = sections.reduce((out, [id, body]) => out.put([id]).sized(body), new Bytes().put([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])).read();
  const { exp, log, log2, pow } = Math;
  return new WebAssembly.Instance(new WebAssembly.Module(bytes), { m: { m: memory, exp, log, log2, pow } }).exports.m as () => void;
}

/** Functions that compute what hangs on no input that moves, and the rest. */
interface Plan { still: () => void; rest: () => void }

/** One list of operations, with its constants and loops. */
export class Tape {
  private readonly level: Level;
  private readonly inputs: [input: number, node: number][] = [];
  private readonly memory: WebAssembly.Memory;
  private readonly values: Float64Array;
  private readonly plans = new Map<string, Plan>();
  private places = 0;
  private constants: [place: number, value: number][] = [];

  constructor(json: TapeJson) {
    this.level = this.placed(json);
    json.nodes.forEach(([kind, a = 0], i) => { if (kind === "input") this.inputs.push([a, i]); });
    this.memory = new WebAssembly.Memory({ initial: Math.ceil((SIZE * this.places) / PAGE) });
    this.values = new Float64Array(this.memory.buffer);
    for (const [place, value] of this.constants) this.set(place, value);
  }
  /** @param given places of the inputs of a body */
  private placed({ nodes, constants, loops: own = [] }: TapeJson, given?: number[]): Level {
    const at = nodes.map(([kind, a = 0]) => {
      if (!(kind in PLAIN || kind in CONDITIONS || kind in CALLS || OTHERS.includes(kind))) throw new Error(`unknown operation '${kind}'`);
      if (kind === "input" && given) return given[a]!;
      this.places += 1;
      if (kind === "constant") this.constants.push([this.places - 1, Number(constants[a])]);
      return this.places - 1;
    });
    const loops = own.map((loop): Loop => {
      const round = this.places, states = loop.initial.map((_, k) => round + 1 + k);
      this.places += 1 + states.length;
      return { ...loop, round, states, level: this.placed(loop.body, [round, ...states, ...loop.captured.map((i) => at[i]!)]) };
    });
    const reads = nodes.map(([kind, ...operands]) => {
      if (kind === "input" || kind === "constant") return [];
      if (kind !== "loop") return operands;
      const { count, initial, captured } = loops[operands[0]!]!;
      return [count, ...initial, ...captured];
    });
    return { nodes, reads, at, loops };
  }
  private set(place: number, a: number, b = a) { this.values[TWO * place] = a; this.values[TWO * place + 1] = b; }

  /** The functions for points that differ in these inputs, of which these nodes are read. */
  private plan(moved: readonly number[], wanted: readonly number[]): Plan {
    const key = `${moved}|${wanted}`, made = this.plans.get(key);
    if (made) return made;
    const { reads } = this.level, size = reads.length, all = needed(this.level, wanted), moving = new Uint8Array(size), read = new Uint8Array(size);
    for (const i of wanted) read[i] = 1;
    for (const [input, node] of this.inputs) if (moved.includes(input)) moving[node] = 1;
    const still: number[] = [], rest: number[] = [];
    for (let i = 0; i < size; i += 1) {
      for (const from of reads[i]!) if (moving[from]) moving[i] = 1;
      if (!all[i] || !reads[i]!.length) continue;
      (moving[i] ? rest : still).push(i);
      if (moving[i]) for (const from of reads[i]!) if (!moving[from]) read[from] = 1;
    }
    const compiled = (places: number[]) => { const code = new Code(); code.operations(this.level, places, read, true); code.end(); return linked(code.bodies, this.memory); };
    const plan = { still: compiled(still), rest: compiled(rest) };
    this.plans.set(key, plan);
    return plan;
  }
  private take(point: ArrayLike<number>) { for (const [input, node] of this.inputs) this.set(node, point[input]!); }

  /** Values of nodes at one point. */
  one(point: ArrayLike<number>, wanted: readonly number[]): number[] {
    this.take(point);
    this.plan([], wanted).still();
    return wanted.map((node) => this.values[TWO * node]!);
  }
  /** Columns of nodes at many points: what hangs on no input of `moved` is computed once, and what no node of `wanted` hangs on not at all. */
  columns(point: ArrayLike<number>, moved: ReadonlyMap<number, Float64Array>, count: number, wanted: readonly number[]): Float64Array[] {
    const { still, rest } = this.plan([...moved.keys()], wanted), v = this.values, out = wanted.map(() => new Float64Array(count));
    const inputs = this.inputs.flatMap(([input, node]) => { const column = moved.get(input); return column ? [{ node, column }] : []; });
    this.take(point);
    still();
    for (let p = 0; p < count; p += TWO) {
      const last = Math.min(p + 1, count - 1);
      for (const { node, column } of inputs) this.set(node, column[p]!, column[last]!);
      rest();
      for (let k = 0; k < out.length; k += 1) { out[k]![last] = v[TWO * wanted[k]! + last - p]!; out[k]![p] = v[TWO * wanted[k]!]!; }
    }
    return out;
  }
}
