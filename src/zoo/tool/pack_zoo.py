"""Packs the zoo for the program that carries it: pack_zoo.py ZOO BLOB HEADER

BLOB is one zlib stream of [length of the path, length of the bytes (both 32 bit, little endian), path, bytes] for each file in
order of the paths; HEADER holds its digest and the length of the unpacked stream. The same files give the same bytes.
"""

import hashlib
import pathlib
import struct
import sys
import zlib


def main():
    zoo, blob, header = map(pathlib.Path, sys.argv[1:])
    raw = bytearray()
    for path in sorted(p.relative_to(zoo).as_posix() for p in zoo.rglob("*") if p.is_file() and p.name != "zoo.cache"):
        content = (zoo / path).read_bytes()
        raw += struct.pack("<II", len(path.encode()), len(content)) + path.encode() + content
    packed = zlib.compress(bytes(raw), 9)
    blob.write_bytes(packed)
    header.write_text("#pragma once\n"
                      f'inline constexpr const char* kZooDigest = "{hashlib.sha256(raw).hexdigest()[:16]}";\n'
                      f"inline constexpr unsigned long kZooUnpacked = {len(raw)};\n")


if __name__ == "__main__":
    main()
