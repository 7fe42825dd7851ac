"""Loads, sizes, decisions and claims."""

import csv
import io
import json
import math

import pytest

LENGTHS = ["--seq-len", "2048", "--output-tokens", "256"]


def asked(run, *words):
    done = run(*words, "-o", "json")
    return done.code, done.json()


def numbers_of(card):
    """Numbers of the performance level, under their own names."""
    return {name[2:]: value for name, value in card.items() if name.startswith("p_")}


@pytest.mark.parametrize("words, load", [
    (["--concurrency", "8"], "8 in flight"),
    (["--batch-size", "8"], "8 in flight"),
    (["--burst", "8"], "8 at once"),
    (["--rate", "8/s"], "8 request/s"),
    (["--arrival-rate", "8 request/s"], "8 request/s"),
])
def test_the_answer_says_its_load(run, words, load):
    code, card = asked(run, "eval", "Llama3_8B", "H100", *words)
    assert code == 0 and card["load"] == load and load in run("eval", "Llama3_8B", "H100", *words).out.splitlines()[1]


def test_machines_stand_behind_the_model_as_well(run):
    load = ("--rate", "2/s", "-o", "json")
    assert run("size", "Llama3_8B", "H100", *load).out == run("size", "Llama3_8B", "--on", "H100", *load).out
    flagged = run("decide", "Llama3_8B", "--on", "H100,A100", *load)
    assert flagged.code == 0
    for words in (("H100", "A100"), ("H100,A100",)):
        assert run("decide", "Llama3_8B", *words, *load).out == flagged.out


SAID = "2048 tokens in, 128 tokens out, all alike"


@pytest.mark.parametrize("words", [
    ["eval", "Llama3_8B", "H100"],
    ["size", "Llama3_8B", "--on", "H100", "--rate", "2/s", "--itl", "30 ms"],
    ["decide", "Llama3_8B", "--on", "H100,H200", "--rate", "2/s", "--itl", "30 ms"],
    ["optimize", "Llama3_8B", "H100", "--axis", "batch_size=1,2"],
    ["compare", "Llama3_8B", "H100", "itl", "--with", "hardware=H200"],
    ["sweep", "Llama3_8B", "H100,H200"],
    ["solve", "Llama3_8B", "H100", "itl <= 30 ms", "batch_size"],
    ["claim", "Llama3_8B 1xH100 100 token/s/gpu at itl 30 ms"],
], ids=lambda words: words[0])
def test_the_first_lines_say_the_lengths(run, words):
    """Also where nobody stated them; a length that varies is not said."""
    done = run(*words)
    assert done.code == 0 and SAID in " ".join(" ".join(done.out.splitlines()[:6]).split()), done.out
    assert SAID not in run("sweep", "Llama3_8B", "H100", "--axis", "seq_len=512,1024", "--show", "itl").out


def test_the_load_is_said_unless_it_varies(run):
    title = run("sweep", "Llama3_8B", "H100", "--axis", "seq_len=512,1024", "--batch-size", "16", "--show", "itl").out.splitlines()[0]
    assert "128 tokens out" in title and "tokens in" not in title and "16 requests" not in title  # batch_size is an axis of one value
    assert "at 3 request/s" in run("compare", "Llama3_8B", "H100", "itl", "--rate", "3/s", "--with", "hardware=H200").out


def test_a_burst_waits_and_a_steady_state_does_not(run):
    words = ["eval", "DeepSeek_V3", "H200", "--accelerators", "8", "--seq-len", "4096", "--output-tokens", "1024"]
    steady = numbers_of(asked(run, *words, "--concurrency", "64")[1])
    burst = numbers_of(asked(run, *words, "--burst", "64")[1])
    assert steady["ttft"] < 800 and burst["ttft"] > 5000  # ms


def test_a_burst_without_answers_says_so(run):
    words = ["eval", "Llama3_8B", "H100", "--burst", "16"]
    text = " ".join(run(*words).out.split())
    assert "2048 tokens in, no answers" in text and "whole request" not in text
    assert any("a burst without output_tokens" in note for note in asked(run, *words)[1]["warnings"])
    text = " ".join(run(*words, "--output-tokens", "64").out.split())
    assert "64 tokens out" in text and "whole request" in text and "no answers" not in text
    assert not any("without output_tokens" in note for note in asked(run, *words, "--fidelity", "textbook")[1]["warnings"])


def test_two_loads_contradict_each_other(refused):
    refused("eval", "Llama3_8B", "H100", "--rate", "8/s", "--load", "burst", parts=["mlsysim.engine.010", "arrival_rate"])
    refused("eval", "Llama3_8B", "H100", "--load", "rate", parts=["mlsysim.engine.010", "arrival_rate"])


def test_a_rate_above_the_capacity_is_an_answer(run):
    code, card = asked(run, "eval", "Llama3_8B", "H100", "--rate", "1000/s")
    assert code == 2
    assert card["p_status"] == "FAIL"
    numbers = numbers_of(card)
    assert numbers["overload"] + numbers["request_throughput"] == pytest.approx(1000)


