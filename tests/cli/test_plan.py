"""Plan files: every key counts, assertions, and what a command line changes."""

import re

import pytest

from conftest import HEAD, SERVE

KEYS_SERVE = [
    # key of the plan, lines before and after
    ("workload.name", "workload: {name: Llama3_8B}", "workload: {name: Mistral_7B}"),
    ("workload.batch_size", "batch_size: 8", "batch_size: 9"),
    ("workload.load", "batch_size: 8", "batch_size: 8, load: burst"),
    ("workload.arrival_rate", "batch_size: 8", "arrival_rate: 2 request/s"),
    ("workload.seq_len", "seq_len: 1024", "seq_len: 1025"),
    ("workload.output_tokens", "output_tokens: 128", "output_tokens: 129"),
    ("workload.seq_len_cv", "seq_len_cv: 0.5", "seq_len_cv: 0.6"),
    ("workload.seq_len_law", "seq_len_law: gamma", "seq_len_law: uniform"),
    ("workload.output_tokens_cv", "output_tokens_cv: 0.5", "output_tokens_cv: 0.6"),
    ("workload.output_tokens_law", "output_tokens_law: gamma", "output_tokens_law: weibull"),
    ("workload.cached_prefix_len", "cached_prefix_len: 16", "cached_prefix_len: 256"),
    ("workload.prefill_chunk_tokens", "prefill_chunk_tokens: 512", "prefill_chunk_tokens: 256"),
    ("workload.chunked_prefill", "prefill_chunk_tokens: 512", "prefill_chunk_tokens: 512, chunked_prefill: false"),
    ("workload.engine", "prefill_chunk_tokens: 512", "prefill_chunk_tokens: 512, engine: tensorrt_llm"),
    ("workload.draft_model", "draft_model: GPT2_Small", "draft_model: Llama3_2_1B"),
    ("workload.draft_acceptance_rate", "draft_acceptance_rate: 0.7", "draft_acceptance_rate: 0.5"),
    ("workload.draft_acceptance_decay", "draft_acceptance_decay: 0.9", "draft_acceptance_decay: 0.8"),
    ("workload.acceptance_length", "draft_acceptance_decay: 0.9", "acceptance_length: 2"),
    ("workload.draft_tokens", "draft_tokens: 4", "draft_tokens: 3"),
    ("hardware.name", "name: H100", "name: H200"),
    ("hardware.accelerators", "accelerators: 8", "accelerators: 16"),
    ("hardware.accelerators_per_node", "accelerators_per_node: 8", "accelerators_per_node: 4"),
    ("hardware.intra_node_bw", "intra_node_bw: 400 GB/s", "intra_node_bw: 200 GB/s"),
    ("hardware.fabric_bandwidth", "fabric_bandwidth: 50 GB/s", "fabric_bandwidth: 5 GB/s"),
    ("hardware.nics_per_node", "fabric_bandwidth: 50 GB/s", "fabric_bandwidth: 50 GB/s\n  nics_per_node: 1"),
    ("hardware.power_cap", "power_cap: 400 W", "power_cap: 300 W"),
    ("hardware.clock_limit", "clock_limit: 0.9", "clock_limit: 0.5"),
    ("hardware.execution", "clock_limit: 0.9", "clock_limit: 0.9\n  execution: eager"),
    ("hardware.precision", "precision: bf16", "precision: fp8"),
    ("hardware.weight_format", "weight_format: fp8", "weight_format: int4"),
    ("hardware.weight_bits", "weight_format: fp8", "weight_bits: 5"),
    ("hardware.kv_precision", "kv_precision: bf16", "kv_precision: fp8"),
    ("hardware.efficiency", "efficiency: 0.5", "efficiency: 0.4"),
    ("hardware.unit_cost", "unit_cost: 30000 USD", "unit_cost: 20000 USD"),
    ("hardware.rent", "efficiency: 0.5", "efficiency: 0.5\n  rent: 2 USD/h"),
    ("hardware.payment", "efficiency: 0.5", "efficiency: 0.5\n  payment: rented"),
    ("hardware.infrastructure_multiplier", "infrastructure_multiplier: 1.5", "infrastructure_multiplier: 2"),
    ("parallelism.tp_size", "tp_size: 4", "tp_size: 2"),
    ("parallelism.pp_size", "pp_size: 2", "pp_size: 1"),
    ("ops.region", "region: Quebec", "region: Poland"),
    ("ops.duration_days", "duration_days: 30", "duration_days: 31"),
    ("ops.kwh_price", "kwh_price: 0.1 USD/kWh", "kwh_price: 0.2 USD/kWh"),
    ("ops.host_power", "kwh_price: 0.1 USD/kWh", "kwh_price: 0.1 USD/kWh, host_power: 100 W"),
    ("ops.network_power", "kwh_price: 0.1 USD/kWh", "kwh_price: 0.1 USD/kWh, network_power: 10 W"),
    ("fidelity", "fidelity: operator", "fidelity: textbook"),
    ("also", "also: SustainabilityModel", "also: SustainabilityModel, EconomicsModel"),
    ("name", "name: test", "name: other"),
]
FULL_SERVE = """version: "1"
name: test
fidelity: operator
also: SustainabilityModel
workload: {name: Llama3_8B}
hardware:
  name: H100
  accelerators: 8
  accelerators_per_node: 8
  intra_node_bw: 400 GB/s
  fabric_bandwidth: 50 GB/s
  power_cap: 400 W
  clock_limit: 0.9
  precision: bf16
  weight_format: fp8
  kv_precision: bf16
  efficiency: 0.5
  unit_cost: 30000 USD
  infrastructure_multiplier: 1.5
parallelism: {tp_size: 4, pp_size: 2}
ops: {region: Quebec, duration_days: 30, kwh_price: 0.1 USD/kWh}
""".replace("workload: {name: Llama3_8B}",
            "workload: {name: Llama3_8B}")  # the other keys of workload are added by `full`


