"""Tries many changes of tests/mutants.py with one build: each stands beside what it replaces, and a variable of the environment chooses.

usage: mutants_together.py <toolchain.json of a finished build> [--room ROOM ...] [--sample N] [--seed N] [--state FILE] [--out FILE]

A change becomes code that compiles either way: `a + b` reads `a + mutant::Sign{7} * b`, `min(` reads `mutant::min_max<7>(`, a number is
chosen. The sources and tests that read a changed file are compiled once, and each change is a run of the test programs with MUTANT=7. Lines
with which the copy does not compile are left as they are; what stands there is tried one by one, as mutants.py does, and then with a
module of its own. What the first test programs of its room do not see is asked of the second program of the laws
(tests/reference/compare.py), over a Python module linked with the same objects, then of the recorded answers (tests/golden), which know that
a number moved and not that it is wrong, and then of the other test programs. Samples are drawn room by room, those of
`mutants.py --room ROOM --sample N --seed N`.
"""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import mutants
from mutants import ROOMS, ROOT, is_linked

SWITCH = """#pragma once
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <type_traits>
#include <utility>
namespace mutant {
inline int chosen() {
  static const int k = [] { const char* s = std::getenv("MUTANT"); return s ? std::atoi(s) : -1; }();
  return k;
}
constexpr bool is(int k) { return !std::is_constant_evaluated() && chosen() == k; }
struct Sign { int k; };
template <class X> constexpr X operator*(Sign s, const X& x) {
  if (!is(s.k)) return x;
  if constexpr (std::is_integral_v<X>) return X(X(0) - x); else return X(-x);
}
struct Times { int k; }; struct Over { int k; }; struct Less { int k; }; struct More { int k; }; struct AtMost { int k; }; struct AtLeast { int k; };
template <class A, class Op> struct Held { const A& a; int k; };
#define MUTANT_OPERATOR(name, op, other) \\
  template <class A> constexpr Held<A, name> operator op(const A& a, name n) { return {a, n.k}; } \\
  template <class A, class B> constexpr auto operator op(Held<A, name> h, const B& b) { \\
    static_assert(std::is_same_v<decltype(h.a op b), decltype(h.a other b)>); \\
    return is(h.k) ? h.a other b : h.a op b; }
MUTANT_OPERATOR(Times, *, /)
MUTANT_OPERATOR(Over, /, *)
MUTANT_OPERATOR(Less, <, <=)
MUTANT_OPERATOR(AtMost, <=, <)
MUTANT_OPERATOR(More, >, >=)
MUTANT_OPERATOR(AtLeast, >=, >)
template <class X, int k> struct Added {
  X& x;
  template <class Y> constexpr void operator=(const Y& y) { if (is(k)) x -= y; else x += y; }
};
template <int k, class X> constexpr Added<X, k> added(X& x) { return {x}; }
template <class A, class B> constexpr bool numbers = std::is_arithmetic_v<A> && std::is_arithmetic_v<B>;
template <int k, class A, class B> constexpr auto min_max(const A& a, const B& b) {
  if constexpr (numbers<A, B>) return is(k) ? std::max(a, b) : std::min(a, b); else return is(k) ? max(a, b) : min(a, b);
}
template <int k, class A, class B> constexpr auto max_min(const A& a, const B& b) {
  if constexpr (numbers<A, B>) return is(k) ? std::min(a, b) : std::max(a, b); else return is(k) ? min(a, b) : max(a, b);
}
template <int k, class A> constexpr auto ceil_floor(const A& a) { using std::ceil, std::floor; return is(k) ? floor(a) : ceil(a); }
template <int k, class A> constexpr auto floor_ceil(const A& a) { using std::ceil, std::floor; return is(k) ? ceil(a) : floor(a); }
}  // namespace mutant
"""
SECOND = ("reference/compare.py",)
RECORDED = ("golden/answers.py", "compare", ROOT / "tests" / "golden" / "answers.jsonl")
PROXIES = {" * ": "Times", " / ": "Over", " < ": "Less", " <= ": "AtMost", " > ": "More", " >= ": "AtLeast"}
CALLS = {"min(": "min_max", "max(": "max_min", "ceil(": "ceil_floor", "floor(": "floor_ceil"}


