"""Compiles snippets that must fail and checks that the first error says what is wrong.

A case is a file of cases/ whose comments give orders:
    // expect: fail | pass         does the compiler accept it?
    // expect-match: <regex>       must match the first error line (repeat for several)
    // forbid-match: <regex>       must match no line of the compiler's output
    // mistake: <one line>         what somebody did wrong, in words
    // fix: <one line>             what to do instead

usage:
    run.py <toolchain.json> --case <name> [--results <folder>]     one case; its message is kept in the folder
    run.py <toolchain.json> --check-docs --results <folder>        is the committed page what the cases say?
    run.py <toolchain.json> --write-docs                           compiles every case and writes the page
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import expected  # noqa: E402
from toolchain import Toolchain  # noqa: E402

CASES = pathlib.Path(__file__).parent / "cases"
PAGE = pathlib.Path("docs/how-to/compiler-messages.md")
ORDER = re.compile(r"^\s*// (expect|expect-match|forbid-match|mistake|fix): (.*?)\s*$")
SKIPPED = 77


class Case:
    """A snippet with its orders."""

    def __init__(self, path):
        self.path = path
        self.orders = {"expect": [], "expect-match": [], "forbid-match": [], "mistake": [], "fix": []}
        self.shown = []          # lines of the snippet without the orders
        self.shown_number = {}   # line in the file -> line as shown
        for number, line in enumerate(path.read_text().splitlines(), 1):
            order = ORDER.match(line)
            if order:
                self.orders[order[1]].append(order[2])
            elif line.strip() or self.shown:
                self.shown.append(line)
                self.shown_number[number] = len(self.shown)
        self.verdict = self._one("expect")
        if self.verdict not in ("fail", "pass"):
            raise SystemExit(f"{path}: expected '// expect: fail' or '// expect: pass', found '{self.verdict}'")
        if self.verdict == "fail":
            self.mistake, self.fix = self._one("mistake"), self._one("fix")
            if not self.orders["expect-match"]:
                raise SystemExit(f"{path}: a case that fails needs '// expect-match: <regex>' for its first error")

    def _one(self, order):
        if len(self.orders[order]) != 1:
            raise SystemExit(f"{self.path}: expected one line '// {order}: ...', found {len(self.orders[order])}")
        return self.orders[order][0]


def compile_case(toolchain, case):
    """Exit status and lines of the compiler."""
    env = toolchain.environment()
    env["LC_ALL"] = "C"  # plain quotes
    done = subprocess.run(toolchain.syntax(case.path), capture_output=True, text=True, env=env)
    return done.returncode, done.stderr.splitlines()


def first_error(lines):
    return next((line for line in lines if re.search(r"\b(fatal )?error: ", line)), "")


def tidy(toolchain, case, line):
    """The error line as users see it, without our folders and with lines of the shown snippet."""
    where = re.match(r"^(.*?):(\d+):\d+: (.*)$", line)
    if not where:
        return line
    path, number, text = pathlib.Path(where[1]), int(where[2]), where[3]
    if path.name == case.path.name:
        return f"snippet.cpp:{case.shown_number.get(number, number)}: {text}"
    include = toolchain.source_dir / "include"
    # Lines of our headers move with every edit; the file is what helps.
    return f"{path.relative_to(include) if path.is_relative_to(include) else path.name}: {text}"


def judge(toolchain, case):
    """Complaints about a case, and its first error line as the page shows it."""
    status, lines = compile_case(toolchain, case)
    error = first_error(lines)
    output = "\n".join(lines)
    if case.verdict == "pass":
        return ([] if status == 0 else [f"should compile, but: {error}\n{output}"]), ""
    found = []
    if status == 0:
        return ["should not compile, but does"], ""
    for pattern in case.orders["expect-match"]:
        if not re.search(pattern, error):
            found.append(f"the first error does not match '{pattern}': {error}")
    for pattern in case.orders["forbid-match"]:
        hit = next((line for line in lines if re.search(pattern, line)), None)
        if hit:
            found.append(f"the output matches the forbidden '{pattern}': {hit}")
    if found:
        found.append(output)
    return found, tidy(toolchain, case, error)


def compiler_name(toolchain):
    """The compiler as people say it: `g++ 12`."""
    names = {"GNU": "g++", "Clang": "clang++"}
    return f"{names.get(toolchain.compiler_id, toolchain.compiler_id)} {toolchain.compiler_version.split('.')[0]}"


def page(toolchain, messages):
    """The documentation page; `messages` holds (case, error line)."""
    text = ["# Compiler messages and what to do", "",
            f"The first error line that {compiler_name(toolchain)} prints for common mistakes. This page is written by",
            "`tests/compile_fail/run.py --write-docs` from the cases beside it, and a test keeps the two in step.", ""]
    for case, error in messages:
        text += [f"## {case.mistake}", "", "```cpp", *case.shown, "```", "", "```text", error, "```", "",
                 f"Fix: {case.fix}", ""]
    return "\n".join(text).rstrip() + "\n"


def written_for(text):
    found = re.search(r"The first error line that (\S+ \d+) prints", text)
    return found[1] if found else None


def failing_cases():
    cases = [Case(path) for path in sorted(CASES.glob("*.cpp"))]
    return [case for case in cases if case.verdict == "fail"]


def run_case(toolchain, name, results):
    case = Case(CASES / f"{name}.cpp")
    found, error = judge(toolchain, case)
    if results:
        results.mkdir(parents=True, exist_ok=True)
        (results / f"{name}.json").write_text(json.dumps({"error": error}))
    for text in found:
        print(f"{case.path.name}: {text}")
    return 1 if found else 0


def check_docs(toolchain, results):
    path = toolchain.source_dir / PAGE
    if not path.exists():
        print(f"{PAGE} is missing; write it with tests/compile_fail/run.py {toolchain.binary_dir}/tests/toolchain.json "
              "--write-docs")
        return 1
    committed = path.read_text()
    ours = compiler_name(toolchain)
    if written_for(committed) != ours:
        print(f"{PAGE} was written for {written_for(committed)}, this is {ours}: not compared")
        return SKIPPED
    messages = [(case, json.loads((results / f"{case.path.stem}.json").read_text())["error"])
                for case in failing_cases()]
    fresh = page(toolchain, messages)
    if committed == fresh:
        return 0
    print(expected.difference(committed, fresh))
    print(f"\n{PAGE} is out of date; write it with tests/compile_fail/run.py "
          f"{toolchain.binary_dir}/tests/toolchain.json --write-docs")
    return 1


def write_docs(toolchain):
    messages = []
    for case in failing_cases():
        found, error = judge(toolchain, case)
        if found:
            raise SystemExit(f"{case.path.name}: {found[0]}")
        messages.append((case, error))
    path = toolchain.source_dir / PAGE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(toolchain, messages))
    print(f"wrote {os.path.relpath(path)}: {len(messages)} messages")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("toolchain", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--case")
    task.add_argument("--check-docs", action="store_true")
    task.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    toolchain = Toolchain(options.toolchain)
    if options.case:
        return run_case(toolchain, options.case, options.results)
    return check_docs(toolchain, options.results) if options.check_docs else write_docs(toolchain)


if __name__ == "__main__":
    sys.exit(main())