def test_a_size_meets_its_limits_and_one_replica_fewer_does_not(run):
    common = ["--seq-len", "2048", "--output-tokens", "256"]
    code, answer = asked(run, "size", "Llama3_70B", "--on", "H100", "--rate", "20/s", "--ttft", "p99 2 s", "--itl", "30 ms", *common)
    assert code == 0
    best = answer["best"]
    degrees = [f"--tp-size={best['tp_size']:g}", f"--pp-size={best['pp_size']:g}", f"--ep-size={best['ep_size']:g}"]
    each = best["devices"] / best["replicas"]

    def meets(replicas):
        code, card = asked(run, "eval", "Llama3_70B", "H100", f"--accelerators={each:g}", f"--rate={20 / replicas!r}/s", *degrees, *common)
        numbers = numbers_of(card)
        return code == 0 and numbers["p99_ttft"] <= 2000 and numbers["itl"] <= 30

    assert meets(best["replicas"])
    assert best["replicas"] == 1 or not meets(best["replicas"] - 1)


@pytest.mark.parametrize("looser, tighter", [
    (["--itl", "50 ms"], ["--itl", "25 ms"]),
    (["--ttft", "2 s"], ["--ttft", "p99 2 s"]),
    (["--rate", "5/s"], ["--rate", "50/s"]),
])
def test_a_harder_question_needs_no_fewer_devices(run, looser, tighter):
    def devices(words):
        rate = [] if "--rate" in words else ["--rate", "20/s"]
        code, answer = asked(run, "size", "Llama3_8B", "--on", "H100", *rate, *words, "--output-tokens", "256")
        return answer["best"]["devices"] if code == 0 else float("inf")

    assert devices(looser) <= devices(tighter)


def test_limits_that_no_plan_meets_say_what_would_help(run):
    code, answer = asked(run, "size", "Llama3_70B", "--on", "H100", "--rate", "1/s", "--itl", "1 ms")
    assert code == 2
    assert answer["feasible"] is False and answer["smallest_change"]


def test_training_without_a_batch_says_which_is_assumed(run):
    code, answer = asked(run, "size", "Llama3_70B", "--on", "H100", "--mode", "train", "--tokens", "15T", "--within", "90 d")
    assert code == 2 and "with a batch of 1 sequence" in answer["reason"]
    assert "1 unless it is stated" in answer["smallest_change"] and "--batch-size 512" in answer["smallest_change"]
    done = run("solve", "Llama3_70B", "H100", "training_time <= 90 d", "accelerators", "--mode", "train")
    assert done.code == 2 and "batch of 1, sequences of 2048 tokens" in done.out


def test_a_claim_above_the_bound_is_impossible(run):
    words = ["--seq-len", "2048", "--output-tokens", "256"]
    code, verdict = asked(run, "claim", "Llama3_70B 8xH100 50000 token/s/gpu at itl 20 ms", *words)
    assert (code, verdict["verdict"]) == (2, "impossible")
    below = verdict["bound_per_device"]
    assert asked(run, "claim", f"Llama3_70B 8xH100 {below * 0.99:.0f} token/s/gpu at itl 20 ms", *words)[0] == 0
    rate = verdict["predicted_per_device"] or 100
    assert asked(run, "claim", f"Llama3_70B 8xH100 {rate:.0f} token/s/gpu at itl 20 ms", *words)[1]["verdict"] == "ordinary"


DECISION = ["decide", "Llama3_70B", "--on", "A100,H100,H200", "--rate", "5/s", "--ttft", "p99 2 s", "--itl", "40 ms", *LENGTHS]


def test_a_decision_ranks_and_says_how_sure_it_is(run):
    code, answer = asked(run, *DECISION)
    assert code == 0
    feasible = [o for o in answer["options"] if o["meets_limits"]]
    assert [o["cost"] for o in feasible] == sorted(o["cost"] for o in feasible) and answer["unit"] == "USD/h"
    for o in feasible:
        assert o["lower"] <= o["cost"] <= o["upper"]
        low, high = o["against_choice"]
        assert low <= o["cost"] / feasible[0]["cost"] * (1 + 1e-9) and o["apart"] == (o is feasible[0] or low > 1)
    assert answer["regret"]["most"] == pytest.approx(max(p["bound"] for p in answer["regret"]["certificate"]))
    # The regret is that of the intervals which are printed.
    machines = {o["machine"]: o for o in feasible}
    for part in answer["regret"]["certificate"]:
        choice, other = machines[part["choice"]["machine"]], machines[part["other"]["machine"]]
        assert part["choice"]["cost"] <= choice["upper"] * (1 + 1e-9)
        assert part["other"]["cost"] is None or part["other"]["cost"] >= other["lower"] * (1 - 1e-9)
    assert {f["figure"] for f in answer["flips"]} and len(answer["next"]) <= 5


def test_a_price_that_is_not_known_is_none(run):
    answer = asked(run, "decide", "Llama3_8B", "--on", "L4,A100,H100", "--rate", "20/s", "--ttft", "1 s", "--itl", "50 ms", *LENGTHS)[1]
    now = {f["figure"]: f["now"] for f in answer["flips"]}
    assert now["price of L4"] is None and now["price of H100"] > 0


