"""Compares docs/explanation/one-answer.md with the tree: each row names a file, a line and the code there.

usage: one_answer.py [--fix]      --fix writes the present line numbers
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/explanation/one-answer.md"
ROW = re.compile(r"^\| `(?P<struct>[\w:]+)` \| (?P<file>[\w/.-]+):(?P<line>\d+) \| `(?P<code>.+)` \|$")
MOST = 10  # structs between the zoo entry and the scorecard


def line_of(file, code, near):
    """The line with this code that is nearest to where the page says it is; 0 where there is none."""
    lines = (ROOT / file).read_text().splitlines()
    found = [i for i, text in enumerate(lines, 1) if code in text]
    return min(found, key=lambda i: abs(i - near), default=0)


def main():
    fix = "--fix" in sys.argv[1:]
    faults, out, structs = [], [], []
    for text in PAGE.read_text().splitlines():
        row = ROW.match(text)
        if row:
            structs.append(row["struct"])
            at = line_of(row["file"], row["code"], int(row["line"]))
            if at == 0:
                faults.append(f"{row['struct']}: `{row['code']}` is not in {row['file']}")
            elif at != int(row["line"]):
                if not fix:
                    faults.append(f"{row['struct']}: {row['file']}:{row['line']} is line {at} now; run with --fix")
                text = text.replace(f"{row['file']}:{row['line']}", f"{row['file']}:{at}")
        out.append(text)
    if len(structs) < 3:
        faults.append("the page has no table of structs")
    between = len(structs) - 2
    if between > MOST:
        faults.append(f"{between} structs lie between {structs[0]} and {structs[-1]}, at most {MOST} may")
    if fix:
        PAGE.write_text("\n".join(out) + "\n")
    for fault in faults:
        print(fault)
    print(f"{between} structs between {structs[0]} and {structs[-1]}, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
