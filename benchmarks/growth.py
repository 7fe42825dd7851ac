"""How processor time and memory of the command grow with what a user can make large: slopes on log scales, each with its
bound. A slope over its bound fails.

usage: growth.py <mlsysim> [--only NAME] [--out FILE]

The time is that of the processor, so that a busy machine does not matter much, and the least of three runs counts. What a run
of the smallest size takes is taken off first: it is the start of the program. A difference below the grain (20 ms, 4 MiB) is
no growth. A slope of 1 is "twice as much of it, twice the time".
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

GRAIN_S, GRAIN_BYTES = 0.02, 4 << 20
MODEL = """schema: mlsysim/model@2
entries:
- name: Grown
  source: {{kind: illustrative, recorded: 2026-01-01, note: "for the growth gates"}}
  architecture: decoder
  max_positions: 131072
  stacks:
  - hidden: 512
    layers:
{layers}
    mixer: {{grouped: {{heads: 8, kv_heads: 4, head_dim: 64}}}}
    feed_forward: {{dense: {{width: 1024}}}}
    input: {{vocab: 1000}}
"""
DEVICE = """- name: Grown_{i}
  source: {{kind: illustrative, recorded: 2026-01-01, note: "for the growth gates"}}
  category: cloud
  compute: {{dense: {{bf16: 500 TFLOP/s}}, vector: {{fp32: 30 TFLOP/s}}, units: 100, default_precision: bf16}}
  memory: {{capacity: 80 GiB, bandwidth: 3 TB/s, l2_cache: 40 MiB}}
  device_link: {{bandwidth: 400 GB/s}}
  host_link: {{bandwidth: 64 GB/s}}
  power: {{tdp: 600 W}}
  unit_cost: 20000 USD
