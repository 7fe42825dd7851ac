"""Properties of serving in steady state: Little's law, order of percentiles, growth with the load."""

import random

import mlsysim
import pytest
from mlsysim import Q_, Hardware, Models

MODELS = ["Llama3_8B", "Llama3_70B", "Mixtral_8x7B", "Qwen3_32B", "DeepSeek_V3"]
DEVICES = ["A100", "H100", "H200", "B200", "MI300X", "L40S"]
ENGINES = [None, "vllm", "sglang", "trtllm", "llama_cpp"]


def random_loop(rng):
    model = rng.choice(MODELS)
    asked = {
        "workload": Models[model],
        "hardware": Hardware[rng.choice(DEVICES)],
        "tp_size": rng.choice([4, 8] if model in ("Llama3_70B", "DeepSeek_V3") else [1, 2, 4]),
        "seq_len": rng.choice([128, 1000, 4096, 16384]),
        "output_tokens": rng.choice([2, 16, 128, 1024]),
        "concurrency": rng.choice([1, 2, 7, 32, 128, 500, 4000]),
    }
    engine = rng.choice(ENGINES)
    if engine:
        asked["engine"] = engine
    if rng.random() < 0.3:
        asked["equal_lengths"] = True
    if rng.random() < 0.2:
        asked["max_batch_size"] = rng.choice([1, 16, 64])
    if rng.random() < 0.2:
        asked["prefill_replicas"] = rng.choice([1, 2, 4])
    if rng.random() < 0.2 and model == "DeepSeek_V3":
        asked["ep_size"] = 8
    if rng.random() < 0.2:
        asked["pp_size"] = 2
    return asked


def base(quantity, unit):
    return quantity.to(unit).magnitude


def test_littles_law_holds_in_every_closed_loop():
    rng, held = random.Random(1), 0
    for _ in range(400):
        asked = random_loop(rng)
        result = mlsysim.InFlightBatchingModel.solve(**asked).dict()
        if not result["feasible"] or result["request_latency"] is None or not result["is_stable"]:
            continue
        found = base(result["request_throughput"], "request/s") * base(result["request_latency"], "s")
        assert found == pytest.approx(asked["concurrency"], rel=1e-6), asked
        held += 1
    assert held > 200


def test_percentiles_are_in_order_and_times_grow_with_the_load():
    rng = random.Random(2)
    for _ in range(40):
        asked = random_loop(rng)
        options = {name: asked[name] for name in ("tp_size", "seq_len", "output_tokens")}
        subject = mlsysim.ask(asked["workload"], asked["hardware"], accelerators=asked["tp_size"], mode="serve",
                              concurrency=asked["concurrency"], **options)
        r = {name: float(getattr(value, "magnitude", value)) for name, value in subject.results.items()}
        if r["memory_shortfall"] > 0:
            continue
        assert r["itl"] == r["p90_itl"] == r["p99_itl"]  # in a closed loop all requests are alike
        assert r["p50_ttft"] <= r["p90_ttft"] <= r["p95_ttft"] <= r["p99_ttft"]
        # The mean may lie above the percentile where less than one step in a hundred has a prompt: by a hundredth of such a step.
        assert r["itl"] <= (0.99 * r["p99_token_gap"] + 0.01 * max(r["p99_token_gap"], r["prefill_chunk_time"])) * (1 + 1e-9)
        parts = sum(r["ttft_" + part] for part in ("ingress", "queue", "dispatch", "prefill", "egress"))
        assert parts == pytest.approx(r["ttft"], rel=1e-9)
        full = mlsysim.ask(asked["workload"], asked["hardware"], accelerators=asked["tp_size"], mode="serve",
                           arrival_rate=Q_(1e-6, "request/s"), **options).results["capacity"]
        rates = [share * base(full, "request/s") for share in (0.1, 0.4, 0.7)]
        rows = [mlsysim.ask(asked["workload"], asked["hardware"], accelerators=asked["tp_size"], mode="serve",
                            arrival_rate=Q_(rate, "request/s"), **options).results for rate in rates]
        for name in ("ttft", "itl", "request_latency", "running_requests"):
            values = [float(getattr(row[name], "magnitude", row[name])) for row in rows]
            assert values == sorted(values) or max(values) <= min(values) * 1.01, (asked, name, values)


