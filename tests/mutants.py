"""Changes the code that predicts, one operator or constant at a time, and asks its tests: a change that no test sees survives.

usage: mutants.py <toolchain.json of a finished build> [--room ROOM] [--only NAME] [--sample N] [--seed N] [--seconds N] [--state FILE] [--out FILE]

Files are changed in a copy. Laws and lowering are templates: the tests of such a header are those files of tests/unit that name a struct
or function of it, compiled anew at -O0 and linked with the libraries of the build. Of the other rooms, and of every source, what is
compiled anew are the sources of SOURCES that read the file; they stand before the libraries, whose own copy is then not taken, and the test
programs of the build are linked again; where a change survives, the resolvers that name the header, and may inline it, are compiled anew too. What the compiler refuses (most wrong products: dimensions are types) is counted on its own.
Code that the libraries have inlined elsewhere does not see a change here, so the share that is killed is a lower bound. Limits are of the processor's time, so that a busy machine changes no fate; --state keeps what
became of each change, and that the tests pass without one, and a run that was stopped goes on from there.
"""

import argparse
import functools
import json
import math
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The files of each room. Software that runs models is in specs (releases, schedulers), timing (its kernels) and estimate (its memory).
ROOMS = {
    "physics": ["include/mlsysim/physics/*.hpp"],
    "lowering": ["include/mlsysim/lowering/*.hpp", "src/lowering/*.cpp"],
    "timing": ["include/mlsysim/timing/**/*.hpp", "src/timing/**/*.?pp"],
    "estimate": ["include/mlsysim/estimate/**/*.hpp", "src/estimate/*.?pp"],
    "engine": ["src/engine/settle.cpp", "src/engine/problem_laws.cpp"],
    "specs": ["src/specs/*.cpp"],
}
# The sources in which templates of timing and estimate are made of doubles, and the programs that see them.
SOURCES = ["src/timing/views/*.cpp", "src/timing/textbook/*.cpp", "src/timing/*.cpp", "src/timing/operators/operators_[!r]*.cpp", "src/estimate/[!p]*.cpp"]
USERS = ["src/resolvers/**/*.cpp", "src/engine/*.cpp"]
PROGRAMS = ("lowering", "specs", "model_files", "resolvers", "engine")
# Tests that compare numbers with a recording of them, of which the sources are not compiled anew: they would see any change of a header.
APART = {"engine": ["~[problem]~*straggler*"], "resolvers": ["~the plan that an optimizer finds*"]}
# The programs that see most of a room: they are linked and run first, and one that fails is enough.
FIRST = {"lowering": ("lowering",), "specs": ("specs",), "timing": ("lowering", "resolvers"), "estimate": ("resolvers", "model_files"), "engine": ("engine", "resolvers")}
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
    ("if (m.cross) add_mixer(", "0.0", "how many layers a mixer has is set once all are found"),
    *((start, "0.0", "how many layers a mixer has is set once all are found") for start in ("if (m.linear) return {", "if (m.state_space) return {", "if (m.latent) return {",
                                                                                             "if (is_compressed(*m.grouped)) return {", "return {grouped(*m.grouped), reach(r)")),
    ("const FeedForwardView<> made{view(), 0.0};", "", "of this view its rule alone is read"),
    ("tuned = select(away < T{0.5}", "0.5", "experts and widths of shapes are counts"),
    ("const auto there = tuned > T{0.5};", ">", "a flag against a half"),
    ("const Time<T> library = min(ring, select(l.switch_share > T{0.0}", ">", "a switch with no share of a link takes for ever, and the ring is taken"),
    ("if (out.overload > 0) return out;", "0", "it spares a search whose end is not taken"),
    ("double ranks = 1, tensor_parallel = 1;", "", "the one maker of an EngineDemand names them"),
    ("if (share < 1) hold(outside,", "<", "nothing is held of nothing"),
    ("const T gap = in.spare - in.lacks, safe =", "1.0", "without a gap both ends lack nothing, and the quotient is 0"),
    ("for (int i = 0; i < 200 && exceeding(line, service, service_cv, high) > above; ++i) {", ">", "an end that is reached exactly bounds the bisection, too"),
    ("const PassBreakdown<T> cost = times == 1 ?", "1", "once a cost is the cost"),
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


def files_of(patterns):
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern)})


@functools.cache
def includes_of(path):
    """The files of the library that a file names."""
    named = re.findall(r'^#include ([<"])([^">]+)[>"]', path.read_text(), re.M)
    found = [[folder / name for folder in ((ROOT / "include",) if quote == "<" else (path.parent, ROOT / "src")) if (folder / name).is_file()] for quote, name in named]
    return [files[0] for files in found if files]


@functools.cache
def read_by(path):
    """The files of the library that a file reads, itself and over others."""
    seen, left = {path}, [path]
    while left:
        more = set(includes_of(left.pop())) - seen
        seen |= more
        left += more
    return seen


