"""Sensitivity and solve."""

import csv
import io

import pytest


def test_sensitivity(run):
    done = run("sensitivity", "Llama3_70B", "H100", "itl", "--accelerators", "8", "--burst", "1", "--verbose")
    assert done.code == 0 and "memory bandwidth binds itl" in done.out
    answer = run("sensitivity", "Llama3_70B", "H100", "itl", "--accelerators", "8", "--burst", "1", "-o", "json").json()
    levers = {row["input"]: row for row in answer["levers"]}
    assert levers["hardware.memory.bandwidth"]["elasticity"] == pytest.approx(-0.725, abs=0.2)
    assert levers["hardware.memory.bandwidth"]["value"] == 3350 and levers["hardware.memory.bandwidth"]["unit"] == "GB/s"
    rows = list(csv.DictReader(io.StringIO(run("sensitivity", "Llama3_70B", "H100", "itl", "--accelerators", "8", "--burst", "1", "-o", "csv").out)))
    table = {row["input"]: row for row in rows}
    assert rows[0].keys() >= {"unit", "value", "slope", "elasticity", "at_lower", "at_upper"}
    assert table["hardware.memory.bandwidth"]["slope"] == "smooth" and table["batch_size"]["slope"] == "step"
    assert not any(name.startswith("workload.") for name in table)  # sizes of the model are no levers
    for name in ("batch_size", "hardware.memory.bandwidth"):
        assert float(table[name]["elasticity"]) == pytest.approx(levers[name]["elasticity"], rel=1e-12)


def test_tools_on_every_kind_of_resolver(run):
    queue = ("TailLatencyModel", "arrival_rate=10 request/s", "service_latency=50 ms")
    assert run("sensitivity", *queue, "p99_latency").code == 0
    assert run("solve", *queue, "p99_latency <= 1 s", "arrival_rate").code == 0
    best = run("optimize", *queue[:1], "arrival_rate=30 request/s", queue[2], "--axis", "num_replicas=1..16", "--minimize", "p99_latency", "-o", "json")
    assert best.json()["best"][0]["axes"]["num_replicas"] == "16"
    dense = ("ServingModel", "workload=Llama3_70B", "hardware=H100", "tp_size=8")
    assert run("sensitivity", *dense, "ttft").code == 0
    counted = run("optimize", *dense, "--axis", "ep_size=1,2", "--minimize", "itl", "-o", "json").json()
    assert counted["evaluated"] == 1 and "no experts" in str(counted["skip_reasons"])


def test_sensitivity_of_a_law(run):
    done = run("sensitivity", "Roofline", "work=100 GFLOP", "traffic=1 GB", "peak=1 TFLOP/s", "bandwidth=100 GB/s", "time", "--verbose")
    assert done.code == 0 and "does not matter until" in done.out
    bad = run("sensitivity", "Roofline", "work=100 GFLOP", "time")
    assert bad.code == 1 and "needs" in bad.err
    bad = run("sensitivity", "Roofline", "wrk=100 GFLOP", "time")
    assert bad.code == 1 and "work" in bad.err


def test_solve(run):
    done = run("solve", "Llama3_70B", "H100", "itl <= 30 ms", "batch_size", "--accelerators", "8")
    assert done.code == 0 and "meets the condition" in done.out
    answer = run("solve", "Llama3_70B", "H100", "itl <= 30 ms", "batch_size", "--accelerators", "8", "-o", "json").json()
    assert answer["at_value"] <= 30 and answer["exhaustive"]


def test_the_answer_of_solve_as_a_table(run):
    rows = list(csv.DictReader(io.StringIO(run("solve", "Llama3_70B", "H100", "itl <= 30 ms", "batch_size", "--accelerators", "8", "-o", "csv").out)))
    answer = run("solve", "Llama3_70B", "H100", "itl <= 30 ms", "batch_size", "--accelerators", "8", "-o", "json").json()
    assert float(rows[0]["batch_size"]) == answer["value"] > 1 and float(rows[0]["itl [ms]"]) == pytest.approx(answer["at_value"])
    assert answer["verification"].startswith("checked: ")
    found = run("solve", "Llama3_70B", "H100", "itl <= 12 ms", "tp_size", "--accelerators", "8")
    assert found.code == 0 and "central differences" not in found.out


def test_plans_that_eval_refuses_are_not_feasible(run):
    best = run("optimize", "Llama3_70B", "H100", "--accelerators", "8", "--axis", "cached_prefix_len=0..4096+1024", "--minimize", "ttft", "-o", "json").json()
    assert best["best"][0]["axes"]["cached_prefix_len"] == "1024" and best["feasible"] == 2
    spread = run("sweep", "Llama3_70B", "H100", "--accelerators", "8", "--axis", "tp_size=4", "--axis", "ep_size=2", "--show", "itl", "-o", "csv").out
    assert [row["feasible"] for row in csv.DictReader(io.StringIO(spread))] == ["no"]


