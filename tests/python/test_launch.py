"""mlsysim.launches: launches of engines as plans, and back."""

import json

import mlsysim
import pytest
from mlsysim import launches


def test_a_launch_becomes_a_plan_that_is_checked():
    launch = launches.read("vllm serve Qwen/Qwen3-32B -tp 4 --max-num-seqs 8 --disable-custom-all-reduce", hardware="H100", seq_len=1024)
    assert launch["format"] == "vllm" and launch["version"] == "0.33.0"
    assert {f["flag"]: f["use"] for f in launch["flags"]} == {
        "model": "used", "tensor-parallel-size": "used", "max-num-seqs": "used", "disable-custom-all-reduce": "contradicts"}
    card = mlsysim.plans.check(launch["plan"])
    assert card["workload"] == "Qwen3_32B" and card["feasible"]


def test_files_and_errors(tmp_path):
    file = tmp_path / "ds.json"
    file.write_text(json.dumps({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3}}))
    launch = launches.read(file, model="Llama3_8B", hardware="H100", accelerators=16)
    assert launch["fields"]["zero_stage"] == "3" and launch["mode"] == "train"
    with pytest.raises(mlsysim.errors.InputError, match="launch.015"):
        launches.read(file, model="Llama3_8B", hardware="H100", accelerators=48)
    with pytest.raises(mlsysim.errors.LookupError, match="bindings.060"):
        launches.read(file, format="deepsped", model="Llama3_8B", hardware="H100")


def test_fit_and_export(tmp_path):
    bad = launches.fit("vllm serve Llama3_70B", hardware="H100")
    assert not bad["fits"] and bad["changes"] and sum(i["bytes"] for i in bad["items"] if i["part"] == "weights") > 1e11
    plan = launches.read("vllm serve Llama3_8B --max-num-seqs 8 --max-model-len 2048", hardware="H100")["plan"]
    file = tmp_path / "plan.yaml"
    file.write_text(plan)
    assert launches.fit(file)["fits"] and launches.fit(file)["notes"] == []
    # What is said of the reading reaches the caller, of a launch and of a plan.
    named = launches.fit("vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192", hardware="H100")
    assert any("Llama3_8B" in note for note in named["notes"])
    long = tmp_path / "long.yaml"
    long.write_text(plan.replace("seq_len: 1920", "seq_len: 200000"))
    assert any("200000" in note for note in launches.fit(long)["notes"])
    one, four = (launches.fit(f"vllm serve Llama3_8B --max-model-len 8192 {words}", hardware="H100") for words in ("", "-dp 4"))
    assert four["requests"] == 4 * one["requests"] > 0 and four["ranks"] == 4 and f"{four['requests']:.0f} requests" in four["summary"]
    text, lost = launches.export(file, "sglang", checkpoint="meta-llama/Llama-3.1-8B")
    assert "--model-path meta-llama/Llama-3.1-8B" in text and lost == []
    again = launches.read(text, model="Llama3_8B", hardware="H100")
    assert again["fields"]["batch_size"] == "8" and again["fields"]["seq_len"] == "1920"