def sources_of(path):
    """What must be compiled anew where a file is another."""
    return [path] if path.suffix == ".cpp" else [source for source in files_of(SOURCES) if path in read_by(source)]


def users_of(path):
    """Sources beside those that name a header: its code may be inlined there, where no test would see a change. Compiled anew for a change that survives else."""
    seen = sources_of(path)
    return [] if path.suffix == ".cpp" else [source for source in files_of(USERS) if path in includes_of(source) and source not in seen]


def first_of(path):
    """The test programs that see most of a file that is compiled into the libraries."""
    return FIRST.get(next(name for name, patterns in ROOMS.items() if path in files_of(patterns)), ())


def programs_of(path):
    """What sees a file that is compiled into the libraries: test programs, which inline nothing, the first ones first."""
    first = first_of(path)
    return (*first, *(name for name in PROGRAMS if name not in first))


def at_most(seconds):
    """What a child does first: takes so much of the processor and no more."""
    return lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


class Bench:
    def __init__(self, toolchain, folder):
        self.tools, self.folder, self.said = json.loads(toolchain.read_text()), folder, ""
        self.flags = ["-O0", "-std=c++20", "-ffp-contract=off", "-DFMT_SHARED", "-w", f"-I{folder}/include", f"-I{folder}/src", f"-I{ROOT}/include", f"-I{ROOT}/src", f"-I{ROOT}/tests",
                      f'-DMLSYSIM_SOURCE_DIR="{ROOT}"', f'-DMLSYSIM_BINARY_DIR="{self.tools["binary_dir"]}"']
        self.main, self.tests = folder / "main.o", pathlib.Path(self.tools["binary_dir"]) / "tests/unit/CMakeFiles"
        self.compile(ROOT / "tests" / "support" / "catch_main.cpp", self.main)
        catch = folder / "catch.hpp"  # most of what a test reads, and never changed: read once
        catch.write_text(f'#include "{ROOT}/tests/support/catch.hpp"\n')
        subprocess.run([self.tools["compiler"], *self.flags, "-x", "c++-header", catch, "-o", f"{catch}.gch"], check=True)
        self.flags += ["-include", str(catch)]

    def compile(self, source, to, more=()):
        # Without ccache: no change is seen twice.
        ran = subprocess.run([self.tools["compiler"], *self.flags, *more, "-c", source, "-o", to], capture_output=True, text=True, preexec_fn=at_most(600))
        self.said = ran.stderr
        return ran.returncode == 0

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

    def program_passes(self, name, objects):
        """Whether a test program of the build passes with these objects in the place of its libraries' own."""
        program, tests = self.folder / "test", sorted(self.tests.glob(f"test_{name}.dir/**/*.o"))
        if not tests:
            sys.exit(f"test_{name} is not built")
        linked = subprocess.run([self.tools["compiler"], "-Wl,-z,muldefs", *objects, *tests, self.main, *self.tools["link"], "-o", program], capture_output=True, text=True)
        if linked.returncode != 0:
            sys.exit(f"test_{name} does not link: {linked.stderr[-2000:]}")
        environment = {**os.environ, "MLSYSIM_ZOO_PATH": str(ROOT / "zoo")}
        return subprocess.run([program, "--abort", *APART.get(name, ())], capture_output=True, preexec_fn=at_most(240), cwd=self.folder, env=environment).returncode == 0

    def fate_of_source(self, text, path):
        """As fate_of, of a file that is compiled into the libraries."""
        copy = self.folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
        objects, first = [], first_of(path)

        def compiled(sources):
            for source in sources:
                objects.append(self.folder / f"source{len(objects)}.o")
                # A source of the copy still reads its neighbours where they are.
                if not self.compile(copy if source == path else source, objects[-1], [f"-I{source.parent}"]):
                    return False
            return True

        try:
            # The passes and steps first: what they show needs no other source.
            sources = sorted(sources_of(path), key=lambda source: source.stem not in ("operators_pass", "operators_step"))
            for some in (sources[:2], sources[2:]) if len(sources) > 3 else (sources,):
                if not compiled(some):
                    return "refused"
                if not all(self.program_passes(name, objects) for name in first):
                    return "killed"
            users = users_of(path)
            if not compiled(users):
                return "refused"
            return "survived" if all(self.program_passes(name, objects) for name in programs_of(path) if users or name not in first) else "killed"
        finally:
            copy.unlink()

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


def every_of(rooms, only=""):
    """(file, line, column, end, what stands there, what is put there) of all changes of rooms."""
    texts = {p: p.read_text() for room in rooms for p in files_of(ROOMS[room]) if only in p.name}
    return [(p, *m) for p, text in texts.items() if seen_by(p, text) for m in mutants_of(text)]


def is_linked(path):
    """Whether a file is compiled into the libraries: laws and lowering are templates of the tests."""
    return path.suffix == ".cpp" or path.parts[len(ROOT.parts) + 2] not in ("physics", "lowering")


