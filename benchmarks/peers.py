"""Processor time of the same questions here and in other packages, taken in turn in one run.

usage: peers.py <build> [--folder DIR] [--only NAME] [--rounds N] [--write]

Each package is installed from the package index, at the version below, into an environment of its own in the folder, and kept
there. A package that cannot be installed is a row that says so. Every round asks first one and then the other, each in a process
of its own; the least time of all rounds counts. --write also writes docs/reference/speed.md.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/speed.md"

# What both sides run: `start` once, then `ask` until a tenth of a second is full.
HARNESS = """
import json, logging, sys, time, warnings
warnings.simplefilter("ignore"); logging.disable(logging.CRITICAL)
start, ask, most = json.load(sys.stdin)
names = {}
exec(start, names)
run = eval("lambda: " + ask, names)
run()
first, count, best = time.process_time(), 1, float("inf")
while most > 0:
    now = time.process_time()
    for _ in range(count):
        run()
    taken = time.process_time() - now
    best, most = min(best, taken / count), most - taken
    count = count if taken > 0.01 else 2 * count
json.dump({"first": first, "answer": best}, sys.stdout)
"""

OURS = """
import mlsysim
from mlsysim.resolvers import DistributedModel, ServingModel
M, H100, A100 = mlsysim.Models, mlsysim.Hardware.Cloud.H100, mlsysim.Hardware.Cloud.A100
C = mlsysim.Systems.Clusters
"""
REFERENCE = """
import mlsysim as R
M, H100, C = R.Models.Language, R.Hardware.Cloud.H100, R.Systems.Clusters
serving, training = R.solvers.ServingModel(), R.solvers.DistributedModel()
"""
SERVED = "ServingModel.solve(workload=M.{}, hardware=H100, tp_size=8, batch_size={}, seq_len=2048, precision='fp16', fidelity='{}')"
TRAINED = "DistributedModel.solve(model=M.GPT3, fleet=C.{}, batch_size=256, tp_size=8, pp_size=8, microbatch_count=16)"

# Package and version; the question; how it is asked there; how it is asked here.
QUESTIONS = [
    ("ridgepoint==0.1.2", "Llama 3 70B on 8 H100: memory and roofline of a request", "import ridgepoint",
     "ridgepoint.fit('llama-3-70b', 'h100-80gb', count=8, ctx=2176, prompt=2048)", SERVED.format("Llama3_70B", 1, "textbook")),
    ("llm-analysis==0.2.2", "Llama 2 70B on 8 H100, batch 16: serving", "from llm_analysis.analysis import infer",
     "infer(model_name='upstage_Llama-2-70b-instruct-v2', gpu_name='h100-sxm-80gb', tp_size=8, batch_size_per_gpu=16, seq_len=2048, "
     "num_tokens_to_generate=128, flops_efficiency=0.5, hbm_memory_efficiency=0.8, log_level='CRITICAL')", SERVED.format("Llama2_70B", 16, "operator")),
    ("llm-analysis==0.2.2", "GPT-3 175B, 8 tensor and 8 pipeline ranks: a training step", "from llm_analysis.analysis import train",
     "train(model_name='megatron-lm-175b', gpu_name='a100-sxm-80gb', tp_size=8, pp_size=8, total_num_gpus=1024, global_batch_size=256, "
     "batch_size_per_gpu=1, seq_len=2048, flops_efficiency=0.5, total_num_tokens=300e9, log_level='CRITICAL')", TRAINED.format("Training_1K_A100")),
    ("mlsysim==0.3.0", "Llama 3 70B on an H100, batch 16: one pass", REFERENCE, "R.Engine.solve(M.Llama3_70B, H100, batch_size=16)",
     "mlsysim.Engine.solve(M.Llama3_70B, H100, 16)"),
    ("mlsysim==0.3.0", "Llama 3 70B, batch 16: serving", REFERENCE, "serving.solve(M.Llama3_70B, H100, seq_len=2048, batch_size=16)",
     SERVED.format("Llama3_70B", 16, "operator")),
    ("mlsysim==0.3.0", "GPT-3 175B, 8 tensor and 8 pipeline ranks: a training step", REFERENCE,
     "training.solve(model=M.GPT3, fleet=C.Frontier_8K, batch_size=256, tp_size=8, pp_size=8, microbatch_count=16)", TRAINED.format("Frontier_8K")),
]
# Without a package of that name on the index: their authors ship sources alone.
SOURCES_ALONE = ("LLM-Viewer", "Calculon")


def installed(package, folder):
    """An interpreter that has the package, or a text that says why there is none."""
    home = folder / package.replace("==", "-")
    python = home / "bin/python"
    if not (home / "installed").exists():
        venv.create(home, with_pip=True, clear=True)
        done = subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", package], capture_output=True, text=True)
        if done.returncode:
            return f"cannot be installed: {done.stderr.strip().splitlines()[-1][:120]}"
        (home / "installed").touch()
    return python


def asked(python, start, ask, environment, seconds):
    done = subprocess.run([python, "-c", HARNESS], input=json.dumps([start, ask, seconds]), capture_output=True, text=True, env=environment)
    if done.returncode:
        return f"fails: {done.stderr.strip().splitlines()[-1][:120]}"
    return json.loads(done.stdout[done.stdout.rindex('{"first"'):])


def command_seconds(command, environment):
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}")
    return used.ru_utime + used.ru_stime


def time_text(seconds):
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


def measured(question, python, build, rounds, ours, theirs):
    """Least seconds: (one answer there, here), (a process with one answer there, here)."""
    _, _, start, ask, here = question
    best = None
    for turn in range(rounds):
        for seconds in (0, 0.1):  # a process with its first answer; then many of them
            both = (asked(python, start, ask, theirs, seconds), asked(sys.executable, OURS, here, ours, seconds))
            if failed := next((b for b in both if isinstance(b, str)), None):
                return failed
            best = best or {"first": [float("inf")] * 2, "answer": [float("inf")] * 2}
            key = "answer" if seconds else "first"
            best[key] = [min(b, x[key]) for b, x in zip(best[key], both)]
    return best


def row(question, found):
    if isinstance(found, str):
        return f"| {question[0].replace('==', ' ')} | {question[1]} | {found} |  |  |  |  |"
    (there, here), (first, own) = found["answer"], found["first"]
    return (f"| {question[0].replace('==', ' ')} | {question[1]} | {time_text(there)} | {time_text(here)} | {there / here:,.{1 if there < 10 * here else 0}f} | {time_text(first)} | {time_text(own)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/peers")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"also write {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    build = options.build.resolve()
    theirs = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    ours = {**theirs, "PYTHONPATH": str(build / "python")}
    lines = ["| package | question | there | here | times faster | process there | process here |", "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    for question in QUESTIONS:
        if options.only not in question[0] + question[1]:
            continue
        python = installed(question[0], options.folder)
        found = python if isinstance(python, str) else measured(question, python, build, options.rounds, ours, theirs)
        lines.append(row(question, found))
        print(lines[-1], file=sys.stderr, flush=True)
    lines += [f"| {name} | - | sources alone, no package: not asked |  |  |  |  |" for name in SOURCES_ALONE]
    start = {name: min(command_seconds([build / "bin/mlsysim", *words], theirs) for _ in range(options.rounds))
             for name, words in (("eval", ("eval", "Llama3_8B", "H100")), ("--version", ("--version",)))}
    processor = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")),
                     platform.machine())
    cache = (build / "CMakeCache.txt").read_text().splitlines()
    flags = next(line.split("=", 1)[1] for line in cache if line.startswith("CMAKE_CXX_FLAGS_RELEASE:"))
    told_by = (f"Processor time, least of {options.rounds} rounds in turn, {datetime.date.today()}, {processor}, Python {platform.python_version()}, "
               f"compiled with `{flags}`. "
               f"A process starts Python, imports and answers once. The command: `mlsysim eval` {time_text(start['eval'])}, `--version` "
               f"{time_text(start['--version'])}. Answers differ in what they hold, so ratios are of calls.")
    text = "\n".join(lines) + f"\n\n{told_by}\n"
    print(text)
    if options.write:
        PAGE.write_text(f"# Speed beside other packages\n\nWritten by `scripts/bench --peers --write`.\n\n{text}")


if __name__ == "__main__":
    main()