def either(line, begin, end, was, now, k):
    """(begin, end, text): the code that is one or the other; None where there is no such code."""
    if was in (" + ", " - "):
        return begin, end, f"{was}mutant::Sign{{{k}}} * "
    if was in PROXIES:
        return begin, end, f"{was}mutant::{PROXIES[was]}{{{k}}}{was}"
    if was in CALLS:
        return begin - 5 if line[:begin].endswith("std::") else begin, end, f"mutant::{CALLS[was]}<{k}>("
    if was == " += ":
        left = re.match(r"^\s*(?:(?:else |if \(.*?\) |for \(.*?\) ))*(\S.*)$", line[:begin])
        return left and (left.start(1), end, f"mutant::added<{k}>({left.group(1)}) = ")
    if re.search(r"\bconstexpr [\w:<>, ]+ \w+ ?[={]", line):  # settled before a run
        return None
    real = "." in was or "e" in was
    return begin, end, f"(mutant::is({k}) ? {now if not real or '.' in now else now + '.0'} : {was})"


def changed(text, here):
    """A text with all changes of `here`: {k: (line, begin, end, was, now)}. Where two overlap the later one is left out."""
    lines, left = text.split("\n"), {}
    for k, (line, *change) in here.items():
        made = either(text.split("\n")[line], *change, k)
        if made and not any(made[0] < end and begin < made[1] for begin, end, _ in left.get(line, {}).values()):
            left.setdefault(line, {})[k] = made
    for line, made in left.items():
        for begin, end, put in sorted(made.values(), reverse=True):
            lines[line] = lines[line][:begin] + put + lines[line][end:]
    return "\n".join(lines), {k for made in left.values() for k in made}


