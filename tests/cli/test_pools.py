"""Prefill workers beside decode replicas: a plan like any other, in every command and file."""

import csv
import io

import pytest

LENGTHS = ["--seq-len", "2048", "--output-tokens", "256"]
RATE = ["--rate", "6/s"]
POOLS = ["--prefill-replicas", "2", "--prefill-tp-size", "4", "--decode-replicas", "1", "--tp-size", "8"]
ASK = ["Llama3_70B", "H200", *LENGTHS, *RATE]


def card(run, *words):
    done = run(*words, "-o", "json")
    return done.code, done.json()


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_the_devices_are_those_of_both_pools(run):
    code, answer = card(run, "eval", *ASK, *POOLS)
    assert code == 0 and "16 x H200" in run("eval", *ASK, *POOLS).out
    assert answer["load"] == "6 request/s, prefill 2 x (tp 4) + decode 1 x (tp 8)" and answer["p_replicas"] == 1
    # Twice as many of everything serve twice the rate as fast, and cost twice as much.
    twice = card(run, "eval", *ASK[:-1], "12/s", "--prefill-replicas", "4", "--prefill-tp-size", "4", "--decode-replicas", "2",
                 "--tp-size", "8")[1]
    assert twice["p_itl"] == pytest.approx(answer["p_itl"]) and twice["p_ttft"] <= answer["p_ttft"]
    assert twice["m_tco_usd"] == pytest.approx(2 * answer["m_tco_usd"], rel=0.01)


def test_accelerators_leave_the_decode_replicas(run):
    counted = card(run, "eval", *ASK, *POOLS)[1]
    left = card(run, "eval", *ASK, "--accelerators", "16", "--prefill-replicas", "2", "--prefill-tp-size", "4", "--tp-size", "8")[1]
    assert {k: v for k, v in left.items() if k.startswith("p_")} == {k: v for k, v in counted.items() if k.startswith("p_")}
    alike = card(run, "eval", *ASK, "--accelerators", "16", "--prefill-replicas", "1")[1]
    assert alike["load"].endswith("prefill 1 x (tp 8) + decode 1 x (tp 8)")


def test_other_names_are_the_same_plan(run):
    named = ["--prefill-workers", "2", "--prefill-tp-size", "4", "--decode-workers", "1", "--tp", "8"]
    assert card(run, "eval", *ASK, *named) == card(run, "eval", *ASK, *POOLS)
    moe = ["DeepSeek_V3", "H200", "--accelerators", "8", *LENGTHS, "--concurrency", "64"]
    assert card(run, "eval", *moe, "--attention-dp-size", "8") == card(run, "eval", *moe, "--ep-size", "8")


def test_the_resolver_gives_the_same_numbers(run):
    words = ["workload=Llama3_70B", "hardware=H200", "seq_len=2048", "output_tokens=256", "arrival_rate=6 request/s", "tp_size=8",
             "prefill_replicas=2", "prefill_tp_size=4", "page_tokens=16"]
    found = run("pipeline", "run", "InFlightBatchingModel", *words, "-o", "json").json()["stages"][0]["result"]
    answer = card(run, "eval", *ASK, *POOLS)[1]
    for name in ("itl", "ttft", "p99_ttft"):
        assert answer["p_" + name] == pytest.approx(1000 * found[name]["value"], rel=5e-3), name


def test_a_worker_more_makes_the_first_token_earlier(run):
    done = run("sweep", *ASK, "--tp-size", "8", "--prefill-tp-size", "4", "--axis", "prefill_replicas=1,2,4", "--axis", "decode_replicas=1,2",
               "--show", "ttft,p99_ttft,itl,overload,tco", "-o", "csv")
    rows = table(done.out)
    assert done.code == 0 and len(rows) == 6
    first = [float(r["p99_ttft [ms]"]) for r in rows if r["decode_replicas"] == "2"]
    assert first == sorted(first, reverse=True) and first[0] > first[-1]
    pace = {r["decode_replicas"]: float(r["itl [ms]"]) for r in rows}
    assert pace["2"] < pace["1"]