def test_a_decision_writes_the_kernels_to_measure(run, tmp_path):
    file = tmp_path / "points.json"
    answer = run(*DECISION, "--points", file, "-o", "json").json()
    asked_for = json.loads(file.read_text())
    assert asked_for["schema"] == "mlsysim/measure-request@1" and len(asked_for["points"]) == len(answer["next"]) > 0
    left = [n["regret_left"] for n in answer["next"]]
    assert left == sorted(left, reverse=True) and left[-1] < answer["regret"]["most"] and answer["run"]["regret_left"] <= left[-1] * (1 + 1e-9)
    model = {"heads": 64, "kv_heads": 8, "head_dim": 128}  # Llama-3-70B
    for point, n in zip(asked_for["points"], answer["next"]):
        plan = next(o for o in answer["options"] if o["machine"] == n["machine"])["size"]["best"]
        assert point["hardware"] in ("A100_80GB", "A100", "H100", "H200") and "% of a decode step" in point["why"]
        if point["table"] == "attention":
            assert point["op"] == "decode" and point["size"]["heads"] == model["heads"] / plan["tp_size"]
            assert point["size"]["kv_heads"] == max(1, model["kv_heads"] / plan["tp_size"]) and point["size"]["head_dim"] == 128
        else:
            assert point["table"] == "gemm" and point["size"]["m"] == pytest.approx(plan["running_requests"] / plan["pp_size"], abs=1.5)
            assert 8192 in (point["size"]["n"], point["size"]["k"])  # the width of the model
    assert run(*DECISION, "--points", file).code == 0  # its own file is replaced
    (tmp_path / "mine.txt").write_text("mine")
    assert run(*DECISION, "--points", tmp_path / "mine.txt").code == 1


def test_formats_are_tried_where_they_are_named(run, refused):
    words = ["size", "Llama3_70B", "--on", "H100", "--rate", "5/s", "--itl", "30 ms", *LENGTHS]
    each = {name: asked(run, *words, "--precision", name)[1]["best"]["devices"] for name in ("bf16", "fp8")}
    both = asked(run, *words, "--precisions", "bf16,fp8")[1]
    assert each["fp8"] < each["bf16"] and both["best"]["devices"] == each["fp8"] and both["best"]["precision"] == "fp8"
    assert both["plans"] == 2 * asked(run, *words, "--precision", "bf16")[1]["plans"]
    assert "precision" not in asked(run, *words)[1]["best"]
    refused(*words, "--precisions", "fp9", parts=["mlsysim.explore.199", "fp9"])
    refused(*words, "--precisions", "fp8", "--precision", "bf16", parts=["mlsysim.explore.198"])


def test_limits_hold_in_comparisons_and_reports(run):
    words = ["compare", "Llama3_70B", "H100", "H200", "--accelerators", "8", "--concurrency", "16", *LENGTHS]
    itl = {side: run("eval", "Llama3_70B", name, "--accelerators", "8", "--concurrency", "16", *LENGTHS, "-o", "json").json()["p_itl"]
           for side, name in (("first", "H100"), ("second", "H200"))}
    between = sum(itl.values()) / 2
    done = run(*words, "--itl", f"{between} ms", "-o", "json")
    limit = done.json()["limits"][0]
    assert limit["result"] == "itl" and limit["first"]["found_ms"] == pytest.approx(itl["first"], rel=1e-6)
    assert done.code == 3 and (limit["first"]["met"], limit["second"]["met"]) == (False, True)
    assert run(*words, "--itl", f"{max(itl.values()) * 1.01} ms").code == 0
    report = ["report", "Llama3_70B", "H100", *words[4:], "-o", "md"]
    assert run(*report, "--itl", f"{between} ms").code == 3 and run(*report, "--itl", f"{max(itl.values()) * 1.01} ms").code == 0
    assert "limits" not in run(*words, "-o", "json").json()


@pytest.mark.parametrize("words, limits", [
    (["GPT_OSS_120B", "--on", "H200", "--rate", "55.5/s", "--seq-len", "1000", "--output-tokens", "256"], {"itl_ms": 60, "ttft_ms": 300}),
    (["Llama3_8B", "--on", "A10G", "--rate", "17.9/s", "--seq-len", "200", "--output-tokens", "2"], {"ttft_ms": 3000}),
    (["GPT2", "--on", "L4", "--rate", "28.9/s", "--seq-len", "200", "--output-tokens", "64"], {"ttft_ms": 300}),
    (["DeepSeek_V3", "--on", "B200", "--rate", "45.4/s", "--seq-len", "200", "--output-tokens", "256"], {"itl_ms": 100})])
def test_a_size_keeps_the_limits_that_it_was_asked_for(run, words, limits):
    """Several states of a replica may have one rate, where a step gets longer by a jump."""
    asked_for = [word for name, most in limits.items() for word in ("--" + name.removesuffix("_ms"), f"{most} ms")]
    code, answer = asked(run, "size", *words, *asked_for)
    assert code == 0 and all(answer["best"][name] <= most * (1 + 1e-4) for name, most in limits.items()), answer["best"]


