"""Recorded traffic: shown, as a plan, in the place of options; in constant memory."""

import json
import os
import random
import subprocess

import pytest
from conftest import PROGRAM, ROOT, SLOWER


def trace(path, requests, blocks=True):
    rng = random.Random(7)
    time = 0
    with path.open("w") as out:
        for k in range(requests):
            time += round(1000 * rng.expovariate(2))
            length = max(1, round(rng.lognormvariate(7, 0.8)))
            ids = [k % 50, 100 + k] if blocks else []
            out.write(json.dumps({"timestamp": time, "input_length": length, "output_length": max(1, round(rng.gammavariate(2, 100))), "hash_ids": ids}) + "\n")
    return path


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return trace(tmp_path_factory.mktemp("traffic") / "trace.jsonl", 4000)


def test_laws_come_back_from_numbers_that_follow_them(run, sample):
    answer = run("traffic", "show", sample, "-o", "json").json()
    assert answer["schema"] == "mlsysim/traffic@1" and answer["format"] == "mooncake" and answer["requests"] == 4000
    prompt, reply, gaps = answer["prompt"]["laws"][0], answer["answer"]["laws"][0], answer["arrivals"]["gaps"]["laws"]
    assert prompt["law"] == "lognormal" and abs(prompt["second"] - 0.8) < 0.03 and prompt["distance"] < 0.0215
    assert reply["law"] == "gamma" and abs(reply["first"] - 2) < 0.2 and reply["distance"] < 0.0215
    exponential = next(f for f in gaps if f["law"] == "exponential")
    assert exponential["distance"] < 0.0215 and abs(answer["arrivals"]["rate"] - 2) < 0.1
    assert answer["prompt"]["laws"][-1]["distance"] > 0.05, "a law of another shape is farther"
    text = run("traffic", "show", sample).out
    assert prompt["text"] in text and "requests a second" in text and "seq_len" in text


