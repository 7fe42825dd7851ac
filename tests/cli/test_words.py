"""Words that people bring from engines, benchmarks and other commands mean what they mean there."""

import json
import pathlib

import pytest

GRAPH = str(pathlib.Path(__file__).parents[1] / "data/programs/mhlo/bert_tiny_forward_generic_form.mlir")


def said(run, *words):
    done = run(*words, "-o", "json")
    assert done.code == 0, done.err
    answer = done.json()
    answer.pop("assumptions", None)
    return answer


SAME = [
    (["eval", "Llama3_70B", "8xH100"], ["eval", "Llama3_70B", "H100", "--accelerators", "8"]),
    (["eval", "Llama3_70B", "H100x8", "--tp", "4"], ["eval", "Llama3_70B", "H100", "--accelerators", "8", "--tp-size", "4"]),
    (["eval", "Llama3_70B", "8 x H100", "--dtype=bf16"], ["eval", "Llama3_70B", "H100", "--accelerators", "8", "--precision", "bf16"]),
    (["eval", "Llama3_405B", "2xDGX_H100", "-tp", "8", "--pp", "2"],
     ["eval", "Llama3_405B", "DGX_H100", "--node-count", "2", "--tp-size", "8", "--pp-size", "2"]),
    (["eval", "--gpu", "H100", "--num-gpus", "2", "--model", "Llama3_8B", "--input-tokens", "512", "--output-len", "64"],
     ["eval", "Llama3_8B", "H100", "--accelerators", "2", "--seq-len", "512", "--output-tokens", "64"]),
    (["eval", "Llama3_8B", "--batch", "8", "--on=H100"], ["eval", "Llama3_8B", "H100", "--batch-size", "8"]),
    (["sensitivity", "Llama3_8B", "--on", "H100", "itl"], ["sensitivity", "Llama3_8B", "H100", "itl"]),
    (["solve", "Llama3_8B", "H100", "batch_size", "--itl", "20 ms"], ["solve", "Llama3_8B", "H100", "itl <= 20 ms", "batch_size"]),
    (["compare", "Llama3_8B", "H100", "H200"], ["compare", "Llama3_8B", "H100", "--with", "hardware=H200"]),
    (["compare", "Llama3_8B", "H100,H200", "ttft"], ["compare", "Llama3_8B", "H100", "ttft", "--with", "hardware=H200"]),
    (["sweep", "Llama3_8B", "2xH100,2xH200", "--batch-size", "8"], ["sweep", "Llama3_8B", "H100,H200", "--batch-size", "8", "--accelerators", "2"]),
    (["optimize", "Llama3_8B", "2xH100,2xH200"], ["optimize", "Llama3_8B", "H100,H200", "--accelerators", "2"]),
    (["fit", "--model", "Llama3_8B", "--hardware", "H100"], ["fit", "Llama3_8B", "H100"]),
    (["fit", "Llama3_70B", "8xH100"], ["fit", "Llama3_70B", "H100", "--accelerators", "8"]),
    (["memory", "Llama3_70B", "8xH100"], ["memory", "Llama3_70B", "H100", "--tp-size", "8"]),
    (["eval", "Llama3_70B", "16xH100", "--inter-node-bandwidth", "25 GB/s"],
     ["eval", "Llama3_70B", "H100", "--accelerators", "16", "--fabric-bandwidth", "25 GB/s"]),
    (["eval", "Mixtral_8x7B", "8xH100", "--ep", "8", "--dispatch-mode", "per_node", "--expert-imbalance", "1.3"],
     ["eval", "Mixtral_8x7B", "H100", "--accelerators", "8", "--ep-size", "8", "--expert-copies", "per_node", "--rank-imbalance", "1.3"]),
    (["eval", "Llama3_8B", "H100", "--resolvers", "SustainabilityModel"], ["eval", "Llama3_8B", "H100", "--also", "SustainabilityModel"]),
    (["model-graph", "show", GRAPH], ["program", "show", GRAPH]),
    (["sweep", "Llama3_8B", "H100", "--burst", "4,8"], ["sweep", "Llama3_8B", "H100", "--batch-size", "4,8", "--load", "burst"]),
    (["memory", "Llama3_70B", "H100", "--gpus", "8"], ["memory", "Llama3_70B", "H100", "--tp-size", "8"]),
    (["compare", "Llama3_8B,Qwen3_8B", "H100"], ["compare", "Llama3_8B", "H100", "--with", "workload=Qwen3_8B"]),
]


