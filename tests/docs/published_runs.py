"""Runs the commands of docs/published and compares the tables below them: prediction, range, and whether what was published lies inside.

usage: published_runs.py PROGRAM [--fix | --print]      --fix writes the present predictions, --print one table of all
"""

import json
import math
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/docs"))
from run_snippets import blocks  # noqa: E402

ROW = re.compile(r"^\| `(?P<key>\w+)` \| (?P<published>(?P<value>[\d.]+) (?P<unit>[\w%/]+)(?P<most> at most)?) \|(?P<rest>.*)\|$")
# Units of the pages over those of `intervals`.
IN_JSON = {"%": 0.01, "s": 1e3, "ms": 1.0, "GiB": 1.073741824, "token/s": 1.0}


def intervals(program, command):
    """Name -> interval of the first command of a block."""
    line = command.replace("\\\n", " ").split("||")[0].strip()
    done = subprocess.run(["bash", "-c", f"{line.replace('mlsysim', program, 1)} --interval 80 -o json"],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 2):
        raise SystemExit(f"{line}\n{done.stderr}")
    return json.loads(done.stdout)["intervals"]


def three_digits(number):
    if number == 0:
        return "0"
    return f"{number:,.{max(0, 2 - math.floor(math.log10(abs(number))))}f}"


def readme(fix):
    """Faults of the sentence of the README that repeats errors of docs/reference/accuracy.md."""
    page = (ROOT / "docs/reference/accuracy.md").read_text()
    of = {}  # the first table has a row for each topic
    for line in page.splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        of.setdefault(row[0], row)
    topics = [of[name] for name in ("inference", "training", "kernels")]
    errors = "serving {}, training {}, kernels {}".format(*(row[3] for row in topics))
    rooflines = "{}, {} and {}".format(*(row[4] for row in topics)).replace(" %", "") + " %"
    path = ROOT / "README.md"
    text = path.read_text()
    new = re.sub(r"serving [^;]*; a roofline is off by [^.]*?%\.", f"{errors}; a roofline is off by {rooflines}.", text)
    if fix:
        path.write_text(new)
    return [] if fix or new == text else [f"README.md: not as docs/reference/accuracy.md: {errors}; {rooflines}"]


def main():
    program, fix, shown = sys.argv[1], "--fix" in sys.argv[2:], "--print" in sys.argv[2:]
    faults, rows = readme(fix), 0
    if shown:
        print("| Run | Result | Published | Predicted | 80 % range | Inside |\n| --- | --- | --- | --- | --- | --- |")
    for page in sorted((ROOT / "docs/published").glob("*.md")):
        text = page.read_text()
        runs = [(start, intervals(program, code)) for words, start, code in blocks(text) if words == ["sh", "run"]]
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            row = ROW.match(line)
            if not row:
                continue
            rows += 1
            found = [of for start, of in runs if start < number][-1][row["key"]]
            scale = IN_JSON[row["unit"]]
            value, low, high = (found[k] / scale for k in ("value", "lower", "upper"))
            published, unit = float(row["value"]), row["unit"]
            inside = low <= published and (row["most"] or published <= high)
            want = (f"| `{row['key']}` | {row['published']} | {three_digits(value)} {unit} | "
                    f"{three_digits(low)} to {three_digits(high)} {unit} | {'yes' if inside else 'no'} |")
            if shown:
                print(f"| {page.stem} {want}")
            elif want != line and not fix:
                faults.append(f"{page.relative_to(ROOT)}:{number}: found\n  {line}\nexpected (--fix writes it)\n  {want}")
            lines[number - 1] = want
        if fix:
            page.write_text("\n".join(lines) + "\n")
    if shown:
        return 0
    if rows < 6:
        faults.append(f"{rows} rows in docs/published, expected 6 or more")
    print("\n".join(faults + [f"{rows} published results, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
