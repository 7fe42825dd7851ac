"""Faults injected behind the reader and the writer of files, below allocations and at the clock: the program goes on with
the same answer or names what is wrong; nothing damaged is accepted, and what was killed is gone on with to the same bytes.

usage: run.py <mlsysim> <mlsysim-zoo-cache> <library of the faults> [--every] [--memory N] [--only SCENARIO] [--summary FILE]

Without --every, a few calls of each kind and scenario, the first and the last among them; with it, every call of every
kind, and --memory of the allocations of each scenario, evenly spread.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile

SPACE = ("Llama3_8B", "H100", "--accelerators", "8", "--axis", "batch_size=1..512", "--axis", "seq_len=512..4096:8", "--threads", "1")
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512, "intermediate_size": 1024,
          "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 1000, "torch_dtype": "bfloat16"}
MATRIX = """version: "1"
models: [Llama3_8B]
hardware: [H100, A100]
pipelines: {serve: {mode: serve, batch_size: 16, seq_len: 2048}}
metrics: {itl: {relative: 1 %}, memory_used: {relative: 1 %}}
"""
NO_MORE_ROOM, READ_ONLY, TOO_MANY_OPEN = 28, 30, 24
TRACES = ("terminate called", "Assertion", "unexpected:", "Segmentation", "runtime error")
LIMIT_S = 120

# What is tried: the kind, what follows its number in FAULTS, and whether the answer must be that without a fault.
KINDS = [("open", "", False), ("open", f":{TOO_MANY_OPEN}", False), ("open", f":{READ_ONLY}", False), ("read", "", False), ("write", "", False),
         ("write", f"+:{NO_MORE_ROOM}", False), ("fsync", "", False), ("rename", f":{READ_ONLY}", False), ("memory", "", False),
         ("memory", "+", False), ("short", "", True), ("interrupt", "", True), ("kill", "", False), ("torn", "", False)]
# Which count of the run without a fault says how many there are.
COUNTED = {"short": "write", "torn": "write", "kill": "files", "interrupt": "read"}

Scenario = collections.namedtuple("Scenario", "name command made grows again codes", defaults=((), (), None, (1,)))
"""`made`: files that are whole or what they were; `grows`: files that may be a beginning; `again`: what must give the answer of
an undisturbed run after any of it; `codes`: with which it may end."""

ROOT = pathlib.Path(__file__).resolve().parents[2]


def rows_of(path):
    """The rows of a database, as whoever opens it next finds them; one without tables has none."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        return [line for line in database.iterdump() if line.startswith("INSERT")]


