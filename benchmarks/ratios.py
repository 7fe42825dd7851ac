"""Old against new: benchmarks and commands of two build folders, run in turn, with the ratio of their processor times.

usage: ratios.py <old build> <new build> [--filter REGEX] [--rounds N] [--out FILE]

The two take turns within each round, so that a busy machine slows both, and the least time of all rounds counts. What is over
the bound is measured for as many rounds again before it counts. A ratio over the bound fails.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import compare

BOUND = 1.05
GRAIN = 2e-3  # seconds of a command; smaller differences are the start of a process
SERVE = "Llama3_70B H100 --accelerators 8 --threads 1"
TRAIN = ("GPT3 A100 --mode train --accelerators 64 --batch-size 64 --threads 1 --axis recomputation=none,selective,full --axis zero_stage=0,1,2,3 "
         "--axis tp_size,pp_size=1x8,2x4,4x2,8x1,2x8,4x4,8x2,8x4 --axis microbatch_count=1..64 --minimize step_latency")
COMMANDS = {
    "version": "--version",
    "eval": "eval Llama3_8B H100",
    "sensitivity": "sensitivity Llama3_70B H100 itl --accelerators 8",
    "eval with an interval": "eval Llama3_8B H100 --interval 80",
    "decide over three machines": "decide Llama3_70B --on H100,H200,A100 --rate '10 request/s' --ttft '2 s' --itl '50 ms'",
    "proof along a fine axis": f"optimize {TRAIN} --axis overlap_efficiency=0..1:4000",
    "every plan": f"optimize {TRAIN} --axis overlap_efficiency=0..1:50 --strategy exhaustive",
    "search of a burst": f"optimize {SERVE} --load burst --axis batch_size=1..2048 --axis seq_len=512..8192+16 --minimize cost_per_token --subject-to 'itl <= 12 ms'",
    "search of a steady load": f"optimize {SERVE} --axis batch_size=1..512 --axis seq_len=512..8192+64 --minimize cost_per_token",
    "front of three objectives": f"pareto {SERVE} --load burst --axis batch_size=1..500 --axis seq_len=64..4096:64 --minimize itl --minimize -batch_size "
                                 "--minimize -seq_len --anything -o csv",
    "rows": f"sweep {SERVE} --load burst --axis batch_size=1..4096 --axis seq_len=512..4096:8 --show itl --rows rows.csv --force",
}


def command_seconds(build, words, folder):
    """Processor seconds of a command; a text where it fails, as an option that the older one does not have does."""
    environment = {k: v for k, v in os.environ.items() if k != "MLSYSIM_ZOO_PATH"}
    process = subprocess.Popen([build / "bin/mlsysim", *words], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read().decode()
    process.stderr.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 2):  # 2: it does not fit, which is an answer
        return f"exit code {process.returncode}: {said.strip()[:200]}"
    return used.ru_utime + used.ru_stime


def benchmark_seconds(program, names, folder):
    """{benchmark: seconds} of one run of a program."""
    for old in folder.glob("*.json"):
        old.unlink()
    subprocess.run([program, f"--benchmark_filter={names}", "--benchmark_min_time=0.05", f"--benchmark_out={folder}/run.json",
                    "--benchmark_out_format=json"], check=True, capture_output=True)
    return {name: entry["iteration"] / 1e9 for name, entry in compare.read_results(folder).items()}


def measured(builds, subject, rounds, folder, best):
    """Least seconds of each build by name, added to `best`."""
    kind, name, what = subject
    for _ in range(rounds):
        for build in builds:
            found = {name: command_seconds(build, what, folder)} if kind == "command" else benchmark_seconds(build / "bin" / name, what, folder)
            for key, seconds in found.items():
                mine = best.setdefault(key, {})
                mine[build] = seconds if isinstance(seconds, str) else min(mine.get(build, seconds), seconds)


def ratio_of(builds, times):
    """New over old; None where one of them has no time."""
    old, new = (times.get(b) for b in builds)
    if not isinstance(old, float) or not isinstance(new, float):
        return None
    return new / old


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--filter", default=".")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    builds = [options.old.resolve(), options.new.resolve()]
    subjects = [("command", name, shlex.split(words)) for name, words in COMMANDS.items() if re.search(options.filter, name)]
    subjects += [("benchmark", p.name, options.filter) for p in sorted((builds[1] / "bin").glob("bench_*")) if (builds[0] / "bin" / p.name).exists()]
    best, over, rows = {}, 0, []
    print(f"{'old':>11} {'new':>11} {'ratio':>6}")
    for subject in subjects:
        before = set(best)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            measured(builds, subject, options.rounds, folder, best)
            mine = [name for name in best if name not in before]
            slow = [n for n in mine if (ratio_of(builds, best[n]) or 0) > BOUND]
            if slow:
                again = subject if subject[0] == "command" else (*subject[:2], "|".join(f"^{re.escape(n)}$" for n in slow))
                measured(builds, again, options.rounds, folder, best)
        for name in mine:
            ratio = ratio_of(builds, best[name])
            old, new = (best[name].get(b) for b in builds)
            if ratio is None:
                print(f"{'':>30} {name}: {next((t for t in (new, old) if isinstance(t, str)), 'in one of the two only')}")
                continue
            bad = ratio > BOUND and (subject[0] == "benchmark" or new - old > GRAIN)
            over += bad
            rows.append({"name": name, "old": old, "new": new, "ratio": round(ratio, 3), "over": bad})
            print(f"{old * 1e6:>9.2f}us {new * 1e6:>9.2f}us {ratio:>6.2f} {name}{'  OVER' if bad else ''}", flush=True)
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1) + "\n")
    if not best:
        sys.exit(f"nothing is named like '{options.filter}'")
    print(f"{len(rows)} ratios, {over} over {BOUND}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
