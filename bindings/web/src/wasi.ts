// The calls of WASI preview 1 that the core makes. Each returns an error number; answers go to places in the core's memory.

import { CHARACTER, DIRECTORY, type Files, type Open, plain, REGULAR, ROOT } from "./memory_files";

const SUCCESS = 0, BADF = 8, INVAL = 28, ISDIR = 31, NOENT = 44, NOTDIR = 54, ROFS = 69;
/** What is not there says so where it is called. */
export const NOSYS = 52;
const SEEK = 4n, TELL = 32n, ALL = 0x1fffffffn;  // rights
const INPUT = 0, OUTPUT = 1, ERRORS = 2;         // descriptors that are no files

type Calls = Record<string, (...given: never[]) => number>;

export class Exited extends Error {
  constructor(readonly code: number) { super(`the core ended with ${code}`); }
}

/** The core's memory, which grows: views of it are made anew. */
class Memory {
  constructor(private readonly now: () => WebAssembly.Memory) {}
  view() { return new DataView(this.now().buffer); }
  bytes(at: number, size: number) { return new Uint8Array(this.now().buffer, at, size); }
  text(at: number, size: number) { return new TextDecoder().decode(this.bytes(at, size)); }
  number(at: number, value: number) { this.view().setUint32(at, value, true); return SUCCESS; }
  long(at: number, value: number | bigint) { this.view().setBigUint64(at, BigInt(value), true); return SUCCESS; }
  /** 64 bytes of a filestat. */
  stat(to: number, kind: number, size: number) {
    this.bytes(to, 64).fill(0);
    this.long(to + 8, 1);
    this.view().setUint8(to + 16, kind);
    this.long(to + 24, 1);
    return this.long(to + 32, size);
  }
  /** What `each` moves to or from the pieces that a list names, in all. */
  pieces(list: number, count: number, each: (at: number, size: number) => number) {
    const v = this.view();
    let sum = 0;
    for (let i = 0; i < count; i += 1) sum += each(v.getUint32(list + 8 * i, true), v.getUint32(list + 8 * i + 4, true));
    return sum;
  }
}

/** Environment, clock, chance and the end. */
function processCalls(m: Memory, environment: Record<string, string>): Calls {
  const texts = Object.entries(environment).map(([k, v]) => new TextEncoder().encode(`${k}=${v}\0`));
  return {
    args_sizes_get: (count: number, size: number) => m.number(count, 0) || m.number(size, 0),
    args_get: () => SUCCESS,
    environ_sizes_get: (count: number, size: number) => m.number(count, texts.length) || m.number(size, texts.reduce((sum, t) => sum + t.length, 0)),
    environ_get: (places: number, buffer: number) => {
      let at = buffer;
      texts.forEach((t, i) => { m.number(places + 4 * i, at); m.bytes(at, t.length).set(t); at += t.length; });
      return SUCCESS;
    },
    clock_res_get: (_: number, to: number) => m.long(to, 1000000),
    clock_time_get: (_clock: number, _precision: bigint, to: number) => m.long(to, BigInt(Date.now()) * 1000000n),
    random_get: (to: number, size: number) => { crypto.getRandomValues(m.bytes(to, size)); return SUCCESS; },
    sched_yield: () => SUCCESS,
    proc_exit: (code: number): number => { throw new Exited(code); },
  };
}

/** What a descriptor is: the folder above all, files and folders that were opened, and the three streams. */
function descriptorCalls(m: Memory, files: Files): Calls {
  return {
    fd_close: (fd: number) => (files.close(fd) ? SUCCESS : BADF),
    fd_fdstat_get: (fd: number, to: number) => {
      const file = files.at(fd);
      if (!file && fd > ERRORS) return BADF;
      m.bytes(to, 24).fill(0);
      m.view().setUint8(to, file ? (file.folder ? DIRECTORY : REGULAR) : CHARACTER);
      // A stream that cannot be wound is a terminal: there the core tells its progress.
      return m.long(to + 8, fd === ERRORS ? ALL & ~(SEEK | TELL) : ALL);
    },
    fd_fdstat_set_flags: () => SUCCESS,
    fd_filestat_get: (fd: number, to: number) => {
      const file = files.at(fd);
      if (!file) return fd <= ERRORS ? m.stat(to, CHARACTER, 0) : BADF;
      return file.folder ? m.stat(to, DIRECTORY, 0) : m.stat(to, REGULAR, files.of(file.path).length);
    },
    fd_filestat_set_size: () => ROFS,
    fd_prestat_get: (fd: number, to: number) => (fd === ROOT ? m.number(to, 0) || m.number(to + 4, 1) : BADF),
    fd_prestat_dir_name: (fd: number, to: number, size: number) => {
      if (fd !== ROOT || size < 1) return INVAL;
      m.bytes(to, 1)[0] = "/".charCodeAt(0);
      return SUCCESS;
    },
  };
}

