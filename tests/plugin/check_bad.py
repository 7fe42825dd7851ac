"""Runs the conformance kit on plugins that are bad in one way each: it must fail the checks named beside each case, no
more and no fewer.

usage: check_bad.py <mlsysim-plugin-check> <folder of the bad plugins> <cases.txt> [--sanitized]
"""

import concurrent.futures
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

KIT, FOLDER, CASES = map(pathlib.Path, sys.argv[1:4])
SANITIZED = "--sanitized" in sys.argv
# Checks that a busy machine can fail: they are asked again before they count, and count nothing under a sanitizer.
TIMED = {"P01", "P03"}
# Limits on address space: a sanitizer needs more of it than any of them.
ADDRESS_SPACE = {"memory_bomb", "needs_much_memory"}


def failed_checks(library, *options, seconds=4):
    """Ids of the checks that fail, and the whole answer. @param seconds that a check may take"""
    command = [KIT, library, "--json", "--timeout", str(seconds), *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=75 * seconds)
    if run.returncode not in (0, 1):
        return None, run.stderr
    answer = json.loads(run.stdout)
    return {c["id"] for c in answer["checks"] if c["verdict"] == "fail"}, answer


def mutations(good, folder):
    """Files that are no plugins any more: (path, expected ids, options)."""
    whole = good.read_bytes()

    def file(name, data, ids, *options):
        path = folder / f"mlsysim-plugin-{name}.so"
        path.write_bytes(data)
        return path, ids, options

    for i in range(20):
        length = len(whole) * i // 20
        ids = {"L01"} if length == 0 else {"L02"} if length < 4 else {"L03"}
        yield file(f"cut_{i}", whole[:length], ids)
    yield file("i386", whole[:4] + b"\1" + whole[5:18] + struct.pack("<H", 3) + whole[20:], {"L02"})
    yield file("aarch64", whole[:18] + struct.pack("<H", 183 if whole[18] != 183 else 62) + whole[20:], {"L02"})
    yield file("program", whole[:16] + struct.pack("<H", 2) + whole[18:], {"L02"})
    yield file("big_endian", whole[:5] + b"\2" + whole[6:], {"L02"})
    yield file("text", b"#!/bin/sh\necho hello\n", {"L02"})
    path, ids, options = file("writable", whole, {"L09"})
    path.chmod(0o666)
    yield path, ids, options
    other = folder / "other"
    other.mkdir()
    shutil.copy(good, other / "mlsysim-plugin-good.so")
    manifest = other / "bad.plugin.yaml"
    manifest.write_text("schema: mlsysim/plugin@1\nname: bad\nversion: 2.0.0\nlibrary: mlsysim-plugin-good.so\n")
    yield other / "mlsysim-plugin-good.so", {"A08"}, ("--manifest", manifest)


def main():
    good = FOLDER / "mlsysim-plugin-good.so"
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        jobs = [(FOLDER / f"mlsysim-plugin-{line.split()[0]}.so", set(line.split()[1:]), ())
                for line in CASES.read_text().splitlines() if line and not line.startswith("#")
                and not (SANITIZED and line.split()[0] in ADDRESS_SPACE)]
        jobs += mutations(good, pathlib.Path(folder))

        def run(job):
            library, ids, options = job
            got, answer = failed_checks(library, *options)
            if got is not None and got != ids and (got ^ ids) <= TIMED:
                got, answer = failed_checks(library, *options)
            if SANITIZED and got is not None and got - TIMED != ids - TIMED:
                got, answer = failed_checks(library, *options, seconds=40)
            return got, answer

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (library, ids, _), (got, answer) in zip(jobs, pool.map(run, jobs)):
                if got == ids or (SANITIZED and got is not None and got - TIMED == ids - TIMED):
                    continue
                text = answer if got is None else "\n    ".join(
                    f"{c['id']}: {c['message'][:200]}" for c in answer["checks"] if c["verdict"] == "fail")
                problems.append(f"{library.name}: expected {sorted(ids)}, found {got and sorted(got)}\n    {text}")
    print("\n".join(problems))
    print(f"{len(jobs)} plugins, {len(problems)} with other checks than expected")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
