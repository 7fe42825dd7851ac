"""Writes the folder of the explorer: its pages, and the exported programs of models on machines.

Each program is what `mlsysim export` writes, with every input and the results below. Pairs that the program refuses are
left out and named.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
PAGES = ("index.html", "style.css", "program.js", "charts.js", "app.js")
RESULTS = ("memory_used memory_capacity memory_missing memory_utilization plan_fits ttft itl request_latency token_throughput "
           "throughput_per_accelerator prefill_mfu mfu prefill_compute prefill_memory prefill_network prefill_overhead decode_compute "
           "decode_memory decode_network decode_overhead kv_cache_size memory.weights memory.kv_cache memory.activations "
           "memory.fragmentation memory.reserve memory.total memory.capacity").split()
CHARGED = ("tco capex energy_cost maintenance energy carbon_footprint operational_carbon embodied_carbon cost_per_token "
           "energy_per_token carbon_per_token").split()
MODELS = "Llama3_70B Llama3_8B Qwen3_30B_A3B Qwen3_8B Mixtral_8x7B DeepSeek_V3".split()
MACHINES = "H100 H200 A100 B200 MI300X".split()


def run(program, *words):
    return subprocess.run([program, "--no-plugins", *words], capture_output=True, text=True, check=False)


def exported(program, model, machine, accelerators):
    """The program of a pair, or why there is none."""
    for results in (RESULTS + CHARGED, RESULTS):
        done = run(program, "export", model, machine, ",".join(results), "--accelerators", str(accelerators), "--mode", "serve")
        if done.returncode == 0:
            return json.loads(done.stdout), None
    return None, done.stderr.strip()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program", help="the mlsysim program")
    arguments.add_argument("folder", type=pathlib.Path, help="written anew")
    arguments.add_argument("--models", nargs="+", default=MODELS)
    arguments.add_argument("--machines", nargs="+", default=MACHINES)
    arguments.add_argument("--accelerators", type=int, default=8)
    asked = arguments.parse_args()
    programs, refused = {}, []
    for model in asked.models:
        for machine in asked.machines:
            found, why = exported(asked.program, model, machine, asked.accelerators)
            if found is None:
                refused.append(f"{model} on {machine}: {why}")
            else:
                programs[f"{model}|{machine}"] = found
    if not programs:
        sys.exit("no program: " + "; ".join(refused))
    # A page offers what it can answer: every model on every machine.
    machines = [m for m in asked.machines if any(k.endswith(f"|{m}") for k in programs)]
    models = [m for m in asked.models if all(f"{m}|{k}" in programs for k in machines)]
    data = {"version": run(asked.program, "--version").stdout.strip(), "models": models, "machines": machines,
            "programs": {k: v for k, v in programs.items() if k.split("|")[0] in models}}
    asked.folder.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        shutil.copyfile(HERE / page, asked.folder / page)
    (asked.folder / "programs.js").write_text("const MLSYSIM = " + json.dumps(data, separators=(",", ":")) + ";\n", encoding="utf-8")
    for line in refused:
        print("left out:", line, file=sys.stderr)
    print(asked.folder / "index.html")


if __name__ == "__main__":
    main()