def full():
    extra = ", batch_size: 8, seq_len: 1024, output_tokens: 128, cached_prefix_len: 16, prefill_chunk_tokens: 512"
    extra += ", draft_model: GPT2_Small, draft_acceptance_rate: 0.7, draft_acceptance_decay: 0.9, draft_tokens: 4"
    extra += ", seq_len_cv: 0.5, seq_len_law: gamma, output_tokens_cv: 0.5, output_tokens_law: gamma}"
    return FULL_SERVE.replace("workload: {name: Llama3_8B}", "workload: {name: Llama3_8B" + extra)


def test_the_list_holds_every_key_of_serving_plans(run):
    keys = set()
    schema = run("schema", "plan").json()
    for name, content in schema["properties"].items():
        keys |= {f"{name}.{inner}" for inner in content["properties"]} if content.get("properties") else {name}
    tested = {key for keys in (KEYS_SERVE, KEYS_TRAIN, KEYS_EXPERTS) for key, _, _ in keys}
    elsewhere = {"version", "mode", "constraints.assert", "hardware.node_count", "ops.grid", "ops.datacenter",
                 "parallelism.ep_size", "parallelism.expert_tp_size", "parallelism.host_memory",
                     "parallelism.host_memory_bandwidth", "parallelism.offload_experts", "parallelism.offload_gradients",
                 "parallelism.network_bandwidth", "parallelism.decode_replicas", "parallelism.prefill_ep_size",
                 "parallelism.prefill_replicas", "parallelism.prefill_tp_size",  # test_pools.py
                 "hardware.memory_fraction", "hardware.kv_cache_memory", "workload.training_tokens", "workload.towers"}  # test_launch.py, test_eval.py
    assert keys == tested | elsewhere


def outcome(run, path):
    done = run("eval", path, "-o", "json")
    assert done.code in (0, 2), done.err
    return done.json()


def numbers(run, path):
    """What the scorecard measures: no assumption, no text."""
    return {(level, name): metric["value"] for level, content in outcome(run, path)["levels"].items()
            for name, metric in content["metrics"].items() if not isinstance(metric["value"], str) and name != "duration_days"}


