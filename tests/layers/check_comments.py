"""Comments name what exists, and begin as sentences do.

usage: check_comments.py <source folder>

A path in a comment (`timing/step.hpp`, docs/how-to/install.md) is a file of the tree, seen from its root, include/, src/ or the folder of the comment,
or stands in the list of foreign files below. No comment line begins with "The same", "Of", "What", "Who" or "And". Each header of
include/mlsysim opens with a comment of at most 15 lines that ends in a worked example ("Example: ...").
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(".")
COMMENT = re.compile(r"^\s*(?:///?<?!?|\*)\s?(.*)$|//(?:/<)?\s(.*)$")
PATH = re.compile(r"(?<![\w./:<>-])((?:[\w.-]+/)+[\w.-]+\.(?:hpp|cpp|h|py|md|yaml|json|txt|inc|sh))(?![\w/*])")
RIDDLE = re.compile(r"^(The same\b(?! (as|way|time|number|for))|Of\b|What\b|Who\b|And\b)")
# Of other projects, of users, or made by a build.
FOREIGN = re.compile(r"(^|/)(vllm|torch|sglang|megatron|nccl|xla|pjrt|csrc|transformers|flash_attn|cutlass|yaml-cpp|fmt|nlohmann|catch2|pybind11|CLI|sys|linux|bits)/|"
                     r"^(my|your|path|home|tmp|runs|traces|plans|generated|build|dist|share|trace_logs|node_modules|FOLDER|docs/Operators)[/.]|config\.json$", re.I)


def comments():
    for top in ("include", "src", "bindings/python", "plugins"):
        for file in sorted((ROOT / top).rglob("*")):
            if file.suffix in (".hpp", ".cpp", ".h") and "node_modules" not in file.parts:
                for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                    if match := COMMENT.search(line):
                        yield file, number, match[1] if match[1] is not None else match[2]


OPENING_LINES = 15


def openings():
    """What is wrong with the comment that a header opens with."""
    for file in sorted((ROOT / "include/mlsysim").rglob("*.h*")):
        lines = file.read_text(encoding="utf-8").splitlines()
        opening = []
        for line in lines[lines.index("#pragma once") + 1 if "#pragma once" in lines else 0:]:
            if line.startswith("//"):
                opening.append(line)
            elif opening or line.strip():
                break
        name = file.relative_to(ROOT)
        if not any("Example: " in line for line in opening):
            yield f"{name}: found an opening of {len(opening)} lines without 'Example: ', expected what it computes, with one worked number"
        if len(opening) > OPENING_LINES:
            yield f"{name}: found an opening of {len(opening)} lines, expected at most {OPENING_LINES}"


def main():
    found = list(openings())
    for file, number, text in comments():
        for path in PATH.findall(text):
            places = (ROOT, ROOT / "include", ROOT / "include/mlsysim", ROOT / "src", ROOT / "src/components", ROOT / "zoo", ROOT / "docs", file.parent)
            if not FOREIGN.search(path) and not any((place / path).exists() for place in places):
                found.append(f"{file.relative_to(ROOT)}:{number}: there is no file {path}")
        if RIDDLE.match(text):
            found.append(f"{file.relative_to(ROOT)}:{number}: found '{text[:40]}', expected a sentence with its subject")
    print("\n".join(found))
    print(f"{len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