def test_stated_degrees_are_the_only_ones(run):
    for words, name, degree in ((["Llama3_8B", "--on", "H100"], "tp", 4), (["Llama3_8B", "--on", "H100"], "pp", 2), (["Mixtral_8x7B", "--on", "H200"], "ep", 8)):
        code, answer = asked(run, "size", *words, f"--{name}-size", str(degree), "--rate", "5/s", *LENGTHS)
        assert code == 0 and {plan[f"{name}_size"] for plan in (answer["best"], *answer["others"])} == {degree}


def test_a_format_that_a_machine_lacks_is_no_plan_there(run):
    both = asked(run, "size", "Llama3_8B", "--on", "A100", "--rate", "5/s", "--precisions", "bf16,fp8", *LENGTHS)[1]
    assert both["best"]["precision"] == "bf16"
    decided = asked(run, "decide", "Llama3_8B", "--on", "A100,H100", "--rate", "5/s", "--precisions", "bf16,fp8", *LENGTHS)[1]
    assert all(o["meets_limits"] for o in decided["options"])
    code, none = asked(run, "size", "Llama3_8B", "--on", "A100", "--rate", "5/s", "--precisions", "fp8", *LENGTHS)
    assert code == 2 and none["feasible"] is False and "fp8" in none["reason"]


def test_attention_over_long_caches_is_measured(run):
    words = ["decide", "Llama3_8B", "--on", "H100,A100", "--rate", "20/s", "--seq-len", "32000", "--itl", "50ms", "--output-tokens", "500"]
    answer = asked(run, *words)[1]
    kernels = [n["kernel"] for n in answer["next"]]
    assert [k["size"] for k in kernels if k["table"] == "attention"]
    for size in (k["size"] for k in kernels if k["table"] == "attention"):
        assert size["batch"] >= 1 and 32000 <= size["context"] <= 32500 and size["head_dim"] == 128
    left = [answer["regret"]["most"], *(n["regret_left"] for n in answer["next"])]
    assert left == sorted(left, reverse=True) and (len(left) < 2 or left[-1] < left[-2])


def test_what_does_not_fit_or_falls_behind_meets_no_limit(run):
    for words in (["Llama3_70B", "H100", "--tp-size", "1"], ["Llama3_8B", "H100", "--rate", "100/s"]):
        assert run("report", *words, "--ttft", "1s", "-o", "md").code == 3
        done = run("compare", *words[:2], "H200", *words[2:], "--ttft", "1s", "-o", "json")
        assert done.code == 3 and done.json()["limits"][0]["first"]["met"] is False


def test_what_a_question_does_not_use_is_refused(refused):
    training = ["size", "Llama3_8B", "--on", "H100", "--tokens", "15T", "--within", "90 d", "--batch-size", "2048"]
    refused(*training, "--ttft", "2s", parts=["mlsysim.explore.260"])
    refused(*training, "--disaggregated", parts=["mlsysim.explore.260"])
    refused("size", "Llama3_8B", "--on", "H100", "--rate", "5/s", "--batch-size", "8", parts=["mlsysim.cli.240"])
    refused("size", "Llama3_8B", "--on", "H100", "--rate", "5/s", "--measurand", "token_time", parts=["mlsysim.cli.370"])
    refused("decide", "Llama3_8B", "--on", "H200,h200", "--rate", "5/s", parts=["mlsysim.cli.373"])


def test_clusters_of_racks_are_sized(run):
    code, answer = asked(run, "size", "Llama3_8B", "--on", "GB200_NVL72_x8", "--rate", "100/s", *LENGTHS)
    assert code == 0 and answer["best"]["devices"] % 4 == 0


def test_a_price_changes_the_choice_where_the_flip_point_says(run):
    answer = asked(run, *DECISION)[1]
    choice = answer["options"][0]["machine"]
    flip = next(f for f in answer["flips"] if f["figure"] == f"price of {choice}")
    above = asked(run, *DECISION, "--price", f"{choice}={flip['at'] * 1.01:.6f} USD/h")[1]
    below = asked(run, *DECISION, "--price", f"{choice}={flip['at'] * 0.99:.6f} USD/h")[1]
    assert above["options"][0]["machine"] == flip["winner"] and below["options"][0]["machine"] == choice


def test_a_machine_without_a_price_is_ranked_without_money(run):
    code, answer = asked(run, "decide", "Llama3_8B", "--on", "H100,MI300X", "--rate", "5/s", *LENGTHS)
    assert code == 0 and answer["unit"] == "devices"
    priced = asked(run, "decide", "Llama3_8B", "--on", "H100,MI300X", "--rate", "5/s", "--price", "MI300X=2.5 USD/h", *LENGTHS)[1]
    assert priced["unit"] == "USD/h"