@pytest.mark.parametrize("key,before,after", KEYS_SERVE, ids=[key for key, _, _ in KEYS_SERVE])
def test_every_key_of_a_serving_plan_counts(run, plan, key, before, after):
    before, after = before.replace("workload: ", "").strip("{}"), after.replace("workload: ", "").strip("{}")
    text = full()
    if key == "hardware.name":
        before, after = "  name: H100", "  name: H200"
    if key in ("hardware.fabric_bandwidth", "hardware.nics_per_node"):  # a replica across nodes, so that the fabric carries something
        text = text.replace("accelerators_per_node: 8", "accelerators_per_node: 4")
    assert before in text
    changed = text.replace(before, after, 1)
    if key == "hardware.accelerators_per_node":
        changed = changed.replace("tp_size: 4", "tp_size: 4")
    read = outcome if key == "name" else numbers
    assert read(run, plan(text, "a.yaml")) != read(run, plan(changed, "b.yaml"))


KEYS_TRAIN = [
    ("hardware.congestion_factor", "congestion_factor: 1", "congestion_factor: 2"),
    ("hardware.straggler_factor", "straggler_factor: 1", "straggler_factor: 1.5"),
    ("parallelism.backward_prefetch", "backward_prefetch: true", "backward_prefetch: false"),
    ("parallelism.trainable_fraction", "trainable_fraction: 1", "trainable_fraction: 0.5"),
    ("parallelism.lora_rank", "trainable_fraction: 1", "lora_rank: 16"),
    ("parallelism.lora_modules", "lora_modules: all", "lora_modules: attention"),
    ("parallelism.fused_loss", "fused_loss: false", "fused_loss: true"),
    ("parallelism.kernel_fusion", "kernel_fusion: true", "kernel_fusion: false"),
    ("parallelism.dropout", "dropout: false", "dropout: true"),
    ("parallelism.overlap_slowdown", "overlap_slowdown: 0.1", "overlap_slowdown: 0.9"),
    ("parallelism.v_stages", "v_stages: 1", "v_stages: 2"),
    ("parallelism.microbatch_count", "microbatch_count: 8", "microbatch_count: 16"),
    ("parallelism.gradient_accumulation_steps", "gradient_accumulation_steps: 1", "gradient_accumulation_steps: 2"),
    ("parallelism.zero_stage", "zero_stage: 1", "zero_stage: 2"),
    ("parallelism.recomputation", "recomputation: norm", "recomputation: full"),
    ("parallelism.recomputed_share", "recomputed_share: 1", "recomputed_share: 0.5"),
    ("parallelism.cp_size", "cp_size: 1", "cp_size: 2"),
    ("parallelism.schedule", "schedule: 1f1b", "schedule: gpipe"),
    ("parallelism.microbatch_size", "microbatch_count: 8", "microbatch_size: 2"),
    ("parallelism.shard_size", "shard_size: 4", "shard_size: 2"),
    ("parallelism.gradient_precision", "gradient_precision: bf16", "gradient_precision: fp32"),
    ("parallelism.states", "gradient_precision: bf16", "gradient_precision: bf16, states: \"moment=bf16,master=none\""),
    ("parallelism.moment_precision", "gradient_precision: bf16", "gradient_precision: bf16, moment_precision: bf16"),
    ("parallelism.attention_kernel", "attention_kernel: fused", "attention_kernel: unfused"),
    ("parallelism.overlap_efficiency", "overlap_efficiency: 0.8", "overlap_efficiency: 0"),
    ("parallelism.tp_overlap", "tp_overlap: 0", "tp_overlap: 0.5"),
    ("parallelism.offload_weights", "offload_weights: 0", "offload_weights: 0.5"),
    ("parallelism.offload_activations", "offload_activations: 0", "offload_activations: 0.5"),
    ("parallelism.offload_states", "offload_states: 0", "offload_states: 0.5"),
    ("parallelism.optimizer", "optimizer: adam", "optimizer: sgd"),
    ("parallelism.sequence_parallel", "sequence_parallel: true", "sequence_parallel: false"),
]
FULL_TRAIN = """version: "1"
name: training
mode: train
workload: {name: Llama3_8B, batch_size: 128, seq_len: 2048}
hardware: {name: DGX_H100, node_count: 4, precision: bf16, congestion_factor: 1, straggler_factor: 1}
parallelism: {tp_size: 2, pp_size: 4, v_stages: 1, microbatch_count: 8, gradient_accumulation_steps: 1,
  zero_stage: 1, shard_size: 4, recomputation: norm, recomputed_share: 1, optimizer: adam, sequence_parallel: true,
  cp_size: 1, schedule: 1f1b, gradient_precision: bf16, attention_kernel: fused, overlap_efficiency: 0.8, tp_overlap: 0,
  offload_weights: 0, offload_activations: 0, offload_states: 0, backward_prefetch: true, trainable_fraction: 1,
  fused_loss: false, kernel_fusion: true, dropout: false, overlap_slowdown: 0.1}
"""


