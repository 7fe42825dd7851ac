"""Changes the laws one operator or constant at a time and asks the tests of that law: a change that no test sees survives.

usage: mutants.py <toolchain.json of a finished build> [--room physics|lowering] [--only NAME] [--sample N] [--seed N] [--seconds N] [--state FILE] [--out FILE]

Only headers of laws are changed, in a copy. The tests of a header are those files of tests/unit that name a struct or function
of it; each is compiled anew at -O0, because laws are templates, and linked with the libraries of the build. What the compiler refuses
(most wrong products: dimensions are types) is counted on its own. A test that reaches a law through the libraries alone does not see a
change here, so the share that is killed is a lower bound. Limits are of the processor's time, so that a busy machine changes no fate; --state keeps what
became of each change, and a run that was stopped goes on from there.
"""

import argparse
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# What is looked for, and what stands there instead.
SWAPS = [(r"(?<=[\w)\]}]) \+ (?=[\w(])", " - "), (r"(?<=[\w)\]}]) - (?=[\w(])", " + "), (r"(?<=[\w)\]}]) \* (?=[\w(])", " / "), (r"(?<=[\w)\]}]) / (?=[\w(])", " * "),
         (r"(?<=[\w)\]]) < (?=[\w(])", " <= "), (r"(?<=[\w)\]]) <= (?=[\w(])", " < "), (r"(?<=[\w)\]]) > (?=[\w(])", " >= "), (r"(?<=[\w)\]]) >= (?=[\w(])", " > "),
         (r" \+= ", " -= "), (r"\bmin\(", "max("), (r"\bmax\(", "min("), (r"\bceil\(", "floor("), (r"\bfloor\(", "ceil(")]
NUMBER = re.compile(r"(?<![\w.\"'<])(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w.\"'>])")
OTHER = re.compile(r"^\s*(//|#|template|namespace|using|static_assert|struct|class|MLSYSIM|\[\[nodiscard\]\]|return field|field\(|\.(?:within|at_least|at_most|above|below)\()")
# Lines where a change is no other law: how they begin, what is changed (anything where empty), and the reason. Counted on their own.
SAME = [
    ("std::size_t place = 0;", "", "every view of a stack comes from stack_view, which sets its place"),
    ("const T small = clamp(x, T(-1e-5), T(1e-5));", "1e-5", "what it keeps small is read where |x| < 1e-5 alone"),
    ("return {.touched = in.experts * (1.0 - pow(max(T(1.0 - share), T(1e-300)), in.tokens)),", "1e-300", "beside 1 every power of a base next to 0 is 0"),
]


def code_of(line):
    """The part of a line that computes: no comment, nothing from the first text on, no declaration."""
    if OTHER.match(line) or "operator" in line or ".reserve(" in line:  # nor ranges of fields, which the tests of tables see, nor room
        return ""
    return line.split("//")[0].split('"')[0]


def mutants_of(text):
    """(line, column, end, what stands there, what is put there)"""
    for number, line in enumerate(text.split("\n")):
        code = code_of(line)
        if not re.search(r"[=(]|return", code):
            continue
        # A flag or a count against a half: neither another half nor another comparison is another law.
        halves = [m.span() for m in re.finditer(r" [<>]=? \d*\.5\b", code)]

        def alike(m):
            return any(begin < m.end() and m.start() < end for begin, end in halves)

        for pattern, other in SWAPS:
            for m in re.finditer(pattern, code):
                if alike(m):
                    continue
                yield number, m.start(), m.end(), m.group(), other
        for m in NUMBER.finditer(code):
            if alike(m):
                continue
            value = float(m.group())
            yield number, m.start(), m.end(), m.group(), "1" if value == 0 else "2" if value == 1 and "." not in m.group() else f"{value * 1.25!r}" if value != int(value) else str(int(value) + 1)


def named_in(text):
    """Names that a header brings: structs and free functions at the left margin."""
    return set(re.findall(r"^(?:struct|class) (\w+)", text, re.M)) | set(re.findall(r"^(?:\[\[nodiscard\]\] )?(?:inline |constexpr )*[\w:<>]+ (\w+)\(", text, re.M))


def tests_of(header, text):
    if header.parent.name == "lowering":  # its headers reach one another's code, so all of its tests see them; those that name it first
        named = f"<mlsysim/lowering/{header.name}>"
        return sorted((ROOT / "tests" / "unit" / "lowering").glob("test_*.cpp"), key=lambda p: (named not in p.read_text(), p.stem != "test_lowering", p.stem))
    names = named_in(text)
    found = []
    for path in sorted((ROOT / "tests" / "unit").rglob("test_*.cpp")):
        if path.parent.name not in ("physics", "scalars", "compile"):
            continue
        hits = len([n for n in names if re.search(rf"\b{n}\b", path.read_text())])
        if hits or path.stem == f"test_{header.stem}":
            found.append((path.stem != f"test_{header.stem}", -hits, path))
    return [path for _, _, path in sorted(found)][:4]


def at_most(seconds):
    """What a child does first: takes so much of the processor and no more."""
    return lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