/** Reading and writing. @param said gets what the core prints, and whether it belongs to its answer or tells of it */
function streamCalls(m: Memory, files: Files, said: (text: string) => void): Calls {
  /** @return where the reading ended */
  const read = (file: Open, from: number, list: number, count: number, done: number) => {
    const data = files.of(file.path);
    let at = from;
    m.number(done, m.pieces(list, count, (to, size) => {
      const part = data.subarray(at, at + size);
      m.bytes(to, part.length).set(part);
      at += part.length;
      return part.length;
    }));
    return at;
  };
  return {
    fd_read: (fd: number, list: number, count: number, done: number) => {
      const file = files.at(fd);
      if (!file) return m.number(done, 0) || (fd === INPUT ? SUCCESS : BADF);
      if (file.folder) return ISDIR;
      file.at = read(file, file.at, list, count, done);
      return SUCCESS;
    },
    fd_pread: (fd: number, list: number, count: number, offset: bigint, done: number) => {
      const file = files.at(fd);
      if (!file || file.folder) return BADF;
      read(file, Number(offset), list, count, done);
      return SUCCESS;
    },
    fd_seek: (fd: number, offset: bigint, whence: number, to: number) => {
      const file = files.at(fd), from = file && [0, file.at, files.of(file.path).length][whence];
      if (!file || file.folder) return BADF;
      if (from === undefined) return INVAL;
      file.at = from + Number(offset);
      return m.long(to, file.at);
    },
    fd_tell: (fd: number, to: number) => {
      const file = files.at(fd);
      return file ? m.long(to, file.at) : BADF;
    },
    fd_sync: () => SUCCESS,
    fd_write: (fd: number, list: number, count: number, done: number) => {
      if (fd !== OUTPUT && fd !== ERRORS) return BADF;
      return m.number(done, m.pieces(list, count, (at, size) => { said(m.text(at, size)); return size; }));
    },
    poll_oneoff: () => NOSYS,
  };
}

/** Folders and paths. */
function pathCalls(m: Memory, files: Files): Calls {
  /** The plain path of a call, and what is there; undefined without an open folder to begin at. */
  const named = (fd: number, path: number, size: number) => {
    const base = files.at(fd);
    if (!base) return undefined;
    const name = plain(`${base.path}/${m.text(path, size)}`);
    return { name, found: files.look(name) };
  };
  return {
    fd_readdir: (fd: number, to: number, size: number, cookie: bigint, used: number) => {
      const file = files.at(fd);
      if (!file || !file.folder) return NOTDIR;
      const names = files.names(file.path) ?? [];
      let at = 0;
      for (let i = Number(cookie); i < names.length && at < size; i += 1) {
        const name = new TextEncoder().encode(names[i]), entry = new Uint8Array(24 + name.length), v = new DataView(entry.buffer);
        v.setBigUint64(0, BigInt(i + 1), true);
        v.setBigUint64(8, BigInt(i + 2), true);
        v.setUint32(16, name.length, true);
        v.setUint8(20, files.look(plain(`${file.path}/${names[i]}`))!.kind);
        entry.set(name, 24);
        const part = entry.subarray(0, size - at);
        m.bytes(to + at, part.length).set(part);
        at += part.length;
      }
      return m.number(used, at);
    },
    path_open: (fd: number, _look: number, path: number, size: number, flags: number, _rights: bigint, _inherited: bigint, _how: number, to: number) => {
      const at = named(fd, path, size);
      if (!at) return BADF;
      if (!at.found) return flags & 1 ? ROFS : NOENT;
      if (flags & 2 && at.found.kind !== DIRECTORY) return NOTDIR;
      return m.number(to, files.take(at.name, at.found.kind === DIRECTORY));
    },
    path_filestat_get: (fd: number, _look: number, path: number, size: number, to: number) => {
      const at = named(fd, path, size);
      return !at ? BADF : at.found ? m.stat(to, at.found.kind, at.found.size) : NOENT;
    },
    path_readlink: (fd: number, path: number, size: number) => (named(fd, path, size)?.found ? INVAL : NOENT),
  };
}

/** The functions that the module imports. @param memory its memory, once it is there @param said gets what it prints */
export function system(files: Files, memory: () => WebAssembly.Memory, environment: Record<string, string>, said: (text: string) => void): Calls {
  const m = new Memory(memory);
  return { ...processCalls(m, environment), ...descriptorCalls(m, files), ...streamCalls(m, files, said), ...pathCalls(m, files) };
}