@pytest.mark.parametrize("seed", range(12))
def test_a_higher_rate_never_finds_fewer_in_flight(seed):
    rng = random.Random(100 + seed)
    asked = random_loop(rng)
    options = {name: asked[name] for name in ("tp_size", "seq_len", "output_tokens")}
    one = mlsysim.ask(asked["workload"], asked["hardware"], accelerators=asked["tp_size"], mode="serve",
                      arrival_rate=Q_(1e-6, "request/s"), **options)
    if one.results["memory_shortfall"].magnitude > 0:
        return
    capacity = base(one.results["capacity"], "request/s")
    # Near the capacity one rate may be served with several numbers of requests.
    shares = [k / 40 for k in range(1, 36)] + [0.875 + k / 1600 for k in range(1, 200)]
    found = one.sweep({"arrival_rate": [Q_(share * capacity, "request/s") for share in shares]},
                      ["running_requests", "itl", "ttft", "request_latency"], anything=True).columns
    running, itl = list(found["running_requests"]), list(found["itl"])
    assert running[:35] == sorted(running[:35]), asked
    for name in ("running_requests", "itl", "ttft", "request_latency"):
        values = list(found[name])
        assert all(b >= a * 0.99 for a, b in zip(values, values[1:])), (asked, name)
    steps, to_seconds = max(1, asked["output_tokens"] - 1), 1e-3
    for share, n, time in zip(shares, running, itl):
        assert n == pytest.approx(share * capacity * steps * time * to_seconds, rel=0.01), (asked, share)
    rate = Q_(0.97 * capacity, "request/s")  # a single answer is that of a sweep
    single = mlsysim.ask(asked["workload"], asked["hardware"], accelerators=asked["tp_size"], mode="serve", arrival_rate=rate, **options)
    row = one.sweep({"arrival_rate": [rate]}, ["running_requests"], anything=True).columns
    assert float(single.results["running_requests"]) == pytest.approx(row["running_requests"][0], rel=1e-9)


@pytest.mark.parametrize("model, device, options", [
    ("Llama3_8B", "A100", {"tp_size": 4, "output_tokens": 2}),  # near the capacity, where the load of prompts is held
    ("Llama3_70B", "H200", {"tp_size": 8, "pp_size": 2, "output_tokens": 2}),
    ("Llama3_8B", "H100", {"tp_size": 1, "pp_size": 4, "output_tokens": 2}),  # fewer requests than stages
    ("Llama3_8B", "A100", {"tp_size": 2, "pp_size": 2, "output_tokens": 16, "seq_len": 16384}),
])
def test_first_tokens_come_later_up_to_the_capacity(model, device, options):
    options = {"seq_len": 1000, "accelerators": options["tp_size"] * options.get("pp_size", 1), "mode": "serve", **options}
    one = mlsysim.ask(Models[model], Hardware[device], arrival_rate=Q_(1e-6, "request/s"), **options)
    capacity = base(one.results["capacity"], "request/s")
    rates = [Q_(share * capacity, "request/s") for share in [0.05 * k for k in range(1, 18)] + [0.86 + 0.01 * k for k in range(14)]]
    names = ["ttft", "p50_ttft", "p90_ttft", "p99_ttft"]
    found = one.sweep({"arrival_rate": rates}, names, anything=True).columns
    for name in names:
        values = [float(x) for x in found[name]]
        assert all(b >= a * 0.995 for a, b in zip(values, values[1:])), (name, values)


def test_a_finite_run_above_the_capacity_ends():
    asked = {"workload": Models.Llama3_8B, "hardware": Hardware.H100, "output_tokens": 128}
    full = mlsysim.InFlightBatchingModel.solve(arrival_rate=Q_(1000, "request/s"), **asked).dict()
    capacity = base(full["capacity"], "request/s")
    n, rate = 5000, 2 * capacity
    run = mlsysim.InFlightBatchingModel.solve(arrival_rate=Q_(rate, "request/s"), num_requests=n, **asked).dict()
    # The last request arrives after n / rate and is taken after n / capacity; on average one waits for half of that.
    assert base(run["ttft_queue"], "s") == pytest.approx(0.5 * n * (1 / capacity - 1 / rate), rel=0.05)
    assert base(run["p99_ttft"], "s") > 1.9 * base(run["p50_ttft"], "s")