class Broken(Exception):
    """What was found, in one line."""


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.tried = options, folder, collections.Counter()
        self.before = folder / "before"
        self.here = folder / "here"

    def run(self, command, cwd, **environment):
        plain = {k: v for k, v in os.environ.items() if not k.startswith(("FAULTS", "LD_PRELOAD", "MLSYSIM"))}
        return subprocess.run(command, cwd=cwd, env={**plain, **environment}, capture_output=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL)

    def faulty(self, command, cwd, **environment):
        self.tried["runs"] += 1
        return self.run(command, cwd, LD_PRELOAD=str(self.options.library), **environment)

    def fresh(self):
        shutil.rmtree(self.here, ignore_errors=True)
        shutil.copytree(self.before, self.here)

    def content(self, names):
        return {n: rows_of(self.here / n) if n.endswith(".sqlite") else (self.here / n).read_bytes() if (self.here / n).exists() else None
                for n in names}

    def reference(self, scenario):
        """(output, files, counts) of the run without a fault; the clock jumps so that states are written often."""
        self.fresh()
        old = self.content(scenario.made)
        counts = self.folder / "counts"
        done = self.faulty(scenario.command, self.here, FAULTS_CLOCK="20", FAULTS_COUNT=str(counts))
        if done.returncode != 0:
            raise Broken(f"{scenario.name}: without a fault it ends with {done.returncode}: {done.stderr.decode()}")
        found = dict(line.split() for line in counts.read_text().splitlines())
        return done.stdout, old, self.content(scenario.made), self.content(scenario.grows), {k: int(n) for k, n in found.items()}

    def numbers(self, kind, count):
        """Which calls of `count` are tried."""
        most = self.options.memory if kind == "memory" else count if self.options.every else self.options.cases
        if count <= most:
            return range(1, count + 1)
        return sorted({1 + round(i * (count - 1) / max(1, most - 1)) for i in range(most)})

    def check(self, scenario, reference, fault, must_be_same):
        output, old, made, grown, _ = reference
        self.fresh()
        done = self.faulty(scenario.command, self.here, FAULTS=fault, FAULTS_CLOCK="20")
        self.tried[fault.split(":")[0]] += 1
        said, killed = done.stderr.decode(errors="replace"), done.returncode == -9 and fault.startswith(("kill", "torn"))
        for trace in TRACES:
            if trace in said:
                raise Broken(f"'{trace}' in: {said.strip()}")
        if done.returncode == 0:
            if done.stdout != output:
                raise Broken(f"exit code 0 with another output: {done.stdout[:200]!r}")
            if self.content(scenario.made) != made or self.content(scenario.grows) != grown:
                raise Broken("exit code 0 with other files")
        elif must_be_same:
            raise Broken(f"exit code {done.returncode} where nothing is lost: {said.strip()}")
        elif not killed:
            if done.returncode not in scenario.codes or not said.strip():
                raise Broken(f"exit code {done.returncode}: {said.strip()}")
            left = [p.name for p in self.here.iterdir() if p.name.endswith((".part", ".lock"))]
            # Without memory a library may end the process at once; a lock of a process that is gone holds nobody up.
            if left and not fault.startswith("memory"):
                raise Broken(f"left behind: {', '.join(left)}")
        for name, now in self.content(scenario.made).items():
            if now not in (None, old[name], made[name]) and not (scenario.again and name.endswith(".json")):
                raise Broken(f"{name} is neither what it was nor what it is to be")
        for name, now in self.content(scenario.grows).items():
            if now is not None and not grown[name].startswith(now):
                raise Broken(f"{name} is no beginning of what it is to be")
        if scenario.again:
            self.go_on(scenario, output, grown)

    def go_on(self, scenario, output, grown):
        self.tried["gone on with"] += 1
        done = self.run(scenario.again, self.here)
        if done.returncode != 0:
            raise Broken(f"it cannot be gone on with: {done.stderr.decode(errors='replace').strip()}")
        if done.stdout != output:
            raise Broken(f"gone on with it has another answer: {done.stdout[:200]!r}")
        if self.content(scenario.grows) != grown:
            raise Broken("gone on with it has other rows")

    def prepare(self, program, cache):
        """Files that are there before: a model, the states of two shards, an unfinished sweep, a small zoo."""
        self.before.mkdir()
        (self.before / "config.json").write_text(json.dumps(CONFIG))
        (self.before / "matrix.yaml").write_text(MATRIX)
        zoo = self.before / "zoo"
        zoo.mkdir()
        shipped = pathlib.Path(program).resolve().parent.parent / "share" / "mlsysim" / "zoo"
        for name in ("references.yaml", "catalogue.yaml", "units.yaml"):
            if (shipped / name).exists():
                shutil.copy(shipped / name, zoo)
        for k in (1, 2):
            done = self.run([program, "optimize", *SPACE, "--minimize", "itl", "--shard", f"{k}/2", "--state", f"part{k}.json"], self.before)
            if done.returncode != 0:
                raise Broken(done.stderr.decode())
        # Unfinished: killed at the write that follows its second state.
        half = [program, "sweep", *SPACE, "--show", "itl", "--rows", "half.csv", "--state", "half.json"]
        self.faulty(half, self.before, FAULTS="torn:7", FAULTS_CLOCK="20")
        for left in self.before.glob("*.lock"):
            left.unlink()
        state = json.loads((self.before / "half.json").read_text())
        if not state["first"] < state["next"] < state["last"]:
            raise Broken(f"the unfinished sweep is at {state['next']} of {state['last']}")


def scenarios(program, cache):
    rows = (program, "sweep", *SPACE, "--show", "itl", "--rows")
    shard = (program, "optimize", *SPACE, "--strategy", "exhaustive", "--minimize", "itl", "-o", "json", "--state", "search.json")
    ci = (program, "ci", "run", "matrix.yaml", "--no-baseline", "-o", "json", "--commit", "two", "--time", "1", "--history", "history.sqlite", "--state", "run.json")
    fit = (program, "calibrate", "--device", "A100", "--table", "kernels/azure_hbm_a100_h100", "--constant", "efficiency.memory")
    return [
        Scenario("sweep", (*rows, "rows.csv", "--state", "state.json"), grows=("rows.csv",),
                 again=(*rows, "rows.csv", "--state", "state.json", "--resume")),
        Scenario("resume", (*rows, "half.csv", "--state", "half.json", "--resume"), grows=("half.csv",),
                 again=(*rows, "half.csv", "--state", "half.json", "--resume")),
        Scenario("search", shard, made=(), again=(*shard, "--resume")),
        Scenario("merge", (program, "merge", "part1.json", "part2.json", "-o", "json"), made=("part1.json", "part2.json")),
        Scenario("cache", (cache, "zoo", "zoo.cache"), made=("zoo.cache",)),
        Scenario("calibrate", (*fit, "--write", "a100.yaml", "--date", "2026-01-01", "-o", "json"), made=("a100.yaml",)),
        Scenario("import", (program, "import", "config.json")),
        Scenario("history", ci, made=("history.sqlite",), again=(*ci, "--resume"), codes=(1, 2, 4, 5)),
        Scenario("report", (program, "validate", "kernels/azure_hbm_a100_h100", "--html", "report.html", "-o", "json"), made=("report.html",)),
    ]