def test_forms_of_a_decision(run, tmp_path):
    rows = list(csv.DictReader(io.StringIO(run(*DECISION, "-o", "csv").out)))
    assert {row["machine"] for row in rows} == {"A100", "H100", "H200"}
    page = run(*DECISION, "-o", "html").out
    assert page.startswith("<!doctype html>") and len(page) < 300_000 and page.count("<svg") == 1
    assert run(*DECISION, "-o", "markdown").out.count("|") > 20
    assert run(*DECISION, "-o", "md").out == run(*DECISION, "-o", "markdown").out
    for name, start in {"d.html": "<!doctype html>", "d.md": "<!-- mlsysim"}.items():
        file = tmp_path / name
        for _ in range(2):  # one's own file is replaced
            assert run(*DECISION, "-o", file).out.strip() == str(file) and file.read_text().startswith(start)
    (tmp_path / "mine.html").write_text("a page of somebody")
    assert run(*DECISION, "-o", tmp_path / "mine.html").code == 1
    assert run(*DECISION, "-o", tmp_path / "d.docx").code == 1


def test_training_is_sized_by_tokens_and_a_time(run):
    words = ["size", "Llama3_8B", "--on", "H100", "--tokens", "1T", "--batch-size", "1024", "--seq-len", "8192"]
    code, slow = asked(run, *words, "--within", "60 d")
    fast = asked(run, *words, "--within", "20 d")[1]
    assert code == 0 and slow["best"]["devices"] < fast["best"]["devices"]
    assert slow["best"]["training_time_d"] <= 60 and fast["best"]["training_time_d"] <= 20
    assert 0 < slow["best"]["goodput_ratio"] < 1 and slow["best"]["run_cost_usd"] > 0


def test_what_is_part_of_the_answer_is_refused(refused):
    common = ["size", "Llama3_8B", "--on", "H100"]
    refused(*common, "--rate", "5/s", "--accelerators", "8", parts=["mlsysim.cli.240", "accelerators"])
    refused(*common, parts=["mlsysim.explore.181", "rate"])
    refused(*common, "--rate", "5/s", "--ttft", "p97 2 s", parts=["mlsysim.explore.184", "p97", "p99"])
    refused(*common, "--rate", "5/s", "--itl", "30 GB", parts=["mlsysim.explore.184", "30 GB"])
    refused(*common, "--rate", "5/s", "--price", "H200=3 USD/h", parts=["mlsysim.cli.243", "H200"])
    refused("claim", "Llama3_8B H100 fast", parts=["mlsysim.explore.187"])


def test_a_cloud_instance_costs_what_it_is_sold_for(run):
    card = asked(run, "eval", "Llama3_8B", "AWS_p6_b200_48xlarge", "--concurrency", "8")[1]
    tco = card["m_tco_usd"]
    assert tco == pytest.approx(82_000, rel=0.02)
    rented = asked(run, "eval", "Llama3_8B", "H100", "--rent", "2 USD/h")[1]
    assert rented["m_tco_usd"] == pytest.approx(2 * 720)


def test_measurements_of_ones_own_narrow_the_interval(run, tmp_path):
    """Rows that the prediction meets leave less open; rows that took twice as long widen the interval upwards."""
    lengths = dict(zip(("seq_len", "output_tokens"), LENGTHS[1::2]))
    rows = []
    for running in (1, 2, 4, 8, 16, 24, 32, 48):
        card = run("eval", "Llama3_70B", "H100", "--accelerators", "8", "--tp-size", "8", "--concurrency", str(running), *LENGTHS, "-o", "json")
        rows.append((running, card.json()["p_itl"]))
    found = {}
    for name, factor in (("met", 1), ("late", 2)):
        file = tmp_path / f"{name}.csv"
        file.write_text("workload,hardware,tp_size,concurrency,seq_len,output_tokens,measured [ms]\n" + "".join(
            f"Llama3_70B,H100,8,{running},{lengths['seq_len']},{lengths['output_tokens']},{factor * itl}\n" for running, itl in rows))
        done = run(*DECISION, "--measured", file, "--measurand", "closed_loop_token_time", "-o", "json")
        assert done.code == 0 and "8 rows of H100" in done.err
        found[name] = next(o for o in done.json()["options"] if o["machine"] == "H100")
    plain = next(o for o in run(*DECISION, "-o", "json").json()["options"] if o["machine"] == "H100")
    upper = lambda option: math.inf if option["upper"] is None else option["upper"]  # noqa: E731
    width = lambda option: upper(option) - option["lower"]  # noqa: E731
    assert width(found["met"]) <= width(plain) and upper(found["late"]) > upper(found["met"])
    assert run(*DECISION, "--measured", tmp_path / "met.csv").code == 1


POOLS = ["Llama3_70B", "--on", "H200", "--rate", "10/s", "--ttft", "p99 2 s", "--itl", "25 ms", "--interval", "80", *LENGTHS]


