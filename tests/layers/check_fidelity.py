"""Checks that nobody above or below the room of pricing asks which fidelity it works at.

A fidelity is chosen once, when views are prepared: price/pricing.hpp. Everything else asks the pricing for prices and rules,
so `Fidelity::` may stand only where the choice is defined and in the room `price`.

usage: check_fidelity.py <top folder>
"""

import argparse
import pathlib
import re
import sys

NAMED = re.compile(r"\bFidelity::")
COMMENT = re.compile(r"//.*")
SUFFIXES = {".hpp", ".h", ".cpp", ".c", ".inl"}

# Where the choice is made and defined.
HOME = ("src/price/", "include/mlsysim/price/", "include/mlsysim/spec/choices.hpp")


def complaints_of(root):
    """Places that name a fidelity."""
    found = []
    for top in ("include/mlsysim", "src", "bindings"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            name = path.relative_to(root).as_posix()
            if name.startswith(HOME):
                continue
            found += [f"{name}:{number}: names a fidelity; ask the pricing instead (price/pricing.hpp)"
                      for number, line in enumerate(path.read_text().splitlines(), 1) if NAMED.search(COMMENT.sub("", line))]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    found = complaints_of(parser.parse_args().root.resolve())
    print("\n".join(found) if found else "fidelities are named in the room of pricing alone")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