"""
BREAK = ('V1206 15:20:14.089000 1 torch/x.py:1] {"compilation_metrics": {"co_filename": "/x/model.py", "co_firstlineno": 7, "co_name": "forward", '
         '"restart_reasons": ["Graph break: data-dependent branch"]}, "frame_id": %d, "frame_compile_id": 0}')
LOGS = pathlib.Path(__file__).resolve().parents[1] / "tests/data/compile"
SERVE = ("Llama3_8B", "H100", "--accelerators", "8", "--threads", "1")


def points(n, folder):
    return ("optimize", *SERVE, "--strategy", "exhaustive", "--axis", f"batch_size=1..{n // 8}", "--axis", "seq_len=512..4096:8", "--minimize", "itl")


def rows(n, folder):
    return ("sweep", *SERVE, "--axis", f"batch_size=1..{n // 8}", "--axis", "seq_len=512..4096:8", "--show", "itl", "--rows", folder / "rows.csv", "--force")


def axis(n, folder):
    return ("optimize", *SERVE, "--strategy", "exhaustive", "--axis", "batch_size=" + ",".join(map(str, range(1, n + 1))), "--minimize", "itl")


def front(n, folder):
    # Larger batches cost less and take longer, so every point is on the front.
    return ("pareto", *SERVE, "--axis", f"batch_size=1..{n}", "--minimize", "itl", "--minimize", "-batch_size", "--anything", "-o", "csv")


def front_of_three(n, folder):
    # The same with a length: none of the points beats another.
    return ("pareto", *SERVE, "--load", "burst", "--axis", f"batch_size=1..{max(1, n // 64)}", "--axis", f"seq_len=64..4096:{min(n, 64)}",
            "--minimize", "itl", "--minimize", "-batch_size", "--minimize", "-seq_len", "--anything", "-o", "csv")


def monotone(n, folder):
    # 12,288 training plans, each with n degrees of overlap: more of it is never worse.
    return ("optimize", "GPT3", "A100", "--mode", "train", "--accelerators", "64", "--batch-size", "64", "--threads", "1",
            "--axis", "recomputation=none,selective,full", "--axis", "zero_stage=0,1,2,3", "--axis", "sequence_parallel=true,false",
            "--axis", "tp_size,pp_size=1x8,2x4,4x2,8x1,2x8,4x4,8x2,8x4", "--axis", "microbatch_count=1..64",
            "--axis", f"overlap_efficiency=0..1:{n}", "--minimize", "step_latency", "--strategy", "branch-and-bound")


def samples(n, folder):
    return ("uncertainty", "Llama3_8B", "H100", "itl", "--samples", n)


def chunks(n, folder):
    return ("eval", "Llama3_8B", "H100", "--seq-len", "100000", "--prefill-chunk-tokens", max(1, 100000 // n))


def layers(n, folder):
    lines = ["    - {times: 1}"] * n
    (folder / "model.yaml").write_text(MODEL.format(layers="\n".join(lines)))
    return ("eval", "Grown", "H100", "--zoo", folder / "model.yaml")


def slopes(n, folder):
    # No two layers are alike, so that every width is an input.
    lines = [f"    - {{times: 1, pattern: [{{feed_forward: {{dense: {{width: {1024 + 8 * i}}}}}}}]}}" for i in range(n)]
    (folder / "model.yaml").write_text(MODEL.format(layers="\n".join(lines)))
    return ("sensitivity", "Grown", "H100", "itl", "--zoo", folder / "model.yaml")


def stages(n, folder):
    return ("train", "GPT3_175B", "H100", "--accelerators", 8 * n, "--pp-size", min(n, 96), "--batch-size", 8 * n, "--microbatch-count", n)


def entries(n, folder):
    (folder / "zoo.yaml").write_text("schema: mlsysim/hardware@1\nentries:\n" + "".join(DEVICE.format(i=i) for i in range(n)))
    return ("eval", "Llama3_8B", "H100", "--zoo", folder / "zoo.yaml")


def operators(n, folder):
    lines = ["  %1 = stablehlo.add %0, %0 : tensor<16x16xf32>"] + [f"  %{i + 1} = stablehlo.add %{i}, %{i} : tensor<16x16xf32>" for i in range(1, n)]
    body = "\n".join(lines).replace("%0", "%arg0")
    (folder / "program.mlir").write_text(f"module @m {{\nfunc.func public @main(%arg0: tensor<16x16xf32>) -> tensor<16x16xf32> {{\n{body}\n"
                                         f"  return %{n} : tensor<16x16xf32>\n}}\n}}\n")
    return ("program", "show", folder / "program.mlir")


def log(n, folder):
    # Copies of a real log, each with a break of a frame of its own. Written piece by piece: what this process holds when it starts
    # another counts for that one, too.
    whole = (LOGS / "tlparse_comp_failure.log").read_text().rstrip("\n")
    with open(folder / "trace.log", "w", encoding="utf-8") as out:
        for i in range(n):
            out.write(f"{whole}\n{BREAK % i}\n")
    return ("compile", "ingest", folder / "trace.log")


# Name, what is asked, sizes, and the largest slopes of time and of memory. Flat is 0.2, in proportion 1.15: what is above is noise.
FLAT, LINEAR = 0.2, 1.15
GATES = [
    ("points of a search", points, (8, 1 << 15, 1 << 17, 1 << 19), LINEAR, FLAT),
    ("points written as rows", rows, (8, 1 << 15, 1 << 17, 1 << 19), LINEAR, FLAT),
    ("values of an axis", axis, (1, 1 << 10, 1 << 12, 1 << 14), LINEAR, LINEAR),
    ("points of a front", front, (1, 1 << 10, 1 << 12, 1 << 14), LINEAR, LINEAR),
    ("points of a front of three objectives", front_of_three, (1, 1 << 10, 1 << 13, 1 << 16), LINEAR, LINEAR),
    ("rows of a monotone axis, with proof", monotone, (400, 4000, 40000, 400000), FLAT, FLAT),
    ("samples", samples, (16, 1 << 13, 1 << 15, 1 << 17), LINEAR, FLAT),
    ("chunks of a prompt", chunks, (1, 1000, 10000, 100000), FLAT, FLAT),
    ("layers of a model", layers, (1, 32, 128, 512), LINEAR, LINEAR),
    ("slopes by distinct layers", slopes, (1, 32, 128, 512), 1.4, LINEAR),
    ("stages and micro-batches", stages, (1, 96, 960, 9600), FLAT, FLAT),
    ("operators of a program", operators, (1, 256, 4096, 65536), LINEAR, LINEAR),
    ("size of a log", log, (1, 64, 512, 4096), LINEAR, FLAT),
    ("entries of a zoo", entries, (1, 256, 1024, 4096), LINEAR, LINEAR),
]


def cost(command, folder):
    """Processor seconds and bytes at the peak: the least of three runs."""
    best = None
    environment = {k: v for k, v in os.environ.items() if k != "MLSYSIM_ZOO_PATH"}
    for _ in range(3):
        process = subprocess.Popen([str(w) for w in command], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = process.stderr.read().decode()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        if process.returncode not in (0, 2):  # 2: it does not fit, which is an answer
            sys.exit(f"{' '.join(map(str, command))[:300]}: exit code {process.returncode}: {said.strip()}")
        now = (used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
        best = now if best is None else (min(best[0], now[0]), min(best[1], now[1]))
    return best


def slope(sizes, costs, grain):
    """Largest slope between neighbours, on log scales, of what exceeds the smallest size; 0 where that is below the grain."""
    base, found = costs[0], 0.0
    over = [max(c - base, grain) for c in costs]
    for i in range(2, len(sizes)):
        found = max(found, math.log(over[i] / over[i - 1]) / math.log(sizes[i] / sizes[i - 1]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    program, over, results = options.program.resolve(), 0, []
    for name, ask, sizes, most_time, most_memory in GATES:
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            costs = [cost((program, *ask(n, pathlib.Path(folder))), folder) for n in sizes]
        time = slope(sizes, [c[0] for c in costs], GRAIN_S)
        memory = slope(sizes, [c[1] for c in costs], GRAIN_BYTES)
        bad = time > most_time or memory > most_memory
        over += bad
        results.append({"name": name, "sizes": sizes, "seconds": [round(c[0], 3) for c in costs], "bytes": [c[1] for c in costs],
                        "time": round(time, 2), "memory": round(memory, 2), "bounds": [most_time, most_memory], "over": bad})
        print(f"{'OVER' if bad else 'ok  '} {name}: {sizes[0]} to {sizes[-1]}: {costs[0][0]:.2f} to {costs[-1][0]:.2f} s, slope {time:.2f} of {most_time}; "
              f"{costs[0][1] >> 20} to {costs[-1][1] >> 20} MiB, slope {memory:.2f} of {most_memory}", flush=True)
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n")
    if not results:
        sys.exit(f"no gate is named like '{options.only}'")
    print(f"{len(results)} kinds of growth, {over} over their bounds")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
