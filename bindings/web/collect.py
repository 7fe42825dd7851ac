"""Writes the folder of the explorer: its pages, and the core in WebAssembly, or exported programs of models on machines.

With the core (--core, scripts/web makes it) the page answers for everything that the library knows and for files of the
user. Without it, it has programs: what `mlsysim export` writes, with every input and the results below. Pairs that the
program refuses are left out and named.
"""

import argparse
import base64
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PAGES = ("index.html", "style.css")
ESBUILD = HERE / "node_modules/.bin/esbuild"
MEMORY = "memory_used memory_capacity memory_shortfall memory_utilization plan_fits mfu memory.weights memory.activations memory.fragmentation memory.reserve memory.total memory.capacity".split()
RESULTS = {
    "serve": MEMORY + ("ttft itl request_latency token_throughput throughput_per_accelerator prefill_mfu prefill_compute prefill_memory "
                       "prefill_network prefill_overhead ttft_dispatch ttft_ingress ttft_queue ttft_egress decode_compute decode_memory decode_network decode_overhead decode_prompts kv_cache_size "
                       "memory.kv_cache").split(),
    "train": MEMORY + ("step_latency latency_compute latency_memory exposed_communication_latency latency_overhead communication_latency pipeline_bubble_latency "
                       "effective_throughput token_throughput hfu scaling_efficiency dp_size microbatch_count memory.gradients "
                       "memory.optimizer_states fleet_mtbf goodput_ratio training_time").split(),
    "infer": MEMORY + "latency latency_compute latency_memory latency_overhead throughput energy_per_batch".split(),
}
CHARGED = ("tco capex energy_cost maintenance energy carbon_footprint operational_carbon embodied_carbon cost_per_token "
           "energy_per_token carbon_per_token").split()
MODELS = "Llama3_70B Llama3_8B Qwen3_30B_A3B Qwen3_8B Mixtral_8x7B DeepSeek_V3".split()
MACHINES = "H100 H200 A100 B200 MI300X".split()


def run(program, *words):
    return subprocess.run([program, "--no-plugins", *words], capture_output=True, text=True, check=False)


def exported(program, model, machine, accelerators):
    """The program of a pair, or why there is none."""
    for results in (RESULTS["serve"] + CHARGED, RESULTS["serve"]):
        done = run(program, "export", model, machine, ",".join(results), "--accelerators", str(accelerators), "--mode", "serve")
        if done.returncode == 0:
            return json.loads(done.stdout), None
    return None, done.stderr.strip()


def packed_zoo(zoo):
    """The zoo's files in one, without their comments: length of the index, index of paths and sizes, contents. Of measurements what predictions missed is
    in it."""
    paths = sorted([f for f in zoo.rglob("*.yaml") if f.relative_to(zoo).parts[0] != "validation"] + list(zoo.glob("validation/residual*.csv")))
    # Lines stay where they are: messages name them.
    files = [(f.relative_to(zoo).as_posix(), re.sub(rb"^ *#.*$", b"", f.read_bytes(), flags=re.M)) for f in paths]
    index = json.dumps([[name, len(data)] for name, data in files]).encode()
    return len(index).to_bytes(4, "little") + index + b"".join(data for _, data in files)


MEASURED = ("closed_loop_first_token", "closed_loop_token_time")
COLUMNS = "model machine engine precision devices batch prompt output ttft tpot predicted_ttft predicted_tpot".split()


def measured_serving(program):
    """What engines were measured to do in closed loops, each with its own prediction: {column: [value]}, which packs better than rows; times in seconds."""
    done = run(program, "validate", "inference", "--worst", "1000000", "-o", "json")
    both = {}  # by what the two tables of a source have in common of their names, and line: {measurand: row}
    for table in json.loads(done.stdout)["tables"]:
        if table["measurand"] in MEASURED:
            for row in table["worst"]:
                both.setdefault((table["table"].rpartition("_")[0], row["line"]), {})[table["measurand"]] = row
    rows = []
    for each in both.values():
        if len(each) == len(MEASURED):
            first, later = (each[name] for name in MEASURED)
            i = later["inputs"]
            # Ranks that only hold experts run attention on their own requests: they are devices beside those of tensor parallelism.
            devices = int(i.get("tp_size", 1) * i.get("pp_size", 1) * i.get("ep_size", 1))
            rows.append([i["workload"], i["hardware"], i["engine"], i["precision"], devices, *(int(i[name]) for name in ("concurrency", "seq_len", "output_tokens")),
                         *(float(f"{row[what]:.4g}") for what in ("measured", "predicted") for row in (first, later))])
    return {name: [row[i] for row in sorted(rows)] for i, name in enumerate(COLUMNS)}


