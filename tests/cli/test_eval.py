"""Evaluations: exit codes, the stable keys of JSON, the other formats, and the numbers against each other."""

import csv
import io
import json
import math
import re

import pytest

SERVE = ("eval", "Llama3_70B", "H100", "--accelerators", "8", "--precision", "bf16", "--batch-size", "16",
         "--seq-len", "2048", "--output-tokens", "512")
TRAIN = ("eval", "Llama3_8B", "Research_256", "--mode", "train", "--batch-size", "1024", "--seq-len", "4096",
         "--zero-stage", "1")
TOO_LARGE = ("eval", "Llama3_70B", "H100", "--precision", "bf16")


def numbers(value):
    if isinstance(value, dict):
        for inner in value.values():
            yield from numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, float):
        yield value


def test_serving_fits_and_says_what_limits_it(run):
    done = run(*SERVE)
    assert done.code == 0 and done.err == ""
    lines = done.out.splitlines()
    assert lines[0].startswith("FITS") and len(lines) <= 20
    keys = run(*SERVE, "-o", "json").json()["levels"]["performance"]["metrics"]
    assert not [word for word in re.findall(r"[a-z0-9_]+", done.out) if word in keys and "_" in word], done.out
    assert not re.search(r"\b(inf|nan)\b|per one more", done.out)
    for part in ("Llama3_70B on 8 x H100", "TTFT", "ITL", "█", "80 % range"):
        assert part in done.out, done.out
    detailed = run(*SERVE, "--verbose").out
    assert all(key in detailed for key in keys)
    assert max(len(line) for line in done.out.splitlines()) <= 96


def test_flat_keys_and_levels_say_the_same(run):
    answer = run(*SERVE, "-o", "json").json()
    assert answer["schema"] == "mlsysim/evaluation@1" and answer["status"] == "ok" and answer["feasible"] is True
    assert (answer["f_status"], answer["p_status"], answer["m_status"]) == ("PASS", "PASS", "PASS")
    for key in ("f_memory_used_gb", "f_memory_capacity_gb", "f_memory_utilization", "p_ttft", "p_itl", "p_mfu",
                "m_tco_usd", "m_carbon_footprint", "m_energy_cost", "m_capex"):
        assert isinstance(answer[key], float), key
    levels = answer["levels"]
    used = levels["feasibility"]["metrics"]["memory_used"]
    assert used["unit"] == "B" and used["value"] == pytest.approx(answer["f_memory_used_gb"] * 1e9, rel=1e-12)
    itl = levels["performance"]["metrics"]["itl"]
    assert itl["unit"] == "s" and itl["display_unit"] == "ms" and itl["display_value"] == answer["p_itl"]
    assert itl["value"] == pytest.approx(answer["p_itl"] / 1e3, rel=1e-12)
    assert answer["f_memory_utilization"] == pytest.approx(answer["f_memory_used_gb"] / answer["f_memory_capacity_gb"], rel=1e-12)
    assert sum(part["value"] for part in answer["memory"].values()) == pytest.approx(used["value"], rel=1e-9)
    assert all(math.isfinite(x) for x in numbers(answer))


def test_fp8_needs_less_memory_and_is_faster(run):
    bf16 = run(*SERVE, "-o", "json").json()
    fp8 = run(*(w if w != "bf16" else "fp8" for w in SERVE), "-o", "json").json()
    assert fp8["f_memory_used_gb"] < bf16["f_memory_used_gb"]
    assert fp8["p_itl"] < bf16["p_itl"] and fp8["p_ttft"] < bf16["p_ttft"]


def test_decode_is_not_faster_than_memory_allows(run):
    # Every step reads the weights once: 70.6e9 x 2 B over 8 x 3.35 TB/s.
    answer = run(*SERVE, "-o", "json").json()
    assert answer["p_itl"] > 70.6e9 * 2 / (8 * 3.35e12) * 1e3
    assert answer["p_bottleneck"] == "memory" and answer["p_prefill_bottleneck"] == "compute"


def test_training(run):
    done = run(*TRAIN, "-o", "json")
    assert done.code == 0
    answer = done.json()
    assert answer["mode"] == "train" and answer["hardware"] == "Research_256"
    assert answer["p_token_throughput"] == pytest.approx(1024 * 4096 / (answer["p_step_latency"] / 1e3), rel=1e-9)
    # 6 FLOP per parameter and token is a floor of the work, so MFU follows from step time within the attention share.
    floor = 6 * 8.03e9 * 1024 * 4096 / (answer["p_step_latency"] / 1e3) / (256 * 989e12)
    assert floor < answer["p_mfu"] < 1.3 * floor


