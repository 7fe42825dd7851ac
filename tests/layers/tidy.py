"""Runs clang-tidy with the checks of .clang-tidy over what is compiled of src, bindings and plugins.

Neighbours that are compiled together are read together, as in the build. What passed is not read again until one of its
files, its command or .clang-tidy changes: <build>/tidy holds an empty file for each content that passed. Files and
headers of a group are those that ninja noted in the build.

usage: tidy.py <top folder> <build folder> [--slice K/N] [--jobs N]     exit code 77: there is no clang-tidy
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys

# The first that is there. From 22 on the headers of the system are not searched, which halves the time; 14 is what
# Debian 12 calls clang-tidy.
VERSIONS = (22, 14)
FOLDERS = ("src", "bindings", "plugins")
SKIPPED = 77
GNU_FLAGS = ("-fno-gnu-unique",)


def clang_tidy():
    """Path and version of clang-tidy; two times None where there is none."""
    for version in VERSIONS:
        for name in (f"clang-tidy-{version}", "clang-tidy"):
            path = shutil.which(name)
            if path:
                said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
                found = re.search(r"version (\d+)", said)
                if found and int(found[1]) == version:
                    return path, version
    return None, None


def units(root, build):
    """(source, command, object) of what is compiled of the folders."""
    found, members = {}, set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["directory"], entry["file"])
        group = source.is_relative_to(build) and source.parent.name == "Unity"
        if group:
            members |= set(re.findall(r'#include "([^"]+)"', source.read_text()))
        if group or any(source.is_relative_to(root / top) for top in FOLDERS) and source.suffix == ".cpp":
            command = entry.get("command") or " ".join(entry["arguments"])
            output = re.search(r" -o (\S+)", command)
            found.setdefault(str(source), (command, output[1] if output else ""))
    # A group stands for its members.
    return [(source, *rest) for source, rest in sorted(found.items()) if source not in members]


def dependencies(build):
    """Object -> files that it is made of, as ninja noted them in the last build; empty for other generators."""
    if not (build / "build.ninja").exists() or not shutil.which("ninja"):
        return {}
    said = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True).stdout
    found, at = {}, None
    for line in said.splitlines():
        if line.startswith(" "):
            at.append(line.strip())
        elif line.endswith("(VALID)"):
            at = found.setdefault(line.split(": #deps")[0], [])
        else:
            at = []
    return found


class Digests:
    """Digests of files, each read once."""

    def __init__(self):
        self.known = {}

    def of(self, path):
        if path not in self.known:
            self.known[path] = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
        return self.known[path]


def key_of(version, root, build, unit, files, digests):
    """What the result of a unit depends on; None where its files are not known."""
    source, command, _ = unit
    if not files:
        return None
    own = sorted({str((build / f).resolve()) for f in files} | {source})
    text = [str(version), digests.of(root / ".clang-tidy"), command]
    text += [f + digests.of(f) for f in own if f.startswith(str(root))]
    return hashlib.sha256("\n".join(text).encode()).hexdigest()


def clang_commands(build, folder):
    """The compile commands without what only g++ knows, for `-p folder`."""
    text = (build / "compile_commands.json").read_text()
    for flag in GNU_FLAGS:
        text = text.replace(f" {flag}", "")
    (folder / "compile_commands.json").write_text(text)


def check(tool, folder, unit):
    """What clang-tidy complains about; empty if nothing."""
    # Warnings of the compiler are the compiler's business; those of clang differ from those of g++.
    done = subprocess.run([tool, "-p", str(folder), "--quiet", "--extra-arg=-w", unit[0]], capture_output=True, text=True)
    return done.stdout.strip() or (done.stderr.strip() if done.returncode != 0 else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--slice", default="1/1", help="K/N: the K-th of N equal parts")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    root, build = options.root.resolve(), options.build.resolve()
    tool, version = clang_tidy()
    if not tool:
        print(f"skipped: there is no clang-tidy {' or '.join(map(str, VERSIONS))}")
        return SKIPPED
    part, parts = map(int, options.slice.split("/"))
    mine = units(root, build)[part - 1::parts]
    if not mine:
        sys.exit(f"nothing is compiled of {', '.join(FOLDERS)} in {build}")
    noted, digests = dependencies(build), Digests()
    folder = build / "tidy"
    folder.mkdir(exist_ok=True)
    clang_commands(build, folder)
    keys = {unit[0]: key_of(version, root, build, unit, noted.get(unit[2]), digests) for unit in mine}
    due = [unit for unit in mine if not (keys[unit[0]] and (folder / keys[unit[0]]).exists())]
    complaints = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for unit, said in zip(due, pool.map(lambda u: check(tool, folder, u), due)):
            if said:
                complaints += 1
                print(said, flush=True)
            elif keys[unit[0]]:
                (folder / keys[unit[0]]).touch()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(mine)} units, {len(due)} read in {usage.ru_utime + usage.ru_stime:.0f} s of processor time, "
          f"{complaints} with complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
