// Runs exported programs (docs/reference/exported-programs.md) on doubles, with inputs and results by name.

import { Tape, type TapeJson } from "./tape";

export interface Input { name: string; label: string; unit: string; scale: number; meaning: string; low?: number; high?: number; above?: number; whole?: boolean; value: number }
export interface Result { name: string; label: string; unit: string; scale: number; meaning: string; node: number }
export interface ProgramJson extends TapeJson { inputs: Input[]; results: Result[] }

export type Numbers = Record<string, number>;

/** A program with its inputs and results by name; all numbers in base units. */
export class Program {
  readonly inputs: Input[];
  readonly results: Map<string, Result>;
  readonly place: Map<string, number>;
  private readonly tape: Tape;
  private readonly nodes: number[];
  private words: string | undefined;

  constructor(private readonly json: ProgramJson) {
    this.inputs = json.inputs;
    this.results = new Map(json.results.map((r) => [r.name, r]));
    this.place = new Map(json.inputs.map((input, i) => [input.name, i]));
    this.tape = new Tape(json);
    this.nodes = json.results.map((r) => r.node);
  }
  /** Equal for programs that do the same operations, whatever their inputs. */
  get shape(): string { return (this.words ??= this.json.nodes.join(" ")); }

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
    const values = this.tape.one(point, this.nodes), out: Numbers = {};
    [...this.results.keys()].forEach((name, i) => { out[name] = values[i]!; });
    return out;
  }
  /** Results at many points: bit for bit those of `answer` at each. @param moved inputs as columns, all equally long; further names move nothing */
  columns(point: ArrayLike<number>, moved: Record<string, Float64Array>, results: string[]): Record<string, Float64Array> {
    const given = new Map(Object.entries(moved).flatMap(([name, column]): [number, Float64Array][] => { const at = this.place.get(name); return at === undefined ? [] : [[at, column]]; }));
    const count = Object.values(moved)[0]?.length ?? 0;
    const known = results.filter((name) => this.results.has(name));
    const columns = this.tape.columns(point, given, count, known.map((name) => this.result(name).node));
    return Object.fromEntries(results.map((name) => [name, columns[known.indexOf(name)] ?? new Float64Array(count).fill(NaN)]));
  }
}