def test_each_point_of_a_sweep_is_what_eval_says(run):
    done = run("sweep", *ASK, "--axis", "prefill_tp_size=2,4", "--axis", "prefill_replicas=2,4", "--axis", "decode_replicas=1,2", "--tp-size",
               "8", "--show", "ttft,itl", "-o", "csv")
    for row in table(done.out):
        alone = card(run, "eval", *ASK, "--tp-size", "8", *(f"--{k.replace('_', '-')}={row[k]}" for k in
                                                            ("prefill_tp_size", "prefill_replicas", "decode_replicas")))[1]
        assert float(row["ttft [ms]"]) == pytest.approx(alone["p_ttft"], rel=1e-3), row
        assert float(row["itl [ms]"]) == pytest.approx(alone["p_itl"], rel=1e-3), row


def test_an_optimum_over_pools_is_the_best_of_all(run):
    ask = [*ASK, "--tp-size", "4", "--prefill-tp-size", "4", "--axis", "prefill_replicas=1..4", "--axis", "decode_replicas=1..4"]
    best = run("optimize", *ask, "--minimize", "tco", "--subject-to", "p99_ttft <= 2 s", "--subject-to", "itl <= 25 ms", "-o", "json")
    rows = table(run("sweep", *ask, "--show", "tco,p99_ttft,itl,overload", "-o", "csv").out)
    good = [r for r in rows if r["feasible"] == "yes" and float(r["p99_ttft [ms]"]) <= 2000 and float(r["itl [ms]"]) <= 25]
    assert best.code == 0 and good
    assert best.json()["best"][0]["objectives"]["tco"] == pytest.approx(min(float(r["tco [USD]"]) for r in good), rel=1e-3)


def test_workers_are_solved_for_and_compared(run):
    ask = ["Llama3_70B", "H200", *LENGTHS, "--rate", "12/s", "--tp-size", "8", "--decode-replicas", "2", "--prefill-tp-size", "2"]
    solved = run("solve", *ask[:2], "p99_ttft <= 1.5 s", "prefill_replicas", *ask[2:], "-o", "json")
    assert solved.code == 0, solved.err
    few = int(solved.json()["value"])
    for count in {few, max(1, few - 1)}:
        late = card(run, "eval", *ask, "--prefill-replicas", str(count))[1]
        assert (late["p_p99_ttft"] <= 1500 and late["p_status"] == "PASS") == (count == few)
    other = run("compare", *ask[:2], "ttft", *ask[2:], "--prefill-replicas", str(few), "--with", f"prefill_replicas={few + 2}")
    assert other.code == 0, other.err


@pytest.mark.parametrize("words", [["explain", "Llama3_70B", "H200", "ttft"], ["explain", "Llama3_70B", "H200", "itl"],
                                   ["sensitivity", "Llama3_70B", "H200", "p99_ttft"], ["uncertainty", "Llama3_70B", "H200", "ttft"],
                                   ["report", "Llama3_70B", "H200", "-o", "md"],
                                   ["pareto", "Llama3_70B", "H200", "--axis", "decode_replicas=1,2", "--minimize", "itl", "--minimize", "tco"]])
def test_every_question_takes_pools(run, words):
    pools = POOLS if words[0] != "pareto" else [w for w in POOLS if w not in ("--decode-replicas", "1")]
    done = run(*words, *LENGTHS, *RATE, *pools)
    assert done.code == 0 and done.out, done.err