class Bench:
    def __init__(self, toolchain, folder):
        self.tools, self.folder = json.loads(toolchain.read_text()), folder
        self.flags = ["-O0", "-std=c++20", "-ffp-contract=off", "-DFMT_SHARED", "-w", f"-I{folder}/include", f"-I{ROOT}/include", f"-I{ROOT}/src", f"-I{ROOT}/tests",
                      f'-DMLSYSIM_SOURCE_DIR="{ROOT}"', f'-DMLSYSIM_BINARY_DIR="{self.tools["binary_dir"]}"']
        self.main = folder / "main.o"
        self.compile(ROOT / "tests" / "support" / "catch_main.cpp", self.main)
        catch = folder / "catch.hpp"  # most of what a test reads, and never changed: read once
        catch.write_text(f'#include "{ROOT}/tests/support/catch.hpp"\n')
        subprocess.run([self.tools["compiler"], *self.flags, "-x", "c++-header", catch, "-o", f"{catch}.gch"], check=True)
        self.flags += ["-include", str(catch)]

    def compile(self, source, to):
        # Without ccache: no change is seen twice.
        return subprocess.run([self.tools["compiler"], *self.flags, "-c", source, "-o", to], capture_output=True, preexec_fn=at_most(600)).returncode == 0

    def passes(self, test):
        """True, False, or None where it does not compile."""
        code, program = self.folder / "test.o", self.folder / "test"
        if not self.compile(test, code):
            return None
        linked = subprocess.run([self.tools["compiler"], code, self.main, *self.tools["link"], "-o", program], capture_output=True, text=True)
        if linked.returncode != 0:
            sys.exit(f"{test} does not link: {linked.stderr[-2000:]}")
        environment = {**os.environ, "MLSYSIM_ZOO_PATH": str(ROOT / "zoo")}  # the program lies where no zoo is
        # One that no longer ends is stopped by its limit, which is a failure too.
        return subprocess.run([program], capture_output=True, preexec_fn=at_most(120), cwd=self.folder, env=environment).returncode == 0

    def fate_of(self, text, header, tests):
        """'refused', 'killed' or 'survived': what becomes of this text in the place of a header."""
        copy = self.folder / header.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
        try:
            for test in tests:
                passed = self.passes(test)
                if passed is not True:
                    return "refused" if passed is None else "killed"
            return "survived"
        finally:
            copy.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("toolchain", type=pathlib.Path)
    parser.add_argument("--room", choices=("physics", "lowering", "both"), default="both")
    parser.add_argument("--only", default="", help="headers with this name")
    parser.add_argument("--sample", type=int, default=0, help="so many changes at random (default: every one)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=0, help="of the processor; what is not tried by then is not counted")
    parser.add_argument("--state", type=pathlib.Path, help="file with a line for each change that was tried")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    rooms = ("physics", "lowering") if options.room == "both" else (options.room,)
    headers = {p: p.read_text() for room in rooms for p in sorted((ROOT / "include" / "mlsysim" / room).glob("*.hpp")) if options.only in p.name}
    tests = {p: tests_of(p, text) for p, text in headers.items()}
    untested = [p.name for p in headers if not tests[p] and list(mutants_of(headers[p]))]
    every = [(p, *m) for p, text in headers.items() if tests[p] for m in mutants_of(text)]
    if not every:
        sys.exit("nothing to change")
    chosen = random.Random(options.seed).sample(every, min(options.sample, len(every))) if options.sample else every
    counts, survivors, unchanged = {"refused": 0, "killed": 0, "survived": 0, "same": 0}, [], set()
    tried = dict(json.loads(line) for line in options.state.read_text().splitlines()) if options.state and options.state.exists() else {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        bench = Bench(options.toolchain, folder)
        for path, line, begin, end, was, now in chosen if options.sample else sorted(chosen):
            so_far = resource.getrusage(resource.RUSAGE_CHILDREN)
            if options.seconds and so_far.ru_utime + so_far.ru_stime > options.seconds:
                break
            lines = headers[path].split("\n")
            lines[line] = lines[line][:begin] + now + lines[line][end:]
            said = f"{path.relative_to(ROOT)}:{line + 1}: '{was.strip()}' -> '{now.strip()}': {lines[line].strip()}"
            if any(headers[path].split("\n")[line].strip().startswith(start) and what in ("", was.strip()) for start, what, _ in SAME):
                fate = "same"
            elif said in tried:
                fate = tried[said]
            else:
                for test in tests[path]:
                    if test not in unchanged and not bench.passes(test):
                        sys.exit(f"{test} does not pass without a change")
                    unchanged.add(test)
                fate = bench.fate_of("\n".join(lines), path, tests[path])
                if options.state:
                    with options.state.open("a") as file:
                        file.write(json.dumps([said, fate]) + "\n")
            counts[fate] += 1
            if fate == "survived":
                survivors.append(said)
                print(said, flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seen = counts["killed"] + counts["survived"]
    share = counts["killed"] / seen if seen else 1.0
    print(f"{sum(counts.values())} of {len(every)} changes: {counts['refused']} refused by the compiler, {counts['killed']} killed, {counts['survived']} survived, {counts['same']} the same law; "
          f"{100 * share:.0f} % of those that compile are killed; {used.ru_utime + used.ru_stime:.0f} s; no direct test: {', '.join(untested) or 'none'}")
    if options.out:
        options.out.write_text(json.dumps({**counts, "of": len(every), "share": share, "survivors": survivors, "untested": untested}, indent=1) + "\n")
    return 0 if share >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