def test_train_is_an_alias(run):
    words = [w for w in TRAIN if w not in ("--mode", "train")]
    assert run("train", *words[1:], "-o", "json").out == run(*TRAIN, "-o", "json").out


def test_serve_is_an_alias(run):
    assert run("serve", *SERVE[1:], "-o", "json").json()["p_itl"] == run(*SERVE, "-o", "json").json()["p_itl"]


def test_short_forms(run):
    short = run("eval", "Llama3_8B", "H100", "-b", "4", "-p", "fp16", "-e", "0.4", "-s", "512", "-o", "json")
    long = run("eval", "Llama3_8B", "H100", "--batch-size", "4", "--precision", "fp16", "--efficiency", "0.4",
               "--seq-len", "512", "--output", "json")
    assert short.code == 0 and short.out == long.out


def test_what_does_not_fit_exits_with_2_and_says_what_would(run):
    done = run(*TOO_LARGE)
    assert done.code == 2
    assert done.out.startswith("DOES NOT FIT")
    for part in ("weights", "--tp-size 2", "--precision fp8"):
        assert part in done.out, done.out
    assert "infeasible" in done.err
    answer = run(*TOO_LARGE, "-o", "json")
    assert answer.code == 2
    answer = answer.json()
    assert answer["feasible"] is False and answer["f_status"] == "FAIL" and answer["status"] == "infeasible"
    assert answer["f_memory_shortfall"] == pytest.approx(answer["f_memory_used_gb"] - answer["f_memory_capacity_gb"], rel=1e-9)
    assert answer["remedies"] and all(r["change"] and r["effect"] for r in answer["remedies"])