def test_pools_are_plans_where_they_are_asked_for(run):
    plain, both = (asked(run, "size", *POOLS, *more)[1] for more in ([], ["--disaggregated"]))
    assert plain["pools"] == 0 and both["pools"] > 0 and both["best"]["devices"] <= plain["best"]["devices"]
    pools = [p for p in [both["best"], *both["others"]] if "prefill" in p]
    assert pools, both
    for p in pools:
        workers = p["prefill"]["workers"] * p["prefill"]["tp_size"] * p["prefill"]["ep_size"]
        assert p["devices"] == workers + p["replicas"] * p["tp_size"] * p["ep_size"]
        assert p["p99_ttft_ms"] <= 2000 and p["itl_ms"] <= 25 and p["most_rate_per_s"] >= 10


def test_no_smaller_pools_would_do(run):
    best = asked(run, "size", *POOLS, "--disaggregated")[1]["best"]
    assert "prefill" in best
    assert run("size", *POOLS, "--disaggregated", "--most-devices", str(int(best["devices"]) - 1)).code == 2


@pytest.mark.parametrize("engine, words", [("vllm", ("kv_producer", "kv_consumer")), ("sglang", ("prefill", "decode"))])
def test_pools_are_launched_as_two_commands(run, engine, words):
    answer = asked(run, "size", *POOLS, "--disaggregated", "--engine", engine)[1]
    if "prefill" in answer["best"]:
        assert all(word in answer["launch"] for word in words)


def test_a_decision_has_pools_as_well(run):
    code, answer = asked(run, "decide", "Llama3_70B", "--on", "H100,H200", *POOLS[3:], "--disaggregated")
    assert code == 0 and all(o["size"]["pools"] > 0 for o in answer["options"] if o["meets_limits"])


def test_a_regret_is_that_of_the_best_plans(run):
    """A machine whose best plan at a shorter time has other degrees than its best plan now."""
    answer = asked(run, "decide", "Llama3_70B", "--on", "A100,H100,H200", "--rate", "5/s", "--ttft", "2 s", "--itl", "40 ms", *LENGTHS)[1]
    price = {o["machine"]: o["cost"] / o["size"]["best"]["devices"] for o in answer["options"] if "cost" in o}
    rate = 5
    for part in answer["regret"]["certificate"]:
        at = part["other"]
        if at["cost"] is None:
            continue
        limits = (2000 / at["factor"], 40 / at["factor"])
        for tp in (2, 4, 8):
            fewer = math.ceil(at["cost"] / price[at["machine"]] / tp - 1e-9) - 1
            if fewer < 1:
                continue
            card = numbers_of(asked(run, "eval", "Llama3_70B", at["machine"], f"--accelerators={tp}", f"--tp-size={tp}",
                                    f"--rate={rate * at['factor'] / fewer!r}/s", *LENGTHS)[1])
            assert "overload" in card or card["status"] == "FAIL" or card["ttft"] > limits[0] * 0.99 or card["itl"] > limits[1] * 0.99, (part, tp)


def test_errors_of_one_device_cancel(run):
    ask = ["decide", "Llama3_70B", "--on", "H100,DGX_H100", "--rate", "5/s", "--itl", "30 ms", *LENGTHS]
    answer = asked(run, *ask, "--price", "H100=3 USD/h", "--price", "DGX_H100=3 USD/h")[1]
    first, second = answer["options"]
    assert first["cost"] == second["cost"] and answer["regret"]["most"] == 0
    # The node has whole eights, so that 12 devices may be 16.
    assert second["against_choice"][0] == 1 and second["against_choice"][1] <= 16 / 12 + 1e-9 and not second["apart"]
    dear = asked(run, *ask, "--price", "H100=3 USD/h", "--price", "DGX_H100=6 USD/h")[1]
    assert dear["options"][1]["apart"] and dear["regret"]["most"] == 0


def test_a_choice_that_may_miss_its_limits_has_no_bound(run):
    ask = ["decide", "DeepSeek_V3", "--on", "H100,H200", "--rate", "1/s", "--itl", "10 ms", "--seq-len", "4096", "--output-tokens", "1024"]
    answer = asked(run, *ask)[1]
    if answer["options"][0]["upper"] is None:
        assert answer["regret"]["most"] is None
    text = run(*ask).out
    assert " inf" not in text and "-100 %" not in text


def test_feasible_is_not_meeting_the_limits(run):
    answer = asked(run, "decide", "Llama3_70B", "--on", "A100,H200", "--rate", "5/s", "--itl", "12 ms", *LENGTHS)[1]
    rows = {o["machine"]: (o["feasible"], o["meets_limits"]) for o in answer["options"]}
    assert rows["H200"] == (True, True) and rows["A100"] == (True, False)


def test_nothing_is_a_price(run):
    answer = asked(run, "decide", "Llama3_8B", "--on", "H100,MI300X", "--rate", "5/s", "--price", "MI300X=0 USD/h", *LENGTHS)[1]
    assert answer["unit"] == "USD/h" and answer["options"][0]["machine"] == "MI300X"
    assert [o["priced"] for o in answer["options"]] == [True, True]


