// The core in a worker: words in, what the program prints out. It is told its module, zoo and files once.
"use strict";

let core, module_, zoo_, files_ = [];

/** Bytes of a text in base64 of a gzip, or of a buffer. */
async function unpacked(text) {
  if (typeof text !== "string") return new Uint8Array(text);
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Uint8Array(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}
async function begin(data) {
  const [wasm, zoo] = await Promise.all([unpacked(data.wasm), unpacked(data.zoo)]);
  const size = new DataView(zoo.buffer).getUint32(0, true), index = JSON.parse(new TextDecoder().decode(zoo.subarray(4, 4 + size)));
  let at = 4 + size;
  zoo_ = {};
  for (const [path, bytes] of index) { zoo_[path] = zoo.subarray(at, at + bytes); at += bytes; }
  module_ = await WebAssembly.compile(wasm);
  core = await Core.make(module_, zoo_);
}
let ready;
onmessage = async ({ data }) => {
  const began = performance.now();
  const answer = (more) => postMessage({ id: data.id, ms: performance.now() - began, ...more });
  try {
    if (data.begin) { ready = begin(data.begin); await ready; answer({ code: 0, text: "", notes: "" }); return; }
    await ready;
    if (data.file) {
      // Files that the zoo reads beside its own are read once, so the core begins anew with them.
      files_ = [...files_.filter(([name]) => name !== data.file), [data.file, data.bytes]];
      core = await Core.make(module_, zoo_, files_);
      answer({ code: 0, text: "", notes: "" });
      return;
    }
    answer(core.run(data.words));
  } catch (error) {
    core = await Core.make(module_, zoo_, files_);
    answer({ code: 1, text: "", notes: `mlsysim: error: the core stopped: ${error.message}\n` });
  }
};