def test_a_remedy_works(run):
    remedies = run(*TOO_LARGE, "-o", "json").json()["remedies"]
    devices = next(r["change"] for r in remedies if " with tp_size " in r["change"]).split()
    count, tp = devices[0], devices[-1]  # "16 accelerators (now 8) with tp_size 8"
    assert devices[2:4] == ["(now", "1)"]
    assert run(*TOO_LARGE, "--accelerators", count, "--tp-size", tp).code == 0
    half = str(int(count) // 2)
    assert run(*TOO_LARGE, "--accelerators", half, "--tp-size", half).code == 2


def test_csv_numbers_are_those_of_json(run):
    answer = run(*SERVE, "-o", "json").json()
    rows = list(csv.DictReader(io.StringIO(run(*SERVE, "-o", "csv").out)))
    found = {(r["level"], r["metric"]): r for r in rows}
    for level, content in answer["levels"].items():
        for name, metric in content["metrics"].items():
            row = found[level, name]
            if isinstance(metric["value"], str):
                assert row["value"] == metric["value"]
            else:
                assert float(row["base_value"]) == metric["value"]  # to the last bit
                assert float(row["value"]) == metric.get("display_value", metric["value"])


def test_markdown(run):
    done = run(*SERVE, "-o", "markdown")
    assert done.code == 0 and done.out.startswith("# Llama3_70B")
    assert "| metric | value | meaning |" in done.out and "| itl |" in done.out


def test_a_node_brings_its_devices(run):
    node = run("eval", "Llama3_70B", "DGX_H100", "--precision", "bf16", "-o", "json").json()
    assert node["p_replicas"] == 1 and node["f_status"] == "PASS"
    two = run("eval", "Llama3_70B", "DGX_H100", "--node-count", "2", "--precision", "bf16", "-o", "json").json()
    assert two["p_replicas"] == 2 and two["hardware"] == "2 x DGX_H100"


def test_region_changes_carbon_and_not_speed(run):
    quebec = run(*SERVE, "--region", "Quebec", "-o", "json").json()
    poland = run(*SERVE, "--region", "Poland", "-o", "json").json()
    assert quebec["m_carbon_footprint"] < 0.5 * poland["m_carbon_footprint"]
    assert quebec["p_itl"] == poland["p_itl"]
    assert quebec["m_region"] == "Quebec"


def test_files_instead_of_names(run, tmp_path):
    path = tmp_path / "h100.yaml"
    path.write_text(run("zoo", "show", "H100", "--yaml").out.replace("name: H100", "name: My_H100", 1).replace("aliases:", "aliases: []  #", 1))
    mine = run("eval", "Llama3_8B", path, "--precision", "bf16", "-o", "json")
    assert mine.code == 0, mine.err
    assert mine.json()["p_itl"] == run("eval", "Llama3_8B", "H100", "--precision", "bf16", "-o", "json").json()["p_itl"]


def test_explain(run):
    done = run("explain", *SERVE[1:3], "itl", *SERVE[3:])
    assert done.code == 0
    assert run(*SERVE, "-o", "json").json()["levels"]["performance"]["metrics"]["itl"]["display"] in done.out
    listed = run("explain", *SERVE[1:])
    assert "itl" in listed.out.split() and "ttft" in listed.out.split()
    structured = run("explain", *SERVE[1:3], "itl", *SERVE[3:], "-o", "json").json()
    assert structured["metric"] == "itl" and structured["operators"]
    assert sum(row["share"] for row in structured["operators"]) == pytest.approx(1, rel=1e-6)


def laws_of(call):
    return {call["law"]}.union(*(laws_of(inner) for inner in call["calls"]))


def test_explain_any_number(run):
    card = run(*SERVE, "-o", "json").json()
    for level in card["levels"].values():
        for name, metric in level["metrics"].items():
            if not isinstance(metric["value"], (int, float)) or isinstance(metric["value"], bool):
                continue
            done = run("explain", *SERVE[1:3], name, *SERVE[3:], "-o", "json")
            assert done.code == 0, done.err
    cost = run("explain", *SERVE[1:3], "cost_per_token", *SERVE[3:], "-o", "json").json()
    assert {"CostPerToken", "TotalCost", "EnergyProportional", "MatmulTime"} <= laws_of(cost["derivation"])
    assert cost["handed_in"] and cost["figures"]
    latex = run("explain", *SERVE[1:3], "cost_per_token", *SERVE[3:], "-o", "latex")
    assert latex.code == 0 and "\\begin{align*}" in latex.out and latex.out.count("{") == latex.out.count("}")
    assert "### [1] Scenario" in run("explain", *SERVE[1:3], "tco", *SERVE[3:], "-o", "markdown").out


def test_explain_a_resolver(run):
    given = ["work=1 TFLOP", "traffic=1 GB", "peak=989 TFLOP/s", "bandwidth=3.35 TB/s"]
    done = run("explain", "Roofline", *given, "time")
    assert done.code == 0 and "time = max(compute, memory)" in done.out
    assert "time" in run("explain", "Roofline", *given).out.split()
    serving = run("explain", "ServingModel", "workload=Llama3_70B", "hardware=H100", "tp_size=8", "ttft")
    assert serving.code == 0 and "MatmulTime" in serving.out and "ServingModel is code" in serving.out
    model = run("explain", "TailLatencyModel", "arrival_rate=10 request/s", "service_latency=50 ms", "p99_latency")
    assert model.code == 0 and "no law over every scalar" in model.out


def test_latex_is_of_explain_alone(refused):
    refused(*SERVE, "-o", "latex", parts=["eval", "LaTeX", "explain"])


def test_sweep(run):
    done = run("sweep", "Llama3_8B", "A100,H100", "-b", "1,8", "-p", "fp16,fp8", "-o", "json")
    assert done.code == 0, done.err
    rows = done.json()["rows"]
    assert [(r["hardware"], int(r["batch_size"]), r["precision"]) for r in rows] == [
        (h, b, p) for h in ("A100", "H100") for p in ("fp16", "fp8") for b in (1, 8)]
    for row in rows:
        skipped = row["hardware"] == "A100" and row["precision"] == "fp8"
        assert (row["itl"] is None) == skipped
        assert row["note"].startswith("skipped: 'A100' has no fp8") == skipped


def test_sweep_defaults(run):
    rows = run("sweep", "Llama3_8B", "H100", "-o", "json").json()["rows"]
    card = run("eval", "Llama3_8B", "H100", "-o", "json").json()
    assert [(r["hardware"], int(r["batch_size"])) for r in rows] == [("H100", 1)]
    assert (rows[0]["itl"], rows[0]["ttft"]) == (card["p_itl"], card["p_ttft"])


def config(tmp_path, **values):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"num_hidden_layers": 24, "num_attention_heads": 16, "hidden_size": 1024, "intermediate_size": 4096,
                                "vocab_size": 250002, **values}))
    return path