@pytest.mark.parametrize("key,before,after", KEYS_TRAIN, ids=[key for key, _, _ in KEYS_TRAIN])
def test_every_key_of_a_training_plan_counts(run, plan, key, before, after):
    text = FULL_TRAIN
    if key == "parallelism.backward_prefetch":  # weights are gathered ahead where ZeRO divides them
        text = text.replace("zero_stage: 1", "zero_stage: 3")
    if key == "parallelism.lora_modules":
        text = text.replace("trainable_fraction: 1", "lora_rank: 16, lora_modules: all")
    assert before in text
    assert numbers(run, plan(text, "a.yaml")) != numbers(run, plan(text.replace(before, after), "b.yaml"))


KEYS_EXPERTS = [
    ("parallelism.collective_algorithm", "algorithm: nested", "algorithm: flat"),
    ("parallelism.dispatch_precision", "dispatch_precision: fp8", "dispatch_precision: bf16"),
    ("parallelism.expert_copies", "expert_copies: per_node", "expert_copies: per_expert"),
    ("parallelism.expert_overlap", "expert_overlap: none", "expert_overlap: micro_batch"),
    ("parallelism.rank_imbalance", "rank_imbalance: 1.2", "rank_imbalance: 1.5"),
]
FULL_EXPERTS = """version: "1"
name: experts
mode: MODE
workload: {name: DeepSeek_V3, batch_size: 256, seq_len: 1024}
hardware: {name: H200, accelerators: 64}
parallelism: {tp_size: 2, ep_size: 32, collective_algorithm: nested, dispatch_precision: fp8,
  expert_copies: per_node, expert_overlap: none, rank_imbalance: 1.2}
"""


@pytest.mark.parametrize("mode", ["serve", "train"])
@pytest.mark.parametrize("key,before,after", KEYS_EXPERTS, ids=[key for key, _, _ in KEYS_EXPERTS])
def test_every_key_of_the_experts_exchange_counts(run, plan, mode, key, before, after):
    text = FULL_EXPERTS.replace("MODE", mode)
    if key == "parallelism.collective_algorithm":  # a group over nodes, whose sums are joined
        text = text.replace("tp_size: 2, ep_size: 32", "tp_size: 16, ep_size: 4")
    assert before in text
    assert numbers(run, plan(text, "a.yaml")) != numbers(run, plan(text.replace(before, after), "b.yaml"))


def test_the_page_of_plan_files_names_every_key(run):
    import conftest

    page = (conftest.ROOT / "docs/reference/plan-file.md").read_text()
    for name, content in run("schema", "plan").json()["properties"].items():
        for key in content.get("properties", {name: None}):
            assert f"`{key}`" in page, key


