"""Prefill workers beside decode replicas from Python: keywords, questions, one path for points and columns."""

import pytest

import mlsysim
from mlsysim import Q_

LLAMA, H200 = mlsysim.Models.Llama3_70B, mlsysim.Hardware.H200
POOLS = {"tp_size": 8, "prefill_replicas": 2, "prefill_tp_size": 4, "decode_replicas": 1}
LOAD = {"seq_len": 2048, "output_tokens": 256, "arrival_rate": Q_("6 request/s")}


def number(x):
    return float(getattr(x, "magnitude", x))


def test_keywords_are_those_of_the_command_line():
    card = mlsysim.SystemEvaluator.evaluate("pools", LLAMA, H200, **POOLS, **LOAD)
    asked = mlsysim.ask(LLAMA, H200, mode="serve", **POOLS, **LOAD)
    assert card.performance["replicas"] == 1
    for name in ("ttft", "itl", "request_latency"):
        assert number(card.performance[name].to("s")) == pytest.approx(number(asked.results[name].to("s")), rel=1e-9)


def test_a_column_is_its_points():
    asked = mlsysim.ask(LLAMA, H200, mode="serve", **POOLS, **LOAD)
    rows = asked.sweep({"prefill_replicas": [1, 2, 3, 8], "decode_replicas": [1, 2]}, show=["ttft", "itl", "utilization"])
    for i, (workers, replicas) in enumerate((w, r) for w in (1, 2, 3, 8) for r in (1, 2)):
        point = mlsysim.ask(LLAMA, H200, mode="serve", **{**POOLS, "prefill_replicas": workers, "decode_replicas": replicas}, **LOAD).results
        for name in ("ttft", "itl"):
            assert number(rows[name].to("s").magnitude[i]) == pytest.approx(number(point[name].to("s")), rel=1e-9)
        assert 0 <= number(rows["utilization"][i]) <= 1


def test_properties_of_pools():
    def at(**changed):
        return mlsysim.ask(LLAMA, H200, mode="serve", **{**POOLS, **LOAD, **changed}).results

    base = at()
    assert number(at(network_bandwidth=Q_("10 GB/s"))["ttft_egress"]) > number(base["ttft_egress"])
    assert number(at(prefill_replicas=8)["ttft_queue"]) < number(base["ttft_queue"])
    parts = sum(number(base["ttft_" + part].to("s")) for part in ("ingress", "queue", "dispatch", "prefill", "egress"))
    assert parts == pytest.approx(number(base["ttft"].to("s")), rel=1e-9)
    order = [number(base[name].to("s")) for name in ("p50_ttft", "p90_ttft", "p95_ttft", "p99_ttft")]
    assert order == sorted(order)
    # Decoding alone is as fast as with prompts elsewhere, and faster than with prompts beside it.
    mixed = mlsysim.ask(LLAMA, H200, mode="serve", accelerators=8, tp_size=8, **LOAD).results
    assert number(base["itl"].to("s")) < number(mixed["itl"].to("s"))
    loop = mlsysim.ask(LLAMA, H200, mode="serve", **POOLS, concurrency=16, seq_len=2048, output_tokens=256).results
    # Little's law: all that are in flight are in a request.
    assert number(loop["request_throughput"].to("request/s")) * number(loop["request_latency"].to("s")) == pytest.approx(16, rel=1e-6)


def test_training_has_no_pools():
    with pytest.raises(mlsysim.InputError, match="prefill_replicas"):
        mlsysim.SystemEvaluator.evaluate("pools", LLAMA, H200, mode="train", prefill_replicas=2)


def test_a_size_with_pools():
    answer = mlsysim.size(LLAMA, H200, rate="10/s", ttft="p99 2 s", itl="25 ms", seq_len=2048, output_tokens=256, disaggregated=True)
    assert answer.feasible and answer.pools > 0