def seen_by(path, text):
    return programs_of(path) if is_linked(path) else tests_of(path, text)


def said_of(path, line, begin, end, was, now):
    """A change in words."""
    whole = path.read_text().split("\n")[line]
    return f"{path.relative_to(ROOT)}:{line + 1}: '{was.strip()}' -> '{now.strip()}': {(whole[:begin] + now + whole[end:]).strip()}"


def is_same(path, line, begin, end, was, now):
    """Whether a change is no other law."""
    whole = path.read_text().split("\n")[line].strip()
    return any(whole.startswith(start) and what in ("", was.strip()) for start, what, _ in SAME)


def wilson(hits, of, z=1.96):
    """The interval of 95 % of a share."""
    middle, half = hits + z * z / 2, z * math.sqrt(hits * (of - hits) / of + z * z / 4)
    return (middle - half) / (of + z * z), (middle + half) / (of + z * z)


def compiled(counts):
    return counts["killed"] + counts.get("recorded", 0) + counts["survived"]


def share_of(counts):
    """How many of the changes that compile were killed, in words, and where recorded answers were asked, how many more these saw."""
    seen, recorded = compiled(counts), counts.get("recorded", 0)
    if not seen:
        return "none compiled"

    def share(hits):
        low, high = wilson(hits, seen)
        return f"{100 * hits / seen:.0f} %, 95 % interval {100 * low:.0f} to {100 * high:.0f} %"

    text = f"{counts['killed']} of {seen} that compile killed: {share(counts['killed'])}"
    return f"{text}; with {recorded} that recorded answers see {share(counts['killed'] + recorded)}" if recorded else text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("toolchain", type=pathlib.Path)
    parser.add_argument("--room", choices=(*ROOMS, "all"), default="all")
    parser.add_argument("--only", default="", help="files with this in their name")
    parser.add_argument("--sample", type=int, default=0, help="so many changes at random (default: every one)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=0, help="of the processor; what is not tried by then is not counted")
    parser.add_argument("--state", type=pathlib.Path, help="file with a line for each change that was tried")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    rooms = ROOMS if options.room == "all" else (options.room,)
    headers = {p: p.read_text() for room in rooms for p in files_of(ROOMS[room]) if options.only in p.name}
    linked = {p for p in headers if p.suffix == ".cpp" or p.parts[len(ROOT.parts) + 2] not in ("physics", "lowering")}
    tests = {p: programs_of(p) if p in linked else tests_of(p, text) for p, text in headers.items()}
    untested = [p.name for p in headers if not tests[p] and list(mutants_of(headers[p]))]
    every = [(p, *m) for p, text in headers.items() if tests[p] for m in mutants_of(text)]
    if not every:
        sys.exit("nothing to change")
    chosen = random.Random(options.seed).sample(every, min(options.sample, len(every))) if options.sample else every
    counts, survivors, unchanged = {"refused": 0, "killed": 0, "survived": 0, "same": 0}, [], set()
    tried = dict(json.loads(line) for line in options.state.read_text().splitlines()) if options.state and options.state.exists() else {}

    def keep(said, fate):
        if options.state:
            with options.state.open("a") as file:
                file.write(json.dumps([said, fate]) + "\n")

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
                text = "\n".join(lines)
                for test in tests[path]:
                    baseline = f"{test.relative_to(ROOT) if isinstance(test, pathlib.Path) else test}: no change"
                    passed = test in unchanged or baseline in tried or (bench.passes(test) if isinstance(test, pathlib.Path) else bench.program_passes(test, []))
                    if not passed:
                        sys.exit(f"{test} does not {'compile' if passed is None else 'pass'} without a change\n{bench.said[:2000] if passed is None else ''}")
                    if test not in unchanged and baseline not in tried:
                        keep(baseline, "passes")
                    unchanged.add(test)
                fate = bench.fate_of_source(text, path) if path in linked else bench.fate_of(text, path, tests[path])
                keep(said, fate)
            counts[fate] += 1
            if fate == "survived":
                survivors.append(said)
                print(said, flush=True)
            if sum(counts.values()) % 10 == 0:  # a run that is stopped has said its share so far
                print(f"{sum(counts.values())} tried: {share_of(counts)}", flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seen = counts["killed"] + counts["survived"]
    share = counts["killed"] / seen if seen else 1.0
    print(f"{sum(counts.values())} of {len(every)} changes: {counts['refused']} refused by the compiler, {counts['same']} the same law, {share_of(counts)}; "
          f"{used.ru_utime + used.ru_stime:.0f} s; no direct test: {', '.join(untested) or 'none'}")
    if options.out:
        options.out.write_text(json.dumps({**counts, "of": len(every), "share": share, "survivors": survivors, "untested": untested}, indent=1) + "\n")
    return 0 if share >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