def test_what_a_plan_says_of_a_draft_needs_one(run, plan):
    serve = SERVE.replace("seq_len: 1024", "seq_len: 1024, draft_tokens: 3")
    done = run("eval", plan(serve))
    assert done.code == 1 and "no effect without a draft model" in done.err and "draft_tokens: 3" in done.err
    by_plan = outcome(run, plan(serve.replace("draft_tokens: 3", "draft_tokens: 3, draft_model: GPT2_Small"), "b.yaml"))
    by_words = run("eval", "Llama3_8B", "H100", "--name", "test", "-b", "8", "-s", "1024", "-p", "bf16", "--draft-tokens", "3",
                   "--draft-model", "GPT2_Small", "-o", "json").json()
    assert by_plan == by_words


def test_remaining_keys_count(run, plan):
    two = outcome(run, plan(FULL_TRAIN.replace("node_count: 4", "node_count: 8"), "two.yaml"))
    one = outcome(run, plan(FULL_TRAIN, "one.yaml"))
    assert two["p_step_latency"] < one["p_step_latency"]
    infer = outcome(run, plan(SERVE + "mode: infer\n", "infer.yaml"))
    assert infer["mode"] == "infer" and "p_latency" in infer
    for key in ("grid: Poland", "datacenter: Norway_Hydro", "region: Norway_Hydro"):
        placed = outcome(run, plan(SERVE + f"ops: {{{key}}}\n", "placed.yaml"))
        assert placed["m_carbon_footprint"] != outcome(run, plan(SERVE, "plain.yaml"))["m_carbon_footprint"]
    spread = HEAD + "mode: serve\nworkload: {name: Mixtral_8x7B}\nhardware: {name: H100, accelerators: 8, precision: fp8}\n"
    a = outcome(run, plan(spread + "parallelism: {tp_size: 2, ep_size: 4}\n", "a.yaml"))
    b = outcome(run, plan(spread + "parallelism: {tp_size: 4, ep_size: 2}\n", "b.yaml"))
    assert a["p_itl"] != b["p_itl"]
    train = HEAD + "mode: train\nworkload: {name: Mixtral_8x7B, batch_size: 16, seq_len: 1024}\nhardware: {name: H100, accelerators: 8}\n"
    a = outcome(run, plan(train + "parallelism: {tp_size: 4, ep_size: 4, expert_tp_size: 2}\n", "a.yaml"))
    b = outcome(run, plan(train + "parallelism: {tp_size: 4, ep_size: 2}\n", "b.yaml"))
    assert a["p_dp_size"] == b["p_dp_size"] and a["p_step_latency"] != b["p_step_latency"]


def assertion(text):
    return SERVE + f"constraints:\n  assert:\n  - {{{text}}}\n"


def test_assertions_hold_and_fail(run, plan):
    itl = outcome(run, plan(SERVE))["p_itl"]
    held = run("eval", plan(assertion(f"metric: performance.itl, max: {itl * 1.01} ms, min: {itl * 0.99} ms")))
    assert held.code == 0 and held.err == "" and held.out.startswith("FITS") and held.out.count("performance.itl ") == 2
    for text, words in ((f"max: {itl * 0.99} ms", "at most"), (f"min: {itl * 1.01} ms", "at least")):
        failed = run("eval", plan(assertion(f"metric: performance.itl, {text}")))
        assert failed.code == 3 and "assertion failed" in failed.err and words in failed.err
        assert failed.out.startswith("MISSES itl") and "performance.itl" in failed.out


def test_bounds_are_inclusive(run, plan):
    exact = outcome(run, plan(SERVE))["levels"]["performance"]["metrics"]["itl"]["value"]
    assert run("eval", plan(assertion(f"metric: performance.itl, max: {exact!r} s, min: {exact!r} s"))).code == 0


def test_a_bare_bound_counts_in_the_unit_of_the_metric(run, plan):
    itl = outcome(run, plan(SERVE))["p_itl"]
    done = run("eval", plan(assertion(f"metric: performance.itl, max: {itl * 1.01}")))
    assert done.code == 0 and "was read in ms" in done.err and "was read in ms" in " ".join(done.out.split())
    assert run("eval", plan(assertion(f"metric: performance.itl, max: {itl * 0.99}"))).code == 3


