"""Writes trust.md from what scripts/check-all left: trust_page.py <folder of *.log and *.result> <page>

A result is a line "passed|FAILED date seconds"; what has none was not run.
"""

import pathlib
import re
import sys

HEAD = """# What was tried

Written by `scripts/check-all`; each line says what was run, when and what came of it. What has no result was not run.

| step | what it is | command | result |
| --- | --- | --- | --- |
"""
STEPS = [
    ("tests", "every test of C++ and Python", "scripts/test", r"^(?:PASSED|FAILED) .*"),
    ("asan", "C++ tests with address and undefined-behaviour sanitizers", "scripts/test-asan", r"^\d+% tests passed.*"),
    ("tsan", "C++ tests with the thread sanitizer", "scripts/test-tsan", r"^\d+% tests passed.*"),
    ("faults", "calls that fail, kills, a full disk, leaping clocks", "tests/faults/run.py --every", r"^\d+ runs with a fault.*"),
    ("fuzz", "libFuzzer with sanitizers, or own mutations", "scripts/fuzz all 10", r"^== .*cases.*"),
    ("growth", "slopes of time and memory", "benchmarks/growth.py", r"^(?:ok|OVER) .*|^\d+ kinds of growth.*"),
    ("mutants", "changed laws that the tests see", "scripts/mutants", r"^\d+ of \d+ changes.*"),
]


def main():
    folder, page = map(pathlib.Path, sys.argv[1:3])
    lines, details = [], []
    for step, what, command, pattern in STEPS:
        result = folder / f"{step}.result"
        if not result.exists():
            lines.append(f"| {step} | {what} | `{command}` | not run |")
            continue
        verdict, date, seconds, *more = result.read_text().split(maxsplit=3)
        note = f"; {more[0].strip()}" if more else ""
        lines.append(f"| {step} | {what} | `{command}` | {verdict}, {date}, {seconds} s{note} |")
        found = re.findall(pattern, (folder / f"{step}.log").read_text(errors="replace"), re.M)
        if found:
            details.append(f"\n## {step}\n\n```text\n" + "\n".join(found) + "\n```\n")
    page.write_text(HEAD + "\n".join(lines) + "\n" + "".join(details))


if __name__ == "__main__":
    main()
