"""Recorded traffic from Python: what the command line reads, and what resolvers take of it."""

import json
import random

import mlsysim
import pytest
from mlsysim.traffic import CountedSpread


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path, rng, time = tmp_path_factory.mktemp("traffic") / "trace.jsonl", random.Random(7), 0
    with path.open("w") as out:
        for k in range(4000):
            time += round(1000 * rng.expovariate(2))
            out.write(json.dumps({"timestamp": time, "input_length": max(1, round(rng.lognormvariate(7, 0.8))),
                                  "output_length": max(1, round(rng.gammavariate(2, 100))), "hash_ids": [k % 50, 100 + k]}) + "\n")
    return path


def test_laws_come_back_from_numbers_that_follow_them(trace):
    found = mlsysim.read_traffic(trace)
    assert found.format == "mooncake" and found.requests == found.prompt.count == 4000
    assert found.prompt.law.law == "lognormal" and found.prompt.law.second == pytest.approx(0.8, abs=0.03)
    assert found.answer.law.law == "gamma" and found.answer.law.first == pytest.approx(2, abs=0.2)
    for spread in (found.prompt, found.answer):
        assert spread.law.distance < spread.sampling_distance < spread.laws[-1].distance
        assert [law.distance for law in spread.laws] == sorted(law.distance for law in spread.laws)
    assert isinstance(found.gaps, CountedSpread) and found.gaps.mean == pytest.approx(1 / found.rate.m_as("request/s"), rel=1e-6)
    assert found.gaps.cv == pytest.approx(1, abs=0.06)  # Poisson
    assert "lognormal" in repr(found) and "distance" in repr(found.prompt) and "lognormal" in found._repr_html_()


def test_scenarios_and_resolvers_take_what_they_have_inputs_for(trace):
    found = mlsysim.read_traffic(trace)
    lengths = {"seq_len": round(found.prompt.mean), "output_tokens": round(found.answer.mean)}
    given = found.inputs()
    assert {key: given[key] for key in lengths} == lengths
    assert given["arrival_rate"].m_as("request/s") == pytest.approx(found.rate.m_as("request/s"))
    assert "arrival_rate" not in found.inputs(mlsysim.ServingModel)  # a static batch has no rate
    for of in (mlsysim.InFlightBatchingModel, mlsysim.InFlightBatchingModel(), "InFlightBatchingModel"):
        taken = found.inputs(of)
        assert taken["arrival_rate"].m_as("request/s") == pytest.approx(found.rate.m_as("request/s"))
    result = mlsysim.InFlightBatchingModel().solve(model=mlsysim.Models.Llama3_8B, hardware=mlsysim.Hardware.H100, **taken)
    by_ask = mlsysim.ask("InFlightBatchingModel", workload="Llama3_8B", hardware="H100", traffic_file=str(trace))
    numbers = [name for name in by_ask.results if hasattr(getattr(result, name, None), "m_as")]
    assert numbers
    for name in numbers:
        assert by_ask.results[name].m_as(getattr(result, name).units) == pytest.approx(getattr(result, name).magnitude, rel=1e-12)


def test_what_is_given_is_kept_and_a_question_can_travel(trace):
    import pickle

    chat = mlsysim.ask(mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100, seq_len=3000, traffic_file=trace)
    by_hand = mlsysim.ask(mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100, **{**mlsysim.read_traffic(trace).inputs(), "seq_len": 3000})
    assert chat.results["itl"] == by_hand.results["itl"] and chat.results["ttft"] == by_hand.results["ttft"]
    assert chat.results["ttft"] != mlsysim.ask(mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100, traffic_file=trace).results["ttft"]
    assert pickle.loads(pickle.dumps(chat)).results["itl"] == chat.results["itl"]


def test_what_is_no_traffic_is_refused_with_its_line(tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"timestamp": 0, "input_length": 5, "output_length": 5, "hash_ids": []}\n{"timestamp": 1, "input_length": -5}\n')
    with pytest.raises(mlsysim.errors.InputError, match="bad.jsonl"):
        mlsysim.read_traffic(bad)
    with pytest.raises(mlsysim.errors.InputError, match="none.jsonl"):
        mlsysim.read_traffic(tmp_path / "none.jsonl")
    for block in (-1, float("nan"), "512", True):
        with pytest.raises(mlsysim.errors.InputError, match="python.252"):
            mlsysim.read_traffic(bad, block_tokens=block)