def test_violations_in_json(run, plan):
    answer = run("eval", plan(assertion("metric: performance.itl, max: 1 us")), "-o", "json")
    assert answer.code == 3
    assert answer.json()["status"] == "sla_failed"
    assert [v["metric"] for v in answer.json()["violations"]] == ["performance.itl"]


def test_infeasible_wins_over_a_failed_assertion(run, plan):
    text = assertion("metric: performance.itl, max: 1 us").replace("Llama3_8B", "Llama3_70B")
    assert run("eval", plan(text)).code == 2


def test_options_replace_what_the_plan_says(run, plan):
    by_option = run("eval", plan(SERVE), "--batch-size", "3", "-o", "json").json()
    by_plan = outcome(run, plan(SERVE.replace("batch_size: 8", "batch_size: 3"), "b.yaml"))
    assert by_option == by_plan


def test_plan_and_command_line_agree(run, plan):
    by_plan = outcome(run, plan(SERVE))
    by_words = run("eval", "Llama3_8B", "H100", "--name", "test", "-b", "8", "-s", "1024", "-p", "bf16", "-o", "json").json()
    assert by_plan == by_words


def test_explain_a_plan(run, plan):
    path = plan(SERVE)
    assert outcome(run, path)["levels"]["performance"]["metrics"]["ttft"]["display"] in run("explain", path, "ttft").out


def test_hardware_and_model_from_files_of_the_plan(run, plan, tmp_path):
    device = run("zoo", "show", "H100", "--yaml").out
    (tmp_path / "device.yaml").write_text(re.sub(r"(?m)^( *)(- )?name: H100$", r"\1\2name: Mine", device, count=1).replace("aliases:", "aliases: []  #", 1))
    text = SERVE.replace("name: H100", f"name: {tmp_path}/device.yaml")
    assert outcome(run, plan(text))["p_itl"] == outcome(run, plan(SERVE, "b.yaml"))["p_itl"]


def test_shipped_plans_run(run):
    import conftest

    plans = sorted((conftest.ROOT / "examples/plans").glob("*.yaml"))
    assert len(plans) >= 3
    for path in plans:
        done = run("eval", path)
        assert done.code == 0, f"{path}: {done.err}"


def test_a_plan_stands_alone(refused, plan):
    refused("eval", plan(FULL_SERVE), "H200", parts=["the plan", "H200", "a plan stands alone", "section 'hardware'"])


def test_a_plan_of_several_accelerators_without_a_mode_says_what_it_means(run, tmp_path):
    """The Python package of the same name trains on it."""
    text = 'version: "1"\nname: x\n{mode}workload: {{name: Llama3_8B}}\nhardware: {{name: H100, accelerators: {count}}}\n'
    notes = {}
    for mode, count in (("", 8), ("", 1), ("mode: serve\n", 8), ("mode: train\n", 8)):
        (tmp_path / "plan.yaml").write_text(text.format(mode=mode, count=count))
        done = run("eval", tmp_path / "plan.yaml")
        assert done.code in (0, 2), done.err  # 2: it does not fit, which is an answer
        notes[mode, count] = [line for line in done.err.splitlines() if "the plan has no mode" in line]
    assert len(notes.pop(("", 8))) == 1 and not any(notes.values())


@pytest.mark.parametrize("other, ours", [("burst: 8", "batch_size: 8, load: burst"), ("rate: 2 request/s", "arrival_rate: 2 request/s"),
                                         ("isl: 512", "seq_len: 512")])
def test_second_names_are_keys(run, tmp_path, other, ours):
    def answer(words):
        plan = tmp_path / "plan.yaml"
        plan.write_text('version: "1"\nname: test\n' "workload: {name: Llama3_8B, %s}\nhardware: {name: H100, gpus: 1}\n" % words)
        done = run("eval", str(plan), "-o", "json")
        assert done.code == 0, done.err
        return {key: value for key, value in done.json().items() if key.startswith("p_")}

    assert answer(other) == answer(ours) != {}
