"""Checks that no file is longer than 600 lines and no function than 80, from its name to its closing brace, comments and all.

Reads the C++ files of include, src, bindings and plugins by their braces, which is enough for formatted code. Headers start
with `#pragma once`.

usage: check_sizes.py <top folder>
"""

import argparse
import pathlib
import re
import sys

LIMIT = 80
LIMIT_OF_FILES = 600
# Functions that are still longer, with the length that they must not exceed. An entry that is not needed any more fails.
EXEMPT = {}
# Files that have to be one: measure.py is copied to machines that have nothing but PyTorch.
WHOLE = {"src/components/validation/measure/measure.py"}
FOLDERS = ("include", "src", "bindings", "plugins", "examples", "benchmarks")
SUFFIXES = {".hpp", ".cpp", ".h", ".c"}
# What may stand between two tokens of interest; blanked, so that line numbers stay.
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)
SCOPE = re.compile(r"\b(namespace|struct|class|enum|union|extern)\b")


def functions(text):
    """(first line, last line, head) of every function that is defined in a namespace or a class."""
    blank = NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    scopes, head_start, opened = [True], 0, None  # `scopes`: whether each open brace is a namespace or a class
    for m in re.finditer(r"[{};]", blank):
        if m[0] == "{":
            head = blank[head_start:m.start()].strip()
            is_scope = all(scopes) and SCOPE.search(re.sub(r"<[^<>]*>|\([^()]*\)", "", head)) is not None and not head.endswith(")")
            if all(scopes) and not is_scope and "(" in head:
                start = head_start + len(blank[head_start:m.start()]) - len(blank[head_start:m.start()].lstrip())
                opened = (blank.count("\n", 0, start) + 1, head, len(scopes))
            scopes.append(is_scope)
        elif m[0] == "}":
            if len(scopes) > 1:
                scopes.pop()
            if opened and len(scopes) == opened[2]:
                yield opened[0], blank.count("\n", 0, m.start()) + 1, opened[1]
                opened = None
        head_start = m.end()


def complaints_of(root, exempt):
    """What is too long, and what is exempt without need; with the number of functions that were read."""
    seen, found, used = 0, [], set()
    for path in sorted(p for top in FOLDERS for p in (root / top).rglob("*") if p.suffix in SUFFIXES):
        name = path.relative_to(root).as_posix()
        for first, last, head in functions(path.read_text()):
            seen += 1
            length = last - first + 1
            if length <= LIMIT:
                continue
            function = (re.findall(r"([\w~:]+)\s*\(", head) or ["?"])[0]
            limit = exempt.get((name, function), LIMIT)
            used.add((name, function))
            if length > limit:
                found.append(f"{name}:{first}: {function} has {length} lines, at most {limit}")
    found += [f"{name}: {function} is short enough; remove it from EXEMPT" for name, function in sorted(set(exempt) - used)]
    return found, seen


def complaints_of_files(root):
    found = []
    for path in sorted(p for top in (*FOLDERS, "tests") for p in (root / top).rglob("*") if p.suffix in SUFFIXES | {".py"}):
        lines = path.read_text().splitlines()
        name = path.relative_to(root)
        if len(lines) > LIMIT_OF_FILES and name.as_posix() not in WHOLE:
            found.append(f"{name}: {len(lines)} lines, at most {LIMIT_OF_FILES}; split it by idea")
        if path.suffix == ".hpp" and (not lines or lines[0] != "#pragma once"):
            found.append(f"{name}:1: expected '#pragma once', found '{lines[0] if lines else ''}'")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    root = parser.parse_args().root.resolve()
    found, seen = complaints_of(root, EXEMPT)
    if seen < 100:
        sys.exit(f"only {seen} functions found below {root}: the reader of braces is broken")
    found = complaints_of_files(root) + found
    print("\n".join(found) if found else f"{seen} functions of at most {LIMIT} lines, {len(EXEMPT)} exempt")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
