// The system under the core: the calls of WASI preview 1 that it makes, over files in memory.

const SUCCESS = 0, BADF = 8, INVAL = 28, ISDIR = 31, NOENT = 44, NOSYS = 52, NOTDIR = 54, ROFS = 69;
const DIRECTORY = 3, REGULAR = 4, CHARACTER = 2, ROOT = 3;

export type FileOfUser = [name: string, bytes: Uint8Array];
export interface Answer { code: number; text: string; notes: string }

/** Files by their path without the first slash; folders are what paths have before a slash. */
class Files {
  readonly bytes = new Map<string, Uint8Array>();
  put(path: string, bytes: Uint8Array) { this.bytes.set(path.replace(/^\/+/, ""), bytes); }
  size(path: string) { return this.bytes.get(path)?.length ?? 0; }
  /** Names in a folder, or undefined where there is none. */
  names(folder: string): string[] | undefined {
    const start = folder === "" ? "" : `${folder}/`;
    const found = new Set<string>();
    for (const path of this.bytes.keys()) if (path.startsWith(start)) found.add(path.slice(start.length).split("/")[0]!);
    return found.size > 0 || folder === "" ? [...found].sort() : undefined;
  }
}

class Exited extends Error {
  constructor(readonly code: number) { super(`the core ended with ${code}`); }
}

interface Open { path: string; folder: boolean; at: number }
type Calls = Record<string, (...given: never[]) => number>;
const plain = (path: string) => path.split("/").filter((part) => part !== "" && part !== ".").join("/");

/** The functions that the module imports. @param memory its memory, once it is there; said gets what it prints */
function system(files: Files, memory: () => WebAssembly.Memory, environment: Record<string, string>, said: (text: string) => void): Calls {
  const open = new Map<number, Open>([[ROOT, { path: "", folder: true, at: 0 }]]);
  const view = () => new DataView(memory().buffer);
  const bytes = (at: number, size: number) => new Uint8Array(memory().buffer, at, size);
  const text = (at: number, size: number) => new TextDecoder().decode(bytes(at, size));
  const texts = Object.entries(environment).map(([k, v]) => new TextEncoder().encode(`${k}=${v}\0`));
  /** 64 bytes of a filestat. */
  const stat = (to: number, kind: number, size: number) => {
    const v = view();
    bytes(to, 64).fill(0);
    v.setBigUint64(to + 8, 1n, true);
    v.setUint8(to + 16, kind);
    v.setBigUint64(to + 24, 1n, true);
    v.setBigUint64(to + 32, BigInt(size), true);
    return SUCCESS;
  };
  const look = (path: string) => (files.bytes.has(path) ? { kind: REGULAR, size: files.size(path) } : files.names(path) ? { kind: DIRECTORY, size: 0 } : undefined);
  /** Moves bytes between the file and the pieces that a call names. */
  const pieces = (list: number, count: number, each: (at: number, size: number) => number) => {
    const v = view();
    let sum = 0;
    for (let i = 0; i < count; i += 1) sum += each(v.getUint32(list + 8 * i, true), v.getUint32(list + 8 * i + 4, true));
    return sum;
  };
  const read = (file: Open, from: number, list: number, count: number, done: number) => {
    const data = files.bytes.get(file.path)!;
    let at = from;
    view().setUint32(done, pieces(list, count, (to, size) => {
      const part = data.subarray(at, at + size);
      bytes(to, part.length).set(part);
      at += part.length;
      return part.length;
    }), true);
    return at;
  };
  const calls = {
    args_sizes_get: (count: number, size: number) => { view().setUint32(count, 0, true); view().setUint32(size, 0, true); return SUCCESS; },
    args_get: () => SUCCESS,
    environ_sizes_get: (count: number, size: number) => {
      view().setUint32(count, texts.length, true);
      view().setUint32(size, texts.reduce((sum, t) => sum + t.length, 0), true);
      return SUCCESS;
    },
    environ_get: (places: number, buffer: number) => {
      let at = buffer;
      texts.forEach((t, i) => { view().setUint32(places + 4 * i, at, true); bytes(at, t.length).set(t); at += t.length; });
      return SUCCESS;
    },
    clock_res_get: (_: number, to: number) => { view().setBigUint64(to, 1000000n, true); return SUCCESS; },
    clock_time_get: (_clock: number, _precision: bigint, to: number) => { view().setBigUint64(to, BigInt(Date.now()) * 1000000n, true); return SUCCESS; },
    random_get: (to: number, size: number) => { crypto.getRandomValues(bytes(to, size)); return SUCCESS; },
    sched_yield: () => SUCCESS,
    poll_oneoff: () => NOSYS,
    proc_exit: (code: number): number => { throw new Exited(code); },
    fd_close: (fd: number) => (open.delete(fd) ? SUCCESS : BADF),
    fd_fdstat_get: (fd: number, to: number) => {
      const file = open.get(fd);
      if (!file && fd > 2) return BADF;
      bytes(to, 24).fill(0);
      view().setUint8(to, file ? (file.folder ? DIRECTORY : REGULAR) : CHARACTER);
      view().setBigUint64(to + 8, 0x1fffffffn, true);
      view().setBigUint64(to + 16, 0x1fffffffn, true);
      return SUCCESS;
    },
    fd_fdstat_set_flags: () => SUCCESS,
    fd_filestat_get: (fd: number, to: number) => {
      const file = open.get(fd);
      if (!file) return fd <= 2 ? stat(to, CHARACTER, 0) : BADF;
      return file.folder ? stat(to, DIRECTORY, 0) : stat(to, REGULAR, files.size(file.path));
    },
    fd_filestat_set_size: () => ROFS,
    fd_prestat_get: (fd: number, to: number) => {
      if (fd !== ROOT) return BADF;
      view().setUint32(to, 0, true);
      view().setUint32(to + 4, 1, true);
      return SUCCESS;
    },
    fd_prestat_dir_name: (fd: number, to: number, size: number) => {
      if (fd !== ROOT || size < 1) return INVAL;
      bytes(to, 1)[0] = 0x2f;
      return SUCCESS;
    },
    fd_read: (fd: number, list: number, count: number, done: number) => {
      const file = open.get(fd);
      if (!file) { view().setUint32(done, 0, true); return fd === 0 ? SUCCESS : BADF; }
      if (file.folder) return ISDIR;
      file.at = read(file, file.at, list, count, done);
      return SUCCESS;
    },
    fd_pread: (fd: number, list: number, count: number, offset: bigint, done: number) => {
      const file = open.get(fd);
      if (!file || file.folder) return BADF;
      read(file, Number(offset), list, count, done);
      return SUCCESS;
    },
    fd_readdir: (fd: number, to: number, size: number, cookie: bigint, used: number) => {
      const file = open.get(fd);
      if (!file || !file.folder) return NOTDIR;
      const names = files.names(file.path) ?? [];
      let at = 0;
      for (let i = Number(cookie); i < names.length && at < size; i += 1) {
        const name = new TextEncoder().encode(names[i]), entry = new Uint8Array(24 + name.length), v = new DataView(entry.buffer);
        v.setBigUint64(0, BigInt(i + 1), true);
        v.setBigUint64(8, BigInt(i + 2), true);
        v.setUint32(16, name.length, true);
        v.setUint8(20, look(plain(`${file.path}/${names[i]}`))!.kind);
        entry.set(name, 24);
        const part = entry.subarray(0, size - at);
        bytes(to + at, part.length).set(part);
        at += part.length;
      }
      view().setUint32(used, at, true);
      return SUCCESS;
    },
    fd_seek: (fd: number, offset: bigint, whence: number, to: number) => {
      const file = open.get(fd), from = file && [0, file.at, files.size(file.path)][whence];
      if (!file || file.folder) return BADF;
      if (from === undefined) return INVAL;
      file.at = from + Number(offset);
      view().setBigUint64(to, BigInt(file.at), true);
      return SUCCESS;
    },
    fd_tell: (fd: number, to: number) => {
      const file = open.get(fd);
      if (!file) return BADF;
      view().setBigUint64(to, BigInt(file.at), true);
      return SUCCESS;
    },
    fd_sync: () => SUCCESS,
    fd_write: (fd: number, list: number, count: number, done: number) => {
      if (fd !== 1 && fd !== 2) return BADF;
      view().setUint32(done, pieces(list, count, (at, size) => { said(text(at, size)); return size; }), true);
      return SUCCESS;
    },
    path_open: (fd: number, _look: number, path: number, size: number, flags: number, _rights: bigint, _inherited: bigint, _how: number, to: number) => {
      const base = open.get(fd);
      if (!base) return BADF;
      const name = plain(`${base.path}/${text(path, size)}`), found = look(name);
      if (!found) return flags & 1 ? ROFS : NOENT;
      if (flags & 2 && found.kind !== DIRECTORY) return NOTDIR;
      let next = ROOT + 1;
      while (open.has(next)) next += 1;
      open.set(next, { path: name, folder: found.kind === DIRECTORY, at: 0 });
      view().setUint32(to, next, true);
      return SUCCESS;
    },
    path_filestat_get: (fd: number, _look: number, path: number, size: number, to: number) => {
      const base = open.get(fd);
      if (!base) return BADF;
      const found = look(plain(`${base.path}/${text(path, size)}`));
      return found ? stat(to, found.kind, found.size) : NOENT;
    },
    path_readlink: (fd: number, path: number, size: number) => {
      const base = open.get(fd);
      return base && look(plain(`${base.path}/${text(path, size)}`)) ? INVAL : NOENT;
    },
  };
  return calls;
}

