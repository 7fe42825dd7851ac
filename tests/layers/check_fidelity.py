"""Checks that each resolver branches on the fidelity at most once.

A resolver holds its textbook and its operator equations side by side in its own file and chooses between them in one place.
The directory `timing` chooses for passes and for what several resolvers share. No other code names a fidelity.

usage: check_fidelity.py <top folder>
"""

import argparse
import pathlib
import re
import sys

NAMED = re.compile(r"\bFidelity::")
BRANCH = re.compile(r"\bswitch \([^;{]*fidelity|[=!]= Fidelity::|\bFidelity::\w+ [=!]=", re.IGNORECASE)
SOLVE = re.compile(r"\b(\w+(?:Model|Solver|Optimizer))::solve\(const")
COMMENT = re.compile(r"//.*")
SUFFIXES = {".hpp", ".h", ".cpp", ".c", ".inl"}

# Where the choice of passes is made and defined.
HOME = ("src/timing/", "include/mlsysim/timing/", "include/mlsysim/specs/choices.hpp")
RESOLVERS = ("src/resolvers/models/", "src/resolvers/optimizers/", "src/resolvers/solvers/")
SHARED = "src/resolvers/shared/"


def complaint(name, text):
    """What is wrong with the file `name`, or None."""
    branches = len(BRANCH.findall(text))
    if name.startswith(RESOLVERS):
        resolvers = len(set(SOLVE.findall(text)))
        if branches > resolvers:
            return f"{name}: {branches} branches on the fidelity for {resolvers} resolvers: at most one each"
    elif name.startswith(SHARED):
        if branches > 1:
            return f"{name}: {branches} branches on the fidelity: at most one"
    elif NAMED.search(text):
        return f"{name}: names a fidelity; only resolvers and timing do"
    return None


def complaints_of(root):
    """Files that break the rule."""
    found = []
    for top in ("include/mlsysim", "src", "bindings"):
        for path in sorted((root / top).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix in SUFFIXES and not name.startswith(HOME):
                text = "\n".join(COMMENT.sub("", line) for line in path.read_text().splitlines())
                found.append(complaint(name, text))
    return [one for one in found if one]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    found = complaints_of(parser.parse_args().root.resolve())
    print("\n".join(found) if found else "each resolver branches on the fidelity at most once")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