def test_a_reranker_is_one_pass(run, tmp_path):
    """A cross encoder of 568 M weights: 1.14 GB in 16 bits, no cache, and one pass over 23 x 512 tokens of 2 x 302 M FLOP each,
    beside attention: 7.1 TFLOP at least."""
    path = config(tmp_path, model_type="xlm-roberta", architectures=["XLMRobertaForSequenceClassification"],
                  max_position_embeddings=8194, type_vocab_size=1, id2label={"0": "LABEL_0"})
    done = run("eval", path, "A100", "--batch-size", 23, "--seq-len", 512, "--precision", "fp16", "-o", "json")
    card = done.json()
    assert card["mode"] == "infer" and "guess" not in card
    assert "kv_cache" not in card["memory"]
    assert card["memory"]["weights"]["value"] == pytest.approx(2 * 567.8e6, rel=2e-3)
    assert 2 * 302.3e6 * 23 * 512 / 312e12 < card["p_latency"] / 1e3 < 0.1


def test_a_class_that_is_not_known_is_marked_as_a_guess(run, tmp_path):
    path = config(tmp_path, model_type="brand_new")
    done = run("eval", path, "H100")
    assert "shape guessed" in done.out
    assert "brand_new" in done.out + done.err
    assert "brand_new" in run("eval", path, "H100", "-o", "json").json()["guess"]


def test_what_a_name_was_taken_for_is_said(run):
    card = run("eval", "Qwen/Qwen3-8B-FP8", "NVIDIA H100 80GB HBM3", "-o", "json").json()
    assert card["workload"] == "Qwen3_8B" and card["hardware"] == "H100"
    said = " ".join(card["warnings"])
    assert "Qwen3_8B" in said and "H100" in said and "fp8 weights" in said


def test_eager_steps_of_an_engine_wait_for_its_host(run):
    def itl(model, execution, engine="vllm"):
        return run("eval", model, "A100", "--engine", engine, "--execution", execution, "--seq-len", "512", "--output-tokens", "64", "-o", "json").json()["p_itl"]

    # Published of vLLM on A800: 22 and 19.5 ms; a graph takes 13 ms of the larger model.
    assert itl("Qwen2_5_7B", "eager") == pytest.approx(22, rel=0.15)
    assert itl("Qwen2_5_0_5B", "eager") == pytest.approx(19.5, rel=0.15)
    assert itl("Qwen2_5_7B", "graph") == pytest.approx(13, rel=0.15)
    for engine in ("vllm@0.12", "sglang", "generic", "tensorrt_llm"):
        assert itl("Qwen2_5_0_5B", "eager", engine) > 5 * itl("Qwen2_5_0_5B", "graph", engine)


def test_each_step_of_a_draft_has_host_time(run):
    words = ("eval", "Llama2_7B", "H100", "--engine", "sglang", "--precision", "fp16", "--seq-len", "32", "--output-tokens", "256", "-o", "json")
    draft = run(*words, "--acceptance-length", "3.5", "--draft-tokens", "5").json()["p_itl"]
    assert 1000 / draft == pytest.approx(297, rel=0.15)  # published, tokens a second
    assert draft < run(*words).json()["p_itl"]


def test_naming_the_assumed_format_changes_nothing(run):
    """Files of DeepSeek-V3 are in fp8, their cache in 16 bits: --precision fp8 says what holds anyway."""
    words = ("eval", "DeepSeek_V3", "H200", "--accelerators", "8", "--batch-size", "64", "--seq-len", "4096", "--output-tokens", "1024")
    open_, named = (run(*words, *more, "-o", "json").json() for more in ((), ("--precision", "fp8")))
    for key in ("p_itl", "p_ttft", "p_kv_cache_size", "f_memory_used_gb"):
        assert named[key] == open_[key], key