/** What the module gives: room for words, a run of them, and where its answer lies. */
interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  words(size: number): number;
  run(): number;
  payload(): number; payload_size(): number;
  diagnostics(): number; diagnostics_size(): number;
}

/** The core with its files. */
export class Core {
  private exports!: Exports;

  static async make(module: WebAssembly.Module, zoo: Record<string, Uint8Array>, more: FileOfUser[] = []): Promise<Core> {
    const core = new Core(), files = new Files();
    for (const [path, bytes] of Object.entries(zoo)) files.put(`/zoo/${path}`, bytes);
    for (const [name, bytes] of more) files.put(name, bytes);
    const calls = system(files, () => core.exports.memory, { MLSYSIM_ZOO_PATH: "/zoo", NO_COLOR: "1" }, () => undefined);
    // What the core imports and is not here is for places that are not reached: it says so, where one is.
    const wanted = WebAssembly.Module.imports(module).map(({ name }) => [name, calls[name] ?? (() => NOSYS)]);
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: Object.fromEntries(wanted) });
    core.exports = instance.exports as unknown as Exports;
    core.exports._initialize();
    return core;
  }
  /** Runs a command line without its first word. */
  run(words: string[]): Answer {
    const e = this.exports, given = new TextEncoder().encode(["mlsysim", ...words].map((w) => `${w}\0`).join(""));
    const at = e.words(given.length);
    new Uint8Array(e.memory.buffer, at, given.length).set(given);
    const code = e.run();
    const text = (from: number, size: number) => new TextDecoder().decode(new Uint8Array(e.memory.buffer, from, size));
    return { code, text: text(e.payload(), e.payload_size()), notes: text(e.diagnostics(), e.diagnostics_size()) };
  }
}