def bundled(source, *options):
    """A script of the page, from TypeScript."""
    if not ESBUILD.exists():
        sys.exit(f"the page is written in TypeScript and its tools are absent: npm ci --ignore-scripts --prefix {HERE} (scripts/web --tools does it)")
    return subprocess.run([ESBUILD, HERE / "src" / source, "--bundle", "--minify", "--target=es2022", "--log-level=warning", *options], capture_output=True, text=True, check=True).stdout


FEATURES = "exception-handling bulk-memory sign-ext nontrapping-float-to-int mutable-globals multivalue reference-types".split()


def once_each(wasm):
    """The module with functions of the same code once, before and after what does nothing is taken out of them, and locals in the order
    of their use: 2 % less to send."""
    with tempfile.TemporaryDirectory() as place:
        out = pathlib.Path(place) / "out.wasm"
        subprocess.run([HERE / "node_modules/.bin/wasm-opt", *(f"--enable-{f}" for f in FEATURES), "--duplicate-function-elimination", "--reorder-locals",
                        "--optimize-instructions", "--vacuum", "--duplicate-function-elimination", wasm, "-o", out], check=True)
        return out.read_bytes()


def write_core(folder, wasm, zoo):
    """The module and the zoo, for a server to pack, and core.js: both as text, for pages from file://."""
    def text(data):
        return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()

    module, entries = once_each(wasm), packed_zoo(zoo)
    (folder / "mlsysim.wasm").write_bytes(module)
    (folder / "zoo.bin").write_bytes(entries)
    (folder / "core.js").write_text("const MLSYSIM_CORE = " + json.dumps({"wasm": text(module), "zoo": text(entries)}) + ";\n", encoding="utf-8")
    return {"worker": bundled("worker.ts")}


def pairs(asked):
    """Programs of all models on all machines: {"models", "machines", "programs"}."""
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
    for line in refused:
        print("left out:", line, file=sys.stderr)
    # A page offers what it can answer: every model on every machine.
    machines = [m for m in asked.machines if any(k.endswith(f"|{m}") for k in programs)]
    models = [m for m in asked.models if all(f"{m}|{k}" in programs for k in machines)]
    return {"models": models, "machines": machines, "programs": {k: v for k, v in programs.items() if k.split("|")[0] in models}}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program", help="the mlsysim program")
    arguments.add_argument("folder", type=pathlib.Path, help="written anew")
    arguments.add_argument("--models", nargs="+", default=MODELS)
    arguments.add_argument("--machines", nargs="+", default=MACHINES)
    arguments.add_argument("--accelerators", type=int, default=8)
    arguments.add_argument("--core", type=pathlib.Path, help="mlsysim.wasm, in place of programs of chosen models and machines")
    arguments.add_argument("--zoo", type=pathlib.Path, help="folder of the zoo that goes with the core (default: that of the program)")
    asked = arguments.parse_args()
    zoo = asked.zoo or pathlib.Path(asked.program).resolve().parents[1] / "share/mlsysim/zoo"
    found = {"models": [], "machines": [], "programs": {}} if asked.core else pairs(asked)
    data = {"version": run(asked.program, "--version").stdout.strip(), "results": RESULTS, "charged": CHARGED, **found}
    asked.folder.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        shutil.copyfile(HERE / page, asked.folder / page)
    (asked.folder / "explorer.js").write_text(bundled("page.tsx", "--format=iife", "--global-name=explorer"), encoding="utf-8")
    if asked.core:
        # The core says itself what inputs there are.
        data |= write_core(asked.folder, asked.core, zoo) | {"measured": measured_serving(asked.program)}
    else:
        data["plan"] = json.loads(run(asked.program, "schema", "plan").stdout)
    (asked.folder / "programs.js").write_text("const MLSYSIM = " + json.dumps(data, separators=(",", ":")) + ";\n", encoding="utf-8")
    print(asked.folder / "index.html")


if __name__ == "__main__":
    main()
