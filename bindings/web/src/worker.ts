// The core in a worker: words in, what the program prints out. It is told its module, zoo and files once.

import type { FileOfUser } from "./memory_files";
import { type Answer, Core } from "./system";

export type Begin = { wasm: ArrayBuffer | string; zoo: ArrayBuffer | string };
export type Message = { begin: Begin } | { file: string; bytes: Uint8Array } | { words: string[] };
export type Reply = Answer & { id: number; ms: number };
/** What the core prints while it works. */
export interface Told { id: number; told: string }
declare const self: { onmessage: (event: MessageEvent<Message & { id: number }>) => void; postMessage: (reply: Reply | Told) => void };

const NOTHING: Answer = { code: 0, text: "", notes: "" };
let compiled: WebAssembly.Module, zoo: Record<string, Uint8Array> = {}, files: FileOfUser[] = [], core: Core, ready: Promise<void>, asked = 0;
const make = () => Core.make(compiled, zoo, files, (told) => self.postMessage({ id: asked, told }));

/** Bytes of a text in base64 of a gzip, or of a buffer. */
async function unpacked(data: ArrayBuffer | string): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof data !== "string") return new Uint8Array(data);
  const packed = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  return new Uint8Array(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}
async function begin(data: Begin) {
  const [wasm, packed] = await Promise.all([unpacked(data.wasm), unpacked(data.zoo)]);
  const size = new DataView(packed.buffer).getUint32(0, true);
  const index = JSON.parse(new TextDecoder().decode(packed.subarray(4, 4 + size))) as [string, number][];
  let at = 4 + size;
  zoo = {};
  for (const [path, bytes] of index) { zoo[path] = packed.subarray(at, at + bytes); at += bytes; }
  compiled = await WebAssembly.compile(wasm);
  core = await make();
}
async function answered(data: Message): Promise<Answer> {
  if ("begin" in data) { ready = begin(data.begin); await ready; return NOTHING; }
  await ready;
  if ("words" in data) return core.run(data.words);
  // Files that the zoo reads beside its own are read once, so the core begins anew with them.
  files = [...files.filter(([name]) => name !== data.file), [data.file, data.bytes]];
  core = await make();
  return NOTHING;
}
self.onmessage = async ({ data }) => {
  const began = performance.now();
  asked = data.id;
  let answer: Answer;
  try {
    answer = await answered(data);
  } catch (error) {
    core = await make();
    answer = { code: 1, text: "", notes: `mlsysim: error: the core stopped: ${error instanceof Error ? error.message : error}\n` };
  }
  self.postMessage({ id: data.id, ms: performance.now() - began, ...answer });
};