@pytest.mark.parametrize("theirs, ours", SAME, ids=[" ".join(theirs) for theirs, _ in SAME])
def test_other_words_give_the_same_answer(run, theirs, ours):
    assert said(run, *theirs) == said(run, *ours)


def test_a_count_in_the_name_is_not_contradicted(run):
    done = run("eval", "Llama3_70B", "8xH100", "--accelerators", "4")
    assert done.code == 1 and "mlsysim.engine.033" in done.err
    assert run("eval", "Llama3_70B", "8xH100", "--accelerators", "8").code == 0


@pytest.mark.parametrize("name", ["8xNothing", "gtx9999", "x8", "0xH100", "99999999xH100", "8x", "*"])
def test_what_is_no_count_and_a_machine_is_refused_as_it_was_written(run, name):
    done = run("eval", "Llama3_8B", name)
    assert done.code == 1 and f"'{name}'" in done.err and "mlsysim.engine.032" in done.err


def test_several_of_a_cluster_are_no_machine(run):
    done = run("eval", "Llama3_70B", "2xResearch_256", "--mode", "train")
    assert done.code == 1 and "mlsysim.engine.204" in done.err


def test_an_input_meets_one_limit(run):
    done = run("solve", "Llama3_8B", "H100", "batch_size", "--itl", "20 ms", "--ttft", "1 s")
    assert done.code == 1 and "mlsysim.cli.252" in done.err


def test_a_claim_counts_devices_in_any_spelling(run):
    claims = [json.loads(run("claim", f"Llama3_70B {many} 412 token/s/gpu at itl 20 ms", "-o", "json").out)
              for many in ("8xH100", "8x H100", "8 x H100", "H100x8")]
    for claim in claims:
        claim.pop("claim")  # has the machine as it was written
    assert all(claim == claims[0] for claim in claims)


def test_fit_of_a_scenario_is_that_of_eval(run):
    for machine, fits in (("H100", False), ("8xH100", True)):
        verdict, card = run("fit", "Llama3_70B", machine), run("eval", "Llama3_70B", machine)
        assert (verdict.code == 0) == (card.code == 0) == fits


@pytest.mark.parametrize("words", [["fit"], ["fit", "Llama3_70B"], ["fit", "a", "b", "c"], ["fit", "--from", "vllm serve x", "H100"]])
def test_fit_says_what_it_takes(run, words):
    done = run(*words)
    assert done.code == 1 and "mlsysim.cli.253" in done.err


def test_a_search_without_axes_finds_the_plan(run):
    done = run("optimize", "DeepSeek_V3", "8xH200", "--seq-len", "4096", "--output-tokens", "1024", "--itl", "30 ms", "--ttft", "2 s",
               "-o", "json")
    best = done.json()["best"][0]["objectives"]["throughput_per_accelerator"]
    assert done.code == 0 and 150 < best < 216 and "no --axis" in done.err  # 176 to 188 published, within 15 %
    done = run("optimize", "Llama3_8B", "8xH100", "--mode", "train", "--batch-size", "64", "-o", "json")
    assert done.code == 0 and "step_latency" in done.json()["best"][0]["objectives"]
    # A pipeline is interleaved, which empties fewer slots; what is held is said.
    step = ("--accelerators", "8192", "--mode", "train", "--batch-size", "2048", "--seq-len", "8192")
    done = run("optimize", "Llama3_70B", "H100", *step, "-o", "json")
    best = done.json()["best"][0]
    plain = run("optimize", "Llama3_70B", "H100", *step, "--v-stages", "1", "-o", "json").json()["best"][0]
    assert float(best["axes"]["tp_size, pp_size, v_stages"].split(" x ")[2]) > 1 and best["objectives"]["step_latency"] < plain["objectives"]["step_latency"]
    assert "virtual pipeline stages" in done.err and "context parallelism stayed 1" in done.err
    done = run("pareto", "Llama3_8B", "H100", "-o", "json")
    assert done.code == 0 and len(done.json()["front"]) > 5
    # What is fixed is not varied.
    done = run("optimize", "Llama3_8B", "8xH100", "--tp", "2", "--concurrency", "16")
    assert done.code == 1 and "mlsysim.explore.041" in done.err