def test_prices_name_machines_as_the_zoo_does(run, refused):
    common = ["decide", "Llama3_8B", "--on", "h100,H200", "--rate", "5/s", *LENGTHS]
    options = asked(run, *common, "--price", "H100=1.5 USD/h")[1]["options"]
    best = next(o for o in options if o["machine"] == "H100")["size"]["best"]
    assert best["cost_usd_per_h"] == pytest.approx(1.5 * best["devices"])
    refused(*common, "--price", "H100=1.5 USD/h", "--price", "h100=3 USD/h", parts=["mlsysim.cli.255", "H100"])
    refused(*common, "--price", "A100=1.5 USD/h", parts=["mlsysim.cli.243", "A100"])


def test_a_page_shows_machines_without_a_price(run):
    page = run("decide", "DeepSeek_V3", "--on", "H200,B200,MI355X", "--rate", "10/s", "--itl", "30 ms", *LENGTHS, "-o", "html").out
    assert "MI355X" in page[page.index("<svg"):page.index("</svg>")]


def test_a_flip_of_the_rate_is_where_another_machine_costs_less(run):
    ask = ["decide", "Llama3_70B", "--on", "H100,H200", "--itl", "30 ms", *LENGTHS]
    answer = asked(run, *ask, "--rate", "5/s")[1]
    flips = [f for f in answer["flips"] if f["figure"] == "rate"]
    assert flips, answer["flips"]
    for f in flips:
        assert asked(run, *ask, "--rate", f"{f['at']!r}/s")[1]["options"][0]["machine"] == f["winner"] != answer["options"][0]["machine"]


def test_fleets_have_their_names_and_no_more_than_their_devices(run):
    words = ["--tokens", "1T", "--within", "60 d", "--batch-size", "1024", "--seq-len", "8192"]
    answer = asked(run, "decide", "Llama3_8B", "--on", "Research_256,Frontier_8K", *words)[1]
    assert {o["machine"] for o in answer["options"]} == {"Research_256", "Frontier_8K"}
    assert all("decode" not in n["what"] for n in answer["next"])
    assert run("size", "Llama3_8B", "--on", "Research_256", "--tokens", "15T", "--within", "20 d", *words[4:]).code == 2


def test_a_training_run_is_sized_over_its_choices(run):
    words = ["size", "Llama3_8B", "--on", "H100", "--tokens", "15T", "--within", "90 d", "--batch-size", "2048", "--seq-len", "8192"]
    best = asked(run, *words)[1]["best"]
    for more in (["--zero-stage", "2"], ["--zero-stage", "0"], ["--recomputation", "full"], ["--microbatch-size", "1"]):
        code, fixed = asked(run, *words, *more)
        assert code == 2 or best["devices"] <= fixed["best"]["devices"], more
        assert code == 2 or more[0] != "--zero-stage" or fixed["best"]["zero_stage"] == float(more[1])
    card = asked(run, "eval", "Llama3_8B", "H100", "--mode", "train", "--batch-size", "2048", "--seq-len", "8192", f"--accelerators={best['devices']:g}",
                 f"--tp-size={best['tp_size']:g}", f"--pp-size={best['pp_size']:g}", f"--zero-stage={best['zero_stage']:g}",
                 *(f"--{n.replace('_', '-')}={best[n]}" for n in ("microbatch_size", "recomputation") if n in best))[1]
    assert card["f_status"] == "PASS" or card["feasible"]


def test_nothing_to_train_is_refused(refused):
    common = ["size", "Llama3_8B", "--on", "H100", "--batch-size", "64"]
    refused(*common, "--tokens", "0", "--within", "90 d", parts=["mlsysim.engine.020", "training_tokens"])
    refused(*common, "--tokens", "1T", "--within", "0 d", parts=["mlsysim.explore.189", "within"])


def test_too_few_devices_are_what_is_missing(run):
    answer = asked(run, "size", "Llama3_8B", "--on", "H100", "--rate", "500/s", "--most-devices", "4")[1]
    assert answer["feasible"] is False and "limit" not in answer["smallest_change"] and "devices" in answer["smallest_change"]


def test_a_launch_has_room_for_chance_and_for_the_longest_request(run, tmp_path):
    best = asked(run, "size", "Llama3_70B", "--on", "H100", "--rate", "5/s", "--itl", "30 ms", "--engine", "vllm", *LENGTHS)[1]
    words = best["launch"].split()
    running = best["best"]["running_requests"]
    assert int(words[words.index("--max-num-seqs") + 1]) >= running + 2 * math.sqrt(running)
    trace = tmp_path / "trace.jsonl"
    trace.write_text("".join('{"timestamp": %d, "input_length": %d, "output_length": 200}\n' % (1000 * i, 1000 + 500 * (i % 7)) for i in range(50)))
    done = run("size", "Llama3_70B", "--on", "H100", "--itl", "30 ms", "--engine", "vllm", "--traffic-file", trace, "-o", "json")
    words = done.json()["launch"].split()
    assert int(words[words.index("--max-model-len") + 1]) >= 4000 + 200 and "not used: max_seq_len" not in done.err


