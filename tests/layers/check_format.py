"""Checks that every C++ file is as clang-format 14 leaves it; another version breaks lines elsewhere.

usage: check_format.py <top folder>     exit code 77: there is no clang-format 14
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

VERSION = 14
FOLDERS = ("include", "src", "bindings", "plugins", "examples", "benchmarks", "tests")
SUFFIXES = {".hpp", ".cpp", ".h", ".c"}
SKIPPED = 77


def clang_format():
    """Path of clang-format 14, or None."""
    for path in filter(None, map(shutil.which, (f"clang-format-{VERSION}", "clang-format"))):
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        if re.search(rf"version {VERSION}\.", said):
            return path
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    root = parser.parse_args().root.resolve()
    tool = clang_format()
    if not tool:
        print(f"skipped: there is no clang-format {VERSION}")
        return SKIPPED
    files = sorted(str(p) for top in FOLDERS for p in (root / top).rglob("*") if p.suffix in SUFFIXES)
    if not files:
        sys.exit(f"no source found below {root}")
    done = subprocess.run([tool, "--dry-run", "--Werror", *files], capture_output=True, text=True)
    wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, re.M)))
    if done.returncode == 0:
        print(f"{len(files)} files are formatted")
        return 0
    print("\n".join(f"{pathlib.Path(w).relative_to(root)}: is not formatted; run scripts/format" for w in wrong) or done.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