def test_searches_find_plans_that_eval_takes(run):
    """64 heads on 24 devices: no replica has 3 of them."""
    best = run("optimize", "Llama3_70B", "H100", "--accelerators", "24", "--itl", "20 ms", "-o", "json").json()["best"][0]
    degrees = [float(x) for x in best["axes"]["tp_size, pp_size"].split(" x ")]
    assert 64 % degrees[0] == 0


def test_a_rack_is_no_device_of_an_axis(refused):
    refused("sweep", "Llama3_70B", "GB200_NVL72,B200", parts=["mlsysim.cli.374", "GB200"])


def test_memory_of_a_node_is_that_of_its_devices(run):
    done = run("memory", "Llama3_70B", "DGX_H100", "-o", "json")
    assert done.code == 0 and run("eval", "Llama3_70B", "DGX_H100").code == 0


def test_machines_of_a_search_have_one_count(run):
    done = run("sweep", "Llama3_8B", "2xH100,4xH200")
    assert done.code == 1 and "mlsysim.cli.254" in done.err


def test_a_sweep_of_a_model_without_a_machine_says_what_is_missing(run):
    done = run("sweep", "Llama3_8B")
    assert done.code == 1 and "[mlsysim.cli.199]" in done.err


def test_an_option_before_a_command_hides_no_second_name(run):
    done = run("-o", "json", "model-graph", "show", GRAPH)
    assert done.code == 0 and done.json() == run("program", "show", GRAPH, "-o", "json").json()


def test_an_axis_under_the_name_of_a_load_is_that_load(run):
    point = run("sweep", "Llama3_8B", "H100", "--axis", "burst=8", "--show", "ttft", "-o", "csv")
    burst = run("eval", "Llama3_8B", "H100", "--burst", "8", "-o", "json").json()
    assert point.code == 0 and float(point.out.splitlines()[1].split(",")[3]) == pytest.approx(burst["p_ttft"])
    other = run("sweep", "Llama3_8B", "H100", "--load", "concurrency", "--axis", "burst=8")
    assert other.code == 1 and "mlsysim.engine.063" in other.err


def test_heads_are_divided_evenly(run):
    done = run("eval", "Llama3_70B", "H100", "--accelerators", "7", "--tp-size", "7")
    assert done.code == 1 and "mlsysim.catalogue.075" in done.err
    # 28 heads on 8 devices: the largest part of them that divides both is 4.
    card = run("eval", "Qwen2.5-7B", "H100", "--accelerators", "8", "-o", "json").json()
    assert card["p_replicas"] == 2


@pytest.mark.parametrize("command", ["pipeline", "resolver"])
@pytest.mark.parametrize("resolver", ["ServingModel", "SingleNodeModel", "InFlightBatchingModel"])
def test_a_setup_that_does_not_fit_has_its_exit_code(run, command, resolver):
    assert run(command, "run", resolver, "workload=Llama3_405B", "hardware=H100").code == 2


@pytest.mark.parametrize("words", [["sensitivity"], ["explain"], ["solve", "batch_size", "itl <= 60 ms"], ["compare", "--with", "hardware=H100"]],
                         ids=lambda words: words[0])