class Together:
    def __init__(self, bench, chosen):
        self.bench, self.chosen, self.out, self.objects, self.folder_of_python = bench, chosen, set(), {}, bench.folder / "python"
        switch = bench.folder / "switch.hpp"
        switch.write_text(SWITCH)
        self.flags = ["-include", str(switch), "-fmax-errors=0", "-fPIC", "-O1", "-fno-inline"]  # fast, and with every function where a test finds it
        self.files = sorted({path for path, *_ in chosen.values()})
        self.inside = set()
        for path in self.files:
            self.write(path)

    def place(self, path):
        to = self.bench.folder / path.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        return to

    def write(self, path):
        here = {k: change for k, (p, *change) in self.chosen.items() if p == path and k not in self.out}
        text, inside = changed(path.read_text(), here)
        self.inside = {k for k in self.inside if self.chosen[k][0] != path} | inside
        self.place(path).write_text(text)

    def compile(self, source):
        """Compiles a source, with no changes on the lines that stop it. Objects that have one that a later source stops are right: nobody chooses it."""
        copy = self.place(source)
        if source.parts[len(ROOT.parts)] == "src" and source not in self.files:
            copy.write_text(source.read_text())
        at = copy if copy.exists() else source
        to = self.bench.folder / f"together{len(self.objects)}.o"
        for _ in range(12):
            if self.bench.compile(at, to, [f"-I{source.parent}", *self.flags]):
                self.objects[source] = to
                return
            bad = self.wrong(self.bench.said)
            if not bad:
                sys.exit(f"{source} does not compile: {self.bench.said[:3000]}")
            self.out |= bad
            print(f"{source.relative_to(ROOT)} does not compile with {len(bad)} of them", flush=True)
            for path in {self.chosen[k][0] for k in bad}:
                self.write(path)
        sys.exit(f"{source} does not compile: {self.bench.said[:3000]}")

    def wrong(self, said):
        """The changes on the lines of errors, or where what is wrong was made: the nearest line that has some."""
        at, bad, near = {}, set(), []
        for k in self.inside:
            at.setdefault((str(self.place(self.chosen[k][0])), self.chosen[k][1] + 1), set()).add(k)
        for line in said.split("\n"):
            if "In instantiation of" in line or "In substitution of" in line:
                near = []
            place = re.match(r"(\S+?):(\d+)", line)
            here = at.get((place[1], int(place[2]))) if place else None
            if place and re.search(r": (?:fatal )?error:", line):
                bad |= here or (near[0] if near else set())
            elif here:
                near.append(here)
        return bad

    def link(self, name, objects, to):
        tests = sorted(self.bench.tests.glob(f"test_{name}.dir/**/*.o")) if name else []
        tools = self.bench.tools
        linked = subprocess.run([tools["compiler"], "-Wl,-z,muldefs", *objects, *tests, self.bench.main, *tools["link"], "-o", to], capture_output=True, text=True)
        if linked.returncode != 0:
            sys.exit(f"{to.name} does not link: {linked.stderr[-2000:]}")

    def build(self):
        """The test programs in the order in which they are asked, by room."""
        linked = [p for p in self.files if is_linked(p)]
        sources = {s for p in linked for s in mutants.sources_of(p) + mutants.users_of(p)}
        for source in sorted(sources):
            self.compile(source)
        tests = {}
        for path in self.files:
            if path not in linked:
                tests[path] = mutants.tests_of(path, path.read_text())
        units = sorted({t for some in tests.values() for t in some})
        for unit in units:
            self.compile(unit)
        objects = [self.objects[s] for s in sorted(sources)]
        programs = {}
        for name in mutants.PROGRAMS:
            programs[name] = self.bench.folder / f"together_{name}"
            self.link(name, objects, programs[name])
        for unit in units:
            programs[unit] = self.bench.folder / f"together_{unit.parent.name}_{unit.stem}"
            self.link("", [self.objects[unit]], programs[unit])
        self.programs, self.tests = programs, tests
        self.link_module(objects)

    def link_module(self, objects):
        """The Python package of the build, with a module that has the changes."""
        tools, to = self.bench.tools, self.folder_of_python / "mlsysim"
        built = pathlib.Path(tools["binary_dir"])
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir(parents=True)
        for path in (built / "python" / "mlsysim").iterdir():
            if path.suffix == ".so":
                own = sorted((built / "bindings/python/CMakeFiles/mlsysim_python.dir").rglob("*.o"))
                linked = subprocess.run([tools["compiler"], "-shared", "-Wl,-z,muldefs", *objects, *own, *built.glob("src/cli/libmlsysim_program.a"), *tools["link"], "-o", to / path.name], capture_output=True, text=True)
                if linked.returncode != 0:
                    sys.exit(f"{path.name} does not link: {linked.stderr[-2000:]}")
            else:
                (to / path.name).symlink_to(path)

    def alone(self, text, path):
        """What the second program and the recorded answers say of one change, which no test program sees."""
        copy, objects = self.place(path), []
        copy.write_text(text)
        try:
            for source in mutants.sources_of(path) + mutants.users_of(path):
                objects.append(self.bench.folder / f"alone{len(objects)}.o")
                if not self.bench.compile(copy if source == path else source, objects[-1], [f"-I{source.parent}", "-fPIC", "-O1"]):
                    return "refused"
        finally:
            copy.unlink()
        self.link_module(objects)
        return "killed" if not self.agrees(-1, *SECOND) else "survived" if self.agrees(-1, *RECORDED) else "recorded"

    def agrees(self, k, script, *arguments):
        """Whether a script of the tests that asks the package sees no difference."""
        environment = self.environment(k) | {"PYTHONPATH": str(self.folder_of_python)}
        ran = subprocess.run([self.bench.tools["python"], ROOT / "tests" / script, *arguments], capture_output=True, text=True, preexec_fn=mutants.at_most(600), env=environment)
        if ran.returncode == 77:
            sys.exit(f"the package does not load: {ran.stdout[-1000:]}{ran.stderr[-1000:]}")
        return ran.returncode == 0

    @staticmethod
    def environment(k):
        return {**os.environ, "MLSYSIM_ZOO_PATH": str(ROOT / "zoo"), "MUTANT": str(k)}

    def passes(self, program, k):
        environment = self.environment(k)
        return subprocess.run([self.programs[program], "--abort", *mutants.APART.get(program, ())], capture_output=True, preexec_fn=mutants.at_most(240), cwd=self.bench.folder, env=environment).returncode == 0

    def fate(self, k):
        path = self.chosen[k][0]
        if k not in self.inside:  # no code stands for it: alone
            lines = path.read_text().split("\n")
            _, line, begin, end, _, now = self.chosen[k]
            lines[line] = lines[line][:begin] + now + lines[line][end:]
            for p in self.files:
                self.place(p).unlink(missing_ok=True)
            text = "\n".join(lines)
            if not is_linked(path):
                return self.bench.fate_of(text, path, self.tests[path])
            fate = self.bench.fate_of_source(text, path)
            return self.alone(text, path) if fate == "survived" else fate
        if not is_linked(path):
            return "survived" if all(self.passes(p, k) for p in self.tests[path]) else "killed"
        first = mutants.first_of(path)
        if not all(self.passes(p, k) for p in first) or not self.agrees(k, *SECOND):
            return "killed"
        if not self.agrees(k, *RECORDED):
            return "recorded"
        return "survived" if all(self.passes(p, k) for p in mutants.programs_of(path) if p not in first) else "killed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("toolchain", type=pathlib.Path)
    parser.add_argument("--room", choices=tuple(ROOMS), nargs="+", default=list(ROOMS))
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=pathlib.Path, help="file with a line for each change that was tried")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    rooms, chosen, said, tried = {}, {}, {}, {}
    if options.state and options.state.exists():
        tried = dict(json.loads(line) for line in options.state.read_text().splitlines())
    for room in options.room:
        every = mutants.every_of((room,))
        for change in random.Random(options.seed).sample(every, min(options.sample, len(every))):
            k = len(said)
            said[k] = mutants.said_of(*change)
            rooms[k] = room
            if not mutants.is_same(*change):
                chosen[k] = change
    counts = {room: {"refused": 0, "killed": 0, "recorded": 0, "survived": 0, "same": 0} for room in options.room}
    with tempfile.TemporaryDirectory() as name:
        bench = mutants.Bench(options.toolchain, pathlib.Path(name))
        left = {k: change for k, change in chosen.items() if said[k] not in tried}
        together = Together(bench, left)
        if left:
            together.build()
            print(f"{len(together.inside)} of {len(left)} changes stand in one build", flush=True)
            for program in together.programs:
                if not together.passes(program, -1):
                    sys.exit(f"{program} does not pass without a change")
            for script in (SECOND, RECORDED):
                if not together.agrees(-1, *script):
                    sys.exit(f"{script[0]} sees a difference without a change")
        # What stands in the build goes first: what is tried alone takes its files away.
        for k in sorted(said, key=lambda k: (k in left and k not in together.inside, k)):
            fate = "same" if k not in chosen else tried[said[k]] if said[k] in tried else together.fate(k)
            if options.state and k in left:
                with options.state.open("a") as file:
                    file.write(json.dumps([said[k], fate]) + "\n")
            counts[rooms[k]][fate] += 1
            if fate == "survived":
                print(f"{rooms[k]}: {said[k]}", flush=True)
            if sum(sum(c.values()) for c in counts.values()) % 20 == 0:
                print("; ".join(f"{room}: {mutants.share_of(c)}" for room, c in counts.items() if sum(c.values())), flush=True)
    for room, c in counts.items():
        print(f"{room}: {sum(c.values())} changes: {c['refused']} refused by the compiler, {c['same']} the same law, {mutants.share_of(c)}", flush=True)
    if options.out:
        options.out.write_text(json.dumps(counts, indent=1) + "\n")
    return 0 if all(c["killed"] + c["recorded"] >= 0.9 * mutants.compiled(c) for c in counts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