def test_a_run_of_stated_tokens(run):
    """A run takes its tokens over the tokens of a second, and is paid for that time: a fifteenth of 15T takes and costs a
    fifteenth. Adapters are not trained on what the model was: without a number of tokens there is no run."""
    step = ("Llama3_8B", "H100", "--accelerators", "256", "--mode", "train", "--zero-stage", "2", "--seq-len", "8192", "--batch-size", "512")
    usual, stated = (run("eval", *step, *more, "-o", "json").json() for more in ((), ("--tokens", "1T")))
    assert usual["p_training_tokens"] == pytest.approx(15) and stated["p_training_tokens"] == pytest.approx(1)
    for number in ("p_training_time", "m_run_cost"):
        assert stated[number] == pytest.approx(usual[number] / 15, rel=1e-9)
    said = " ".join(run("train", *(word for word in step if word not in ("--mode", "train")), "--tokens", "1T").out.split())
    assert "; 1T tokens take" in said and "and cost $" in said
    tuned = run("eval", *step, "--lora-rank", "16", "-o", "json").json()
    assert "p_training_time" not in tuned and "m_run_cost" not in tuned and tuned["m_cost_per_token"] > 0
    said = " ".join(run("eval", *step, "--lora-rank", "16").out.split())
    assert "per million tokens; --tokens prices a run" in said
    assert "p_training_time" in run("eval", *step, "--lora-rank", "16", "--tokens", "100M", "-o", "json").json()


def test_the_limit_is_the_longest_part_of_what_it_stands_for(run):
    """Nine prompts of 2,048 tokens a second are 9 x 2,048 x 2 x 70.6e9 FLOP, a third of what eight H100 can at their peak
    and over half at what matrix products reach: prompts of other requests are most of the time between two tokens. Of
    sixteen stages with sixteen micro-batches, fifteen of thirty-one slots are empty, and a slot is half arithmetic."""
    chat = ("Llama3_70B", "H100", "--accelerators", "8", "--rate", "9/s")
    assert "Limited by prompts of other requests." in " ".join(run("eval", *chat).out.split())
    assert run("eval", *chat, "-o", "json").json()["p_bottleneck"] == "prompts"
    assert "limited by prompts of other requests" in run("explain", *chat, "itl").out
    assert "The longest part of ITL is prompts of other requests." in run("report", *chat, "-o", "md").out
    step = ("Llama3_405B", "H100", "--accelerators", "16384", "--mode", "train", "--tp-size", "8", "--pp-size", "16", "--seq-len", "8192",
            "--batch-size", "2048", "--zero-stage", "2")
    assert "It is limited by the pipeline bubble." in " ".join(run("eval", *step).out.split())
    told = run("explain", *step, "step_latency").out
    assert "limited by the pipeline bubble" in told and "the largest operator, gradient_scatter" not in told


def test_each_kind_of_head_is_evaluated(run):
    words = ("eval", "Llama3_8B", "H100", "--engine", "vllm", "-o", "json")
    plain = run(*words).json()["p_itl"]
    for kind in ("eagle", "mtp", "medusa"):
        done = run(*words, "--draft-model", kind, "--draft-tokens", "3", "--acceptance-length", "2.5")
        assert done.code == 0, done.err
        assert plain / 2.5 < done.json()["p_itl"] < plain
    by_name = run(*words, "--draft-model", "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", "--draft-tokens", "3", "--acceptance-length", "2.5")
    by_kind = run(*words, "--draft-model", "eagle", "--draft-tokens", "3", "--acceptance-length", "2.5")
    assert by_name.code == 0 and by_name.json()["p_itl"] == by_kind.json()["p_itl"], by_name.err


def test_a_check_on_latents_reads_the_cache_once(run):
    # Kernels for several tokens work on the latents, as those for one do: a round of two tokens and one proposal is no two
    # steps, however long the context is.
    def itl(context, *words):
        return run("eval", "DeepSeek_R1", "H200", "--accelerators", "8", "--tp", "8", "--engine", "vllm", "--seq-len",
                   str(context), *words, "-o", "json").json()["p_itl"]

    for context in (2048, 16384, 65536, 131072):
        plain = itl(context)
        for kind in ("mtp", "eagle"):
            checked = itl(context, "--draft-model", kind, "--draft-tokens", "1", "--acceptance-length", "1.85")
            assert plain < 1.85 * checked < 2 * plain


def test_a_state_space_without_a_rule_says_what_is_predicted(run):
    """A step reads 2.77e9 weights of 2 B: 2.7 ms of 2.04 TB/s, whatever the length of a sequence."""
    done = run("eval", "Mamba_2_8B", "A100", "--seq-len", "4096")
    assert "this is a step of one token of each sequence, and no prompt" in " ".join(done.out.split()), done.out
    said = run("import", "vllm serve state-spaces/mamba-2.8b-hf", "--hardware", "A100").err
    assert "a step of one token is predicted, and no prompts" in said and "generates no tokens" not in said