def test_figures_of_the_zoo_at_textbook_fidelity(run):
    words = ("Llama3_70B", "H100", "itl", "--accelerators", "8", "--fidelity", "textbook")
    done = run("sensitivity", *words, "--inputs", "hardware.memory.bandwidth", "-o", "json").json()
    assert done["levers"][0]["elasticity"] < -0.5
    assert "hardware.memory.bandwidth" in run("compare", *words, "--with", "hardware=H200", "--verbose").out
    checkpoint = run("sensitivity", "CheckpointModel", "workload=Llama3_70B", "hardware=H100", "write_time", "-o", "json")
    assert any(row["input"].startswith("hardware.storage") for row in checkpoint.json()["levers"]), checkpoint.err


def test_solve_without_a_solution(run):
    done = run("solve", "Llama3_70B", "H100", "itl <= 1 us", "hardware.memory.bandwidth")
    assert done.code == 2 and "reachable" in done.out
    for words, hint in ((["itl <= 30", "batch_size"], "unit"), (["itll <= 30 ms", "batch_size"], "did you mean 'itl'"),
                        (["itl <= 30 ms", "batch_sise"], "batch_size"), (["batch_size"], "")):
        bad = run("solve", "Llama3_70B", "H100", *words)
        assert bad.code == 1 and hint in bad.err


@pytest.mark.parametrize("words", [
    ("training_time <= 90 d", "accelerators", "--mode", "train", "--tp-size", "8", "--batch-size", "2048", "--seq-len", "8192"),
    ("itl <= 1 s", "hardware.memory.bandwidth", "--precision", "bf16")], ids=["a fleet", "a rate"])
def test_what_does_not_fit_is_no_answer(run, words):
    """Llama-3.1-70B trained with tensor parallelism 8 keeps 16 B of 8.8e9 parameters on each device, 141 GB; served on one
    device it keeps 141 GB as well. An H100 has 85.9 GB."""
    done = run("solve", "Llama3_70B", "H100", *words, "-o", "json")
    assert done.code == 2 and done.json()["feasible"] is False
    assert "fits in memory" in done.json()["reason"] and "of 85.9 GB" in done.err


def test_a_cap_that_nobody_gave(run):
    """An input that stands for the device's own where it is not given is one that can be asked for."""
    asked = ("Llama3_70B", "H100", "--accelerators", "8", "--batch-size", "64", "--seq-len", "8192", "--output-tokens", "256")
    found = run("solve", *asked, "ttft <= 30 s", "power_cap", "-o", "json").json()
    cap = found["value"]
    assert 119 < cap < 700 and found["unit"] == "W"  # an H100 with a context draws 119 W
    at = run("eval", *asked, "--power-cap", f"{cap!r} W", "-o", "json").json()
    assert at["p_ttft"] == pytest.approx(30e3, rel=1e-6)
    rows = run("sensitivity", *asked, "energy_per_token", "--inputs", "power_cap", "-o", "json").json()["levers"]
    assert [row["input"] for row in rows] == ["power_cap"] and rows[0]["value"] == 700
    # The same as where the TDP was given.
    given = run("solve", *asked, "--power-cap", "700 W", "ttft <= 30 s", "power_cap", "-o", "json").json()
    assert given["value"] == cap
    refused = run("solve", *asked, "ttft <= 30 s", "power_kap")
    assert refused.code == 1 and "power_kap" in refused.err


def test_levers_are_those_that_there_are(run):
    """A cached value has the bytes of a format: half a byte to eight. What a lever brings at most is no loss, and the largest
    effect is the first."""
    chat = ("--accelerators", "8", "--batch-size", "64", "--seq-len", "4096", "--output-tokens", "1024")
    levers = run("sensitivity", "DeepSeek_V3", "H200", "ttft", *chat, "-o", "json").json()["levers"]
    cached = next(lever for lever in levers if lever["input"] == "plan.kv_bytes")
    assert abs(cached["ceiling"]) < 10
    rate = run("sensitivity", "Llama3_70B", "H100", "token_throughput", "--accelerators", "8", "-o", "json").json()["levers"]
    memory = next(lever for lever in rate if lever["input"] == "hardware.memory.bandwidth")
    assert memory["ceiling"] >= memory["at_upper"] > 0  # more of it gives more tokens, and never fewer
    said = run("sensitivity", "Llama3_70B", "H100", "itl", "--accelerators", "8", "--rate", "9/s").out
    head, *rows = said.split("You can change")[1].splitlines()
    at = head.index("effect") + len("You can change")
    effects = [abs(float(row[at:].split()[0])) for row in rows[:rows.index(next(row for row in rows if not row.startswith("  ")))]]
    assert effects == sorted(effects, reverse=True) and len(effects) > 3