def test_the_plan_of_a_file_is_evaluated(run, sample, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text(run("traffic", "import", sample, "Llama3_8B", "H100").out)
    assert "# prompt [token]: lognormal" in plan.read_text()
    inputs = run("traffic", "show", sample, "-o", "json").json()["inputs"]
    by_plan = run("eval", plan, "-o", "json").json()
    by_hand = run("eval", "Llama3_8B", "H100", "--seq-len", inputs["seq_len"], "--output-tokens", inputs["output_tokens"],
                  "--cached-prefix-len", inputs["cached_prefix_len"], "--arrival-rate", inputs["arrival_rate"],
                  "--seq-len-cv", inputs["seq_len_cv"], "--seq-len-law", "lognormal",
                  "--output-tokens-cv", inputs["output_tokens_cv"], "--output-tokens-law", "gamma", "-o", "json").json()
    by_option = run("eval", "Llama3_8B", "H100", "--traffic-file", sample, "-o", "json")
    figures = [{k: v for k, v in card.items() if k.startswith(("f_", "p_"))} for card in (by_plan, by_hand, by_option.json())]
    assert figures[0] == figures[1] == figures[2] and len(figures[0]) > 10
    assert f"taken: seq_len={inputs['seq_len']}" in by_option.err and "distance 0." in by_option.err


def test_what_is_given_is_kept(run, sample):
    done = run("eval", "Llama3_8B", "H100", "--seq-len", "3000", "--traffic-file", sample)
    assert "(another is given)" in done.err and "taken: seq_len" not in done.err and "output_tokens=" in done.err


def test_percentiles_have_the_lengths_of_the_file(run, sample):
    """Answers are gamma with shape 2 and a mean of 200: 99 % are below 664 tokens."""
    def card(*more):
        return run("eval", "Llama3_8B", "H100", "--traffic-file", sample, *more, "-o", "json").json()

    alike = ("--seq-len-cv", "0", "--output-tokens-cv", "0", "--seq-len-law", "constant", "--output-tokens-law", "constant")
    file, equal = card(), card(*alike)
    assert file["p_p99_request_latency"] > 600 * file["p_itl"] and equal["p_p99_request_latency"] < 300 * equal["p_itl"]
    assert file["p_p99_ttft"] > equal["p_p99_ttft"] and file["p_p50_ttft"] < equal["p_p50_ttft"]
    assert "\u00b1" in file["lengths"] and equal["lengths"].endswith("all alike")
    # One device gives a token in 8.5 ms: 664 of them miss 4 s, 200 do not.
    def sized(*more):
        return run("size", "Llama3_8B", "--on", "H100", "--traffic-file", sample, "--e2e", "p99 4 s", *more, "-o", "json").json()

    assert sized(*alike)["best"]["devices"] == 1 and sized()["best"]["devices"] > 1


def test_resolvers_take_arrivals(run, sample):
    inputs = run("traffic", "show", sample, "-o", "json").json()["inputs"]
    words = ("resolver", "run", "InFlightBatchingModel", "--workload", "Llama3_8B", "--hardware", "H100", "-o", "json")
    by_file = run(*words, "--traffic-file", sample)
    names = ("seq_len", "output_tokens", "seq_len_cv", "seq_len_law", "output_tokens_cv", "output_tokens_law", "cached_prefix_len", "arrival_rate")
    by_hand = run(*words, *(w for name in names for w in (f"--{name}", inputs[name])))
    assert by_file.code == 0 and by_file.out == by_hand.out
    questions = ("ServingModel", "workload=Llama3_8B", "hardware=H100")
    for words in (("explain", *questions, "itl"), ("sweep", *questions, "--axis", "batch_size=1,2", "--show", "itl")):
        done = run(*words, "--traffic-file", sample)
        assert done.code == 0 and "taken: seq_len=" in done.err, done.err


def test_a_search_keeps_the_figures_in_its_state(run, sample, tmp_path):
    words = ("optimize", "Llama3_8B", "H100", "--axis", "batch_size=1..64", "--minimize", "cost_per_token", "--traffic-file", sample)
    for k in (1, 2):
        assert run(*words, "--shard", f"{k}/2", "--state", tmp_path / f"{k}.json").code == 0
    assert run("merge", tmp_path / "1.json", tmp_path / "2.json").out == run(*words, "--strategy", "exhaustive").out


def test_files_that_are_no_traffic_are_refused(refused, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"timestamp": 0, "input_length": 1, "output_length": 1}\n{"timestamp": 0, "input_length": NaN}\n')
    refused("traffic", "show", bad, parts=["bad.jsonl:2", "mlsysim.traffic.001"])
    refused("eval", "Llama3_8B", "H100", "--traffic-file", bad, parts=["bad.jsonl:2"])
    refused("traffic", "show", tmp_path / "none", parts=["none", "mlsysim.traffic.001"])
    refused("traffic", "show", ROOT / "README.md", parts=["README.md:1", "TIMESTAMP"])
    refused("traffic", "import", bad, "Llama3_8B", "H100", parts=["bad.jsonl:2"])
    refused("traffic", "show", bad, "--block-tokens", "0", parts=["--block-tokens"])


@pytest.mark.skipif(SLOWER > 1, reason="a sanitizer keeps for a while what is given back")
def test_memory_does_not_grow_with_the_file(tmp_path):
    def most(path):
        process = subprocess.Popen([PROGRAM, "traffic", "show", str(path), "-o", "json"], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return used.ru_maxrss

    small, large = trace(tmp_path / "small", 2000, blocks=False), tmp_path / "large"
    large.write_text(small.read_text() * 60)
    assert large.stat().st_size > 8_000_000
    assert most(large) - most(small) < 3000  # KiB


def test_reports_of_guidellm(run, refused, tmp_path):
    def report(*strategies, place="args"):
        metrics = {"prompt_token_count": {"successful": {"mean": 512.0, "median": 512.0}}, "output_token_count": {"successful": {
            "mean": 30, "std_dev": 30, "percentiles": {"p50": 20.79, "p90": 69.08, "p99": 138.2}}}}
        path = tmp_path / "benchmarks.json"
        path.write_text(json.dumps({"benchmarks": [{place: {"strategy": strategy}, "metrics": metrics} for strategy in strategies]}))
        return run("traffic", "show", path, "-o", "json").json()

    constant = report({"type_": "constant", "rate": 2.0})
    assert constant["format"] == "guidellm" and constant["inputs"]["seq_len"] == "512" and constant["inputs"]["output_tokens"] == "30"
    assert constant["arrivals"]["rate"] == 2 and constant["arrivals"]["cv"] == 0
    assert not constant["prompt"]["laws"] and constant["answer"]["laws"][0]["distance"] < 1e-4  # a mean alone; an exponential law
    streams = {"type_": "concurrent", "streams": 8}
    assert report(streams, place="config")["inputs"]["concurrency"] == "8"
    assert "concurrency" not in report(streams, streams)["inputs"]  # which of the two is not known
    for text in ('{"benchmarks": []}', '{"benchmarks": [{"metrics": 3}]}'):
        (tmp_path / "bad.json").write_text(text)
        refused("traffic", "show", tmp_path / "bad.json", parts=["mlsysim.traffic.001"])