@pytest.mark.parametrize("limit", ["p99 2 s", "p99 <= 2 s", "p99 ttft <= 2 s", "p99_ttft <= 2 s"])
def test_forms_of_a_limit(run, limit):
    asked_of = asked(run, "size", "Llama3_8B", "--on", "H100", "--rate", "5/s", "--ttft", limit)[1]["asked"]
    assert asked_of["limits"] == [{"result": "p99_ttft", "most_ms": 2000}]


@pytest.mark.parametrize("claim, part", [
    ("Llama3_70B 8xH100 412 token/s/gpu purple monkey", "purple"),
    ("Llama3_70B 8xH100 0 token/s", "0"),
    ("Llama3_70B 8xH100 412 token/s/gpu at p99", "p99"),
])
def test_words_of_a_claim_are_all_understood(refused, claim, part):
    refused("claim", claim, parts=["mlsysim.explore.187", part])


def test_a_claim_heeds_its_statistic_its_degrees_and_its_machine(run, refused):
    verdict = lambda text, *more: asked(run, "claim", text, *LENGTHS, *more)[1]  # noqa: E731
    mean, high = (verdict(f"Llama3_70B 8xH100 412 token/s/gpu at {limit} 250 ms") for limit in ("ttft", "p99 ttft"))
    assert high["predicted_per_device"] < mean["predicted_per_device"]
    assert verdict("Llama3_70B 8xH100 412 token/s/gpu", "--tp-size", "2")["plan"].startswith("tp 2,")
    assert verdict("Llama3_70B DGX_H100 3296 token/s")["claimed_per_device"] == 412
    seven = verdict("Llama3_70B 7xH100 100 token/s/gpu")
    assert seven["devices"] == 7 and "idle" in seven["plan"] and seven["predicted_per_device"] > 0
    code, fast = asked(run, "claim", "Llama3_70B 8xH100 412 token/s/gpu at itl 1 us", *LENGTHS)
    assert (code, fast["bound_per_device"]) == (2, 0) and fast["bound_by"]
    refused("claim", "Llama3_70B 8xH100 412 token/s/gpu", "--concurrency", "8", parts=["mlsysim.explore.190"])


def test_a_number_of_devices_is_found_at_the_degrees_that_it_brings(run):
    done = run("solve", "Llama3_70B", "H100", "itl <= 20 ms", "accelerators", "-o", "json")
    assert done.code == 0
    found = done.json()["value"]
    itl = lambda n: numbers_of(asked(run, "eval", "Llama3_70B", "H100", f"--accelerators={n:g}")[1])["itl"]  # noqa: E731
    assert itl(found) <= 20 and all(itl(n) > 20 for n in (1, 2, 4, 8) if n < found)


@pytest.mark.parametrize("loads", [["--burst", "4", "--concurrency", "8"], ["--batch-size", "4", "--concurrency", "8"],
                                   ["--concurrency", "8", "--batch-size", "4"]])
def test_two_numbers_of_requests_contradict_each_other(refused, loads):
    refused("eval", "Llama3_8B", "H100", *loads, parts=["mlsysim.cli.256", "4", "8"])


def test_the_launch_of_a_size_admits_the_usual_answer(run):
    answer = asked(run, "size", "Llama3_70B", "--on", "H100", "--rate", "5/s", "--ttft", "2 s", "--itl", "50 ms")[1]
    words = answer["launch"].split()
    assert words[words.index("--max-model-len") + 1] == "2176"  # 2048 of prompt, 128 of answer


def test_a_format_that_no_repository_has_is_said(run):
    """Files of DeepSeek-V3 are in fp8: a plan in fp4 is started with another checkpoint."""
    words = ("DeepSeek_V3", "--on", "B200", "--rate", "5/s", "--itl", "50 ms", *LENGTHS)
    narrow, stored = (asked(run, "size", *words, "--precisions", name)[1] for name in ("fp4", "fp8"))
    assert not narrow["launch"] and any("there is no launch" in warning and "fp4" in warning for warning in narrow["warnings"])
    assert "deepseek-ai/DeepSeek-V3" in stored["launch"]


def test_a_rack_is_called_by_its_name(run):
    rows = run("decide", "Llama3_8B", "--on", "GB200_NVL72,B200", "--rate", "2/s", "--ttft", "2 s", "-o", "json").json()["options"]
    assert {row["machine"] for row in rows} == {"GB200_NVL72", "B200"}


@pytest.mark.parametrize("days, batch, tokens", [("1", "2048", "1T"), ("2", "1000", "1T"), ("30", "1024", "15T")])
def test_a_training_fleet_lies_within_its_interval(run, days, batch, tokens):
    """Numbers of devices are whole nodes: halving meets no number that is none."""
    code, answer = asked(run, "size", "Llama3_8B", "--on", "H100", "--tokens", tokens, "--within", f"{days} d", "--batch-size", batch,
                         "--seq-len", "8192")
    assert code == 0
    devices = answer["best"]["devices"]
    assert answer["interval"]["lower"] <= devices <= answer["interval"]["upper"]
    assert devices % 8 == 0 or devices < 8