def surroundings(bench, program):
    """A disk that is full, folders that take nothing, no home, no /tmp, a clock that runs backwards."""
    plain = (program, "sweep", *SPACE, "--show", "itl", "--rows", "rows.csv", "--state", "state.json")
    search = (program, "optimize", *SPACE, "--minimize", "itl", "-o", "json")
    bench.fresh()
    answer = bench.run(search, bench.here).stdout
    bench.run(plain, bench.here)
    rows = (bench.here / "rows.csv").read_bytes()

    def same(what, **environment):
        bench.fresh()
        done = bench.faulty(search, bench.here, **environment)
        if (done.returncode, done.stdout) != (0, answer):
            raise Broken(f"{what}: {done.returncode}, {done.stderr.decode().strip()}")
        done = bench.faulty(plain, bench.here, **environment)
        if done.returncode != 0 or (bench.here / "rows.csv").read_bytes() != rows:
            raise Broken(f"{what}: {done.returncode}, {done.stderr.decode().strip()}")

    def refused(what, command, **environment):
        bench.fresh()
        done = bench.faulty(command, bench.here, **environment)
        said = done.stderr.decode()
        if done.returncode != 1 or not said.startswith("mlsysim: error: ") or done.stdout:
            raise Broken(f"{what}: exit code {done.returncode}: {said.strip()}")

    for where in ("/nowhere", ""):
        same(f"HOME={where!r}", HOME=where, XDG_CONFIG_HOME=where, XDG_DATA_HOME=where, XDG_CACHE_HOME=where, TMPDIR=where)
    # The build itself may lie below it, and the folder of this test with it.
    same("no /tmp", FAULTS_WITHOUT="/tmp/", FAULTS_BESIDE=f"{ROOT}/:{program.parents[1]}/:{bench.here}/")
    for step in ("-3600", "-0.5", "86400"):
        same(f"a clock that goes {step} s at each look", FAULTS_CLOCK=step)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(search, cwd=bench.here, stdout=full, stderr=subprocess.PIPE)
    if done.returncode != 1 or not done.stderr.startswith(b"mlsysim: "):
        raise Broken(f"/dev/full as output: exit code {done.returncode}, {done.stderr.decode().strip()}")
    refused("rows to /dev/full", (*plain[:-4], "--rows", "/dev/full"))
    for folder in ("/sys", "/proc"):
        refused(f"rows in {folder}", (*plain[:-4], "--rows", f"{folder}/mlsysim-rows.csv"))
        refused(f"a state in {folder}", (*search, "--state", f"{folder}/mlsysim-state.json"))
    # A limit of the size of files, as batch systems set it: an error with the name, and the run is gone on with.
    bench.fresh()
    few = len(rows) // 2
    done = subprocess.run(plain, cwd=bench.here, capture_output=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (few, few)))
    if done.returncode != 1 or b"File too large" not in done.stderr or b"rows.csv" not in done.stderr:
        raise Broken(f"files of at most {few} bytes: exit code {done.returncode}, {done.stderr.decode().strip()}")
    bench.run((*plain, "--resume"), bench.here)
    if (bench.here / "rows.csv").read_bytes() != rows:
        raise Broken(f"files of at most {few} bytes: other rows after --resume")
    bench.tried["surroundings"] = 12


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("cache")
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--cases", type=int, default=3)
    parser.add_argument("--memory", type=int, default=4)
    parser.add_argument("--only", default="")
    parser.add_argument("--summary", type=pathlib.Path)
    options = parser.parse_args()
    # They are run in other folders than this.
    for name in ("program", "cache", "library"):
        setattr(options, name, pathlib.Path(getattr(options, name)).resolve())
    problems, sampled = [], []
    # Where nothing waits for a disk, else beside the build; not in /tmp, which is taken away in one case.
    memory = pathlib.Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else options.library.resolve().parent) as folder:
        bench = Bench(options, pathlib.Path(folder))
        bench.prepare(options.program, options.cache)
        if options.only in ("", "surroundings"):
            try:
                surroundings(bench, options.program)
            except Broken as broken:
                problems.append(f"surroundings: {broken}")
        for scenario in scenarios(options.program, options.cache):
            if options.only not in ("", scenario.name):
                continue
            reference = bench.reference(scenario)
            there = reference[4].get("memory", 0)
            sampled.append(f"{scenario.name}: {len(bench.numbers('memory', there))} of {there}")
            for kind, rest, must_be_same in KINDS:
                for n in bench.numbers(kind, reference[4].get(COUNTED.get(kind, kind), 0)):
                    fault = f"{kind}:{n}{rest}"
                    try:
                        bench.check(scenario, reference, fault, must_be_same)
                    except Broken as broken:
                        problems.append(f"{scenario.name}, {fault}: {broken}")
                    except subprocess.TimeoutExpired:
                        problems.append(f"{scenario.name}, {fault}: not ended after {LIMIT_S} s")
    for problem in problems:
        print(problem)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    tried = dict(bench.tried)
    print(f"{tried.get('runs', 0)} runs with a fault, {len(problems)} problems, {used.ru_utime + used.ru_stime:.0f} s of processor time: {tried}"
          + (f"; allocations that fail, alone and with all that follow: {', '.join(sampled)}" if sampled else ""))
    if options.summary:
        options.summary.write_text(json.dumps({"tried": tried, "problems": len(problems), "every": options.every}) + "\n")
    return 1 if problems or not bench.tried else 0


if __name__ == "__main__":
    sys.exit(main())
