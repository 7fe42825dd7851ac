// Files in memory, and which of them are open.

export const DIRECTORY = 3, REGULAR = 4, CHARACTER = 2;  // kinds of WASI's filestat
export const ROOT = 3;                                   // descriptor of the folder above all

export type FileOfUser = [name: string, bytes: Uint8Array];
export interface Open { path: string; folder: boolean; at: number }
interface Found { kind: number; size: number }

/** A path without what says nothing: no slash before it, none doubled, no ".". */
export const plain = (path: string) => path.split("/").filter((part) => part !== "" && part !== ".").join("/");

/** Files by their plain path; folders are what paths have before a slash. */
export class Files {
  private readonly bytes = new Map<string, Uint8Array>();
  private readonly open = new Map<number, Open>([[ROOT, { path: "", folder: true, at: 0 }]]);

  put(path: string, bytes: Uint8Array) { this.bytes.set(plain(path), bytes); }
  of(path: string) { return this.bytes.get(path) ?? new Uint8Array(); }
  /** Names in a folder, or undefined where there is none. */
  names(folder: string): string[] | undefined {
    const start = folder === "" ? "" : `${folder}/`;
    const found = new Set<string>();
    for (const path of this.bytes.keys()) if (path.startsWith(start)) found.add(path.slice(start.length).split("/")[0]!);
    return found.size > 0 || folder === "" ? [...found].sort() : undefined;
  }
  look(path: string): Found | undefined {
    const bytes = this.bytes.get(path);
    return bytes ? { kind: REGULAR, size: bytes.length } : this.names(path) && { kind: DIRECTORY, size: 0 };
  }
  at(descriptor: number) { return this.open.get(descriptor); }
  close(descriptor: number) { return this.open.delete(descriptor); }
  /** The first free descriptor, now of a path. */
  take(path: string, folder: boolean): number {
    let next = ROOT + 1;
    while (this.open.has(next)) next += 1;
    this.open.set(next, { path, folder, at: 0 });
    return next;
  }
}
