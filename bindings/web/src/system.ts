// The core with its files: a command line goes in, what the program would print comes out.

import { Files, type FileOfUser } from "./memory_files";
import { NOSYS, system } from "./wasi";

export interface Answer { code: number; text: string; notes: string }

/** What the module gives: room for words, a run of them, and where its answer lies. */
interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  words(size: number): number;
  run(): number;
  payload(): number; payload_size(): number;
  diagnostics(): number; diagnostics_size(): number;
}

export class Core {
  private exports!: Exports;

  /** @param said gets what the core prints while it works: its progress */
  static async make(module: WebAssembly.Module, zoo: Record<string, Uint8Array>, more: FileOfUser[], said: (text: string) => void): Promise<Core> {
    const core = new Core(), files = new Files();
    for (const [path, bytes] of Object.entries(zoo)) files.put(`/zoo/${path}`, bytes);
    for (const [name, bytes] of more) files.put(name, bytes);
    const calls = system(files, () => core.exports.memory, { MLSYSIM_ZOO_PATH: "/zoo", NO_COLOR: "1" }, said);
    // What the core imports and is not here is for places that are not reached: it says so, where one is.
    const wanted = WebAssembly.Module.imports(module).map(({ name }) => [name, calls[name] ?? (() => NOSYS)]);
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: Object.fromEntries(wanted) });
    core.exports = instance.exports as unknown as Exports;
    core.exports._initialize();
    return core;
  }
  /** Runs a command line without its first word. */
  run(words: string[]): Answer {
    const e = this.exports, given = new TextEncoder().encode(words.map((w) => `${w}\0`).join(""));
    const at = e.words(given.length);
    new Uint8Array(e.memory.buffer, at, given.length).set(given);
    const code = e.run();
    const text = (from: number, size: number) => new TextDecoder().decode(new Uint8Array(e.memory.buffer, from, size));
    return { code, text: text(e.payload(), e.payload_size()), notes: text(e.diagnostics(), e.diagnostics_size()) };
  }
}