def test_a_device_that_nobody_measured_is_named_at_once(run, words):
    command, *rest = words
    result = [] if command == "solve" else ["itl"]
    places = ["itl <= 60 ms", "batch_size"] if command == "solve" else result
    extra = rest if command == "compare" else []
    done = run(command, "Llama3_8B", "MI355X", *places, *extra)
    assert done.code == 0, done.err
    assert "MI355X" in done.out.splitlines()[1]
    assert "warning" not in run(command, "Llama3_8B", "H100", *places, *(["--with", "hardware=H200"] if extra else [])).out.splitlines()[1]


@pytest.mark.parametrize("text, meant", [("4k", "4000 or 4096"), ("4K", "4000 or 4096"), ("128k", "128000 or 131072"), ("1M", "1000000 or 1048576")])
def test_a_letter_behind_a_count_says_what_to_write(run, text, meant):
    for option in ("--seq-len", "--output-tokens", "--batch-size"):
        done = run("eval", "Llama3_8B", "H100", option, text)
        assert done.code == 1 and "mlsysim.engine.090" in done.err and f"write {meant}" in done.err, done.err
    done = run("memory", "Llama3_8B", "--context", text)
    assert done.code == 1 and f"--context takes a number; found '{text}', expected {meant}" in done.err, done.err


OTHERS = [
    (["eval", "Llama3_8B", "H100", "--spot"], "--rent '2.5 USD/h'"),
    (["eval", "Llama3_8B", "H100", "--gpu-price", "2.5"], "--rent '2.5 USD/h'"),
    (["eval", "Llama3_8B", "H100", "--price=2.5"], "--rent '2.5 USD/h'"),
    (["eval", "Llama3_8B", "H100", "--budget", "10000"], "optimize ... --subject-to 'tco <= 10000 USD'"),
    (["optimize", "Llama3_8B", "H100", "--max-cost", "10000"], "costs are limited with --subject-to 'tco <= 10000 USD'"),
]


@pytest.mark.parametrize("words, ours", OTHERS, ids=[" ".join(words) for words, _ in OTHERS])
def test_options_about_money_name_those_that_there_are(run, words, ours):
    done = run(*words)
    assert done.code == 1 and "unknown option" in done.err and ours in done.err, done.err


def test_what_is_named_instead_works(run):
    assert run("eval", "Llama3_8B", "H100", "--rent", "2.5 USD/h").code == 0
    assert run("optimize", "Llama3_8B", "H100", "--axis", "batch_size=1,2", "--subject-to", "tco <= 10000 USD").code == 0


@pytest.mark.parametrize("theirs, ours", [("runtimes", "engine"), ("gpus", "hardware"), ("devices", "hardware"), ("kernels", "kernel_family"),
                                          ("instances", "node"), ("llms", "model"), ("device_classes", "device_class"), ("clusters", "cluster")])
def test_kinds_of_the_zoo_have_the_names_that_people_give_them(run, theirs, ours):
    assert run("zoo", "list", theirs).out == run("zoo", "list", ours).out != ""


def test_a_region_that_nobody_knows_has_a_list(run):
    done = run("eval", "Llama3_8B", "H100", "--region", "FR")
    assert done.code == 1 and "France" in done.err and "Germany" in done.err


def test_an_uncertainty_without_a_result_is_that_of_the_main_one(run):
    words = ("uncertainty", "Llama3_8B", "H100")
    more = ("--samples", "64", "-o", "json")
    asked = run(*words, *more)
    assert asked.code == 0, asked.err
    assert asked.json() == run(*words, "itl", *more).json()


def test_every_limit_that_is_missed_is_said_first(run):
    said = run("eval", "Llama3_70B", "H100", "--accelerators", "8", "--itl", "1 ms", "--ttft", "1 ms").out.split(" per token")[0]
    assert said.startswith("MISSES ") and "itl <= 1 ms" in " ".join(said.split()) and "ttft <= 1 ms" in " ".join(said.split())


def test_a_difference_of_rounding_is_no_row(run):
    terms = run("compare", "Llama3_70B", "H100", "itl", "--accelerators", "8", "--with", "hardware=H200", "-o", "json").json()
    for term in terms["terms"]:
        assert term["part"] == 0 or abs(term["part"]) > 1e-12 * abs(terms["at_from"]), term["input"]
