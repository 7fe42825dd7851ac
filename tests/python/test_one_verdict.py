"""One launch has one verdict: `fit`, `import` and then `eval`, the Python package and a tool of MCP read the same weights, the same cache and
the same answer to whether it fits."""

import json
import os
import subprocess
import sys

import pytest

import mlsysim
from mlsysim import launches
from mlsysim.mcp.calls import run as call

# A launch, a device, whether it fits, and the weights of a device [GB].
LAUNCHES = [
    ("vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 2 --max-model-len 8192", "H100", True, 70.55),
    ("vllm serve meta-llama/Llama-3.1-70B-Instruct --max-model-len 8192", "H100", False, 141.1),
    ("vllm serve neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w4a16 --max-model-len 8192", "H100", True, 40.7),
    ("vllm serve unsloth/Qwen2.5-7B-bnb-4bit --max-model-len 8192", "L4", True, 5.6),
    ("vllm serve Qwen/Qwen2.5-32B-Instruct-AWQ --quantization awq_marlin --max-model-len 16384", "L40S", True, 19.3),
    ("vllm serve mistralai/Mistral-7B-Instruct-v0.3 --max-model-len 32768", "L4", True, 14.5),
    ("vllm serve meta-llama/Llama-3.1-8B-Instruct --kv-cache-dtype fp8 --max-model-len 8192 --enforce-eager", "L4", True, 16.06),
    ("python3 -m sglang.launch_server --model Qwen/Qwen3-30B-A3B --tp 2 --context-length 16384", "A100", True, 30.54),
    ("python3 -m sglang.launch_server --model deepseek-ai/DeepSeek-V3 --tp 8 --context-length 8192", "H200", True, 85.0),
    ("trtllm-serve meta-llama/Llama-3.1-8B-Instruct --max_batch_size 16 --max_seq_len 4096", "H100", True, 16.06),
    ("llama-server -m Qwen2.5-14B-Instruct-Q4_K_M.gguf -c 8192 -ngl 99", "RTX4090", True, 8.96),
    ("llama-server -m Qwen2.5-14B-Instruct-Q4_K_M.gguf -c 8192 -ngl 30", "RTX4090", True, 5.95),
]


def weights_of(items, size):
    return sum(size(item) for item in items if item["part"] == "weights") / 1e9


def by_program(words, device, tmp_path):
    """Of `fit` and of `import` and `eval`: exit codes, and weights in GB."""
    program = os.environ.get("MLSYSIM_PROGRAM") or [sys.executable, "-m", "mlsysim"]

    def run(*more):
        return subprocess.run([*([program] if isinstance(program, str) else program), *more], capture_output=True, text=True, timeout=120)

    fit = run("fit", "--from", words, "--hardware", device, "-o", "json")
    plan = tmp_path / "plan.yaml"
    plan.write_text(run("import", words, "--hardware", device).stdout)
    card = run("eval", str(plan), "-o", "json")
    return {"fit": (fit.returncode, weights_of(json.loads(fit.stdout)["rows"], lambda row: row["bytes"])),
            "eval": (card.returncode, json.loads(card.stdout)["memory"]["weights"]["value"] / 1e9)}


@pytest.mark.parametrize("words, device, fits, weights", LAUNCHES, ids=[row[0].split("/")[-1][:40] for row in LAUNCHES])
def test_every_way_reads_the_same(words, device, fits, weights, tmp_path):
    launch = launches.read(words, hardware=device)
    verdict = launches.fit(words, hardware=device)
    card = mlsysim.plans.check(launch["plan"])
    fields = {name: value for name, value in launch["fields"].items() if name not in ("workload", "hardware", "mode")}
    asked = mlsysim.ask(launch["fields"]["workload"], launch["fields"]["hardware"], **fields)
    tool, refused = call("evaluate", {**launch["fields"], "detail": True}, ())
    assert not refused, tool
    held = {
        "fit": weights_of(verdict["items"], lambda item: item["bytes"]),
        "ask": asked.results["memory.weights"].m_as("GB"),
        "MCP": tool["memory"]["weights"]["value"],
    }
    caches = {"ask": asked.results["memory.kv_cache"].m_as("GB"), "MCP": tool["memory"]["kv_cache"]["value"]}
    answers = {"fit": verdict["fits"], "check": card["feasible"], "MCP": tool["levels"]["feasibility"]["status"] != "FAIL"}
    for name, (code, size) in by_program(words, device, tmp_path).items():
        held["program " + name], answers["program " + name] = size, code == 0
    assert held == pytest.approx({name: weights for name in held}, rel=0.01)
    assert held == pytest.approx({name: held["ask"] for name in held}, rel=1e-3)
    assert caches["MCP"] == pytest.approx(caches["ask"], rel=1e-4)
    assert answers == {name: fits for name in answers}