def test_a_plan_file_has_the_same_names(run, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("""version: "1"
name: pools
workload: {name: Llama3_70B, arrival_rate: 6 request/s, seq_len: 2048, output_tokens: 256}
hardware: {name: H200}
parallelism: {tp_size: 8, prefill_replicas: 2, prefill_tp_size: 4, decode_replicas: 1}
""")
    ours, options = card(run, "eval", plan), card(run, "eval", *ASK, *POOLS)
    assert ours[0] == options[0] == 0
    assert {k: v for k, v in ours[1].items() if k.startswith("p_")} == {k: v for k, v in options[1].items() if k.startswith("p_")}


@pytest.mark.parametrize("engine, words", [("vllm", ("kv_producer", "kv_consumer")), ("sglang", ("prefill", "decode"))])
def test_both_pools_are_exported(run, engine, words):
    done = run("export", *ASK, *POOLS, "--to", engine)
    assert done.code == 0 and all(word in done.out for word in words), done.err
    assert "-size 4" in done.out and "-size 8" in done.out


@pytest.mark.parametrize("words, parts", [
    (["Llama3_70B", "H200", "--mode", "train", "--prefill-replicas", "2"], ["mlsysim.engine.038", "prefill_replicas"]),
    (["Llama3_70B", "H200", "--mode", "infer", "--prefill-replicas", "2"], ["mlsysim.engine.038", "prefill_replicas"]),
    (["Llama3_70B", "H200", "--burst", "8", "--prefill-replicas", "2"], ["mlsysim.engine.061", "burst"]),
    (["Llama3_70B", "H200", "--prefill-tp-size", "2"], ["mlsysim.engine.061", "prefill_replicas"]),
    (["Llama3_70B", "H200", "--decode-replicas", "2"], ["mlsysim.engine.061", "prefill_replicas"]),
    (["Llama3_70B", "H200", "--network-bandwidth", "50 GB/s"], ["mlsysim.engine.061", "prefill_replicas"]),
    (["Llama3_70B", "H200", "--accelerators", "8", "--tp-size", "8", "--prefill-replicas", "1"], ["mlsysim.engine.062", "8 accelerators"]),
    (["Llama3_70B", "H200", "--prefill-replicas", "0"], ["prefill_replicas"]),
    (["Llama3_70B", "H200", "--tp-size", "8", "--prefill-replicas", "1", "--prefill-tp-size", "128"], ["64"]),
])
def test_impossible_pools_are_refused(refused, words, parts):
    refused("eval", *words, parts=parts)


def test_a_pool_that_does_not_fit_is_no_plan(run):
    tight = ["Llama3_70B", "H100", *LENGTHS, "--rate", "1/s", "--prefill-replicas", "1", "--tp-size", "8", "--precision", "bf16"]
    code, answer = card(run, "eval", *tight, "--prefill-tp-size", "1")
    assert code == 2 and answer["f_status"] == "FAIL"
    assert card(run, "eval", *tight, "--prefill-tp-size", "4")[0] == 0


def test_too_few_workers_are_an_answer(run):
    code, answer = card(run, "eval", *ASK[:-1], "200/s", *POOLS)
    assert code == 2 and answer["p_overload"] > 0
    assert answer["p_overload"] + answer["p_request_throughput"] == pytest.approx(200)


def test_a_size_with_pools_is_a_plan_that_eval_knows(run):
    ask = ["Llama3_70B", "--on", "H200", "--rate", "10/s", "--ttft", "p99 2 s", "--itl", "25 ms", *LENGTHS]
    answer = run("size", *ask, "--disaggregated", "-o", "json").json()
    plan = next(p for p in [answer["best"], *answer["others"]] if "prefill" in p)

    def meets(workers, replicas):
        code, found = card(run, "eval", "Llama3_70B", "H200", "--rate", "10/s", *LENGTHS, f"--tp-size={plan['tp_size']:g}",
                           f"--ep-size={plan['ep_size']:g}", f"--prefill-replicas={workers:g}", f"--decode-replicas={replicas:g}",
                           f"--prefill-tp-size={plan['prefill']['tp_size']:g}", f"--prefill-ep-size={plan['prefill']['ep_size']:g}")
        return code == 0 and found["p_p99_ttft"] <= 2000 and found["p_itl"] <= 25, found

    workers, replicas = plan["prefill"]["workers"], plan["replicas"]
    ok, found = meets(workers, replicas)
    assert ok and found["p_itl"] == pytest.approx(plan["itl_ms"], rel=1e-3) and found["p_p99_ttft"] == pytest.approx(plan["p99_ttft_ms"], rel=1e-3)
    assert workers == 1 or not meets(workers - 1, replicas)[0]
    assert replicas == 1 or not meets(workers, replicas - 1)[0]


def test_pools_on_whole_machines(run):
    code, answer = card(run, "eval", "Llama3_70B", "DGX_H200", "--node-count", "2", *LENGTHS, *RATE, "--tp-size", "8", "--prefill-replicas", "1",
                        "--prefill-tp-size", "4", "--decode-replicas", "1")
    assert code == 0 and answer["load"].endswith("prefill 1 x (tp 4) + decode 1 x (tp 8)")  # four devices are idle, and paid
