"""One question has one answer, whatever it is asked through.

200 random scenarios go through the scorecard (`SystemEvaluator.evaluate`, which is `eval`), the resolver of their mode, `ask`, its
recorded tape, and sweeps. All numbers are the same bits, and a scenario that one of them refuses all refuse, with the same error.
"""

import json
import math
import os
import pathlib
import random
import sys

import pytest

import mlsysim
from mlsysim import Fleet, Hardware, Models, NetworkFabric, Node, Quantity, SystemEvaluator, Systems

sys.path.insert(0, str(pathlib.Path(os.environ.get("MLSYSIM_SOURCE_DIR", pathlib.Path(__file__).parents[2])) / "tests/support"))
import tape_program  # noqa: E402

SCENARIOS = 200

# Scenarios -----------------------------------------------------------------------------------------------------------

DEVICES = ["H100", "A100", "H200", "B200", "MI300X", "L4", "RTX4090", "TPUv5p", "Gaudi3"]
CLUSTERS = ["Lab_64_H100", "Research_256", "Training_512_H100"]
SERVED = ["Llama3_8B", "Llama3_70B", "Mixtral_8x7B", "DeepSeek_V3", "Qwen3_30B_A3B", "Gemma3_27B", "GPT_OSS_120B", "Llama2_7B",
          "whisper_large_v3", "BART_Large"]
TRAINED = ["Llama3_8B", "Llama3_70B", "Mixtral_8x7B", "Qwen3_30B_A3B", "GPT2", "BERT_Large", "ResNet50", "ViT_L_16", "BART_Large"]
PASSED = ["ResNet50", "BERT_Large", "ViT_L_16", "MobileNetV2", "Llama3_8B", "Mixtral_8x7B", "GPT2", "DLRM", "whisper_large_v3", "StableDiffusion_v1_5"]
WHOLE_PASSES = {"DLRM", "StableDiffusion_v1_5"}
EXPERTS = {"Mixtral_8x7B", "DeepSeek_V3", "Qwen3_30B_A3B", "GPT_OSS_120B"}

# Options of every mode: how often each is given, and its values.
COMMON = {
    "precision": (0.6, ["bf16", "bf16", "fp16", "fp16", "fp8", "int8", "fp4"]),
    "efficiency": (0.1, [0.2, 0.9]),
    "power_cap": (0.1, ["300 W", "250 W"]),
    "clock_limit": (0.1, [0.6, 0.85]),
    "execution": (0.2, ["eager", "graph"]),
    "conventions": (0.1, [{"textbook_efficiency": 0.4, "link_share": 0.7}, {"memory_reserve": "4 GiB", "draft_tokens": 2}]),
    "kwh_price": (0.1, ["0.3 USD/kWh"]),
    "grid": (0.1, ["Quebec", "Poland"]),
    "unit_cost": (0.1, ["12345 USD"]),
    "duration_days": (0.1, [1, 365]),
    "infrastructure_multiplier": (0.1, [1.8]),
}
EXCHANGE = {
    "collective_algorithm": (0.1, ["fastest", "nested", "flat"]),
    "dispatch_precision": (0.1, ["fp8", "bf16"]),
    "expert_copies": (0.1, ["per_node", "per_expert"]),
    "expert_overlap": (0.1, ["shared_expert", "micro_batch"]),
    "rank_imbalance": (0.1, [1, 1.7]),
}
SERVE = {
    **COMMON, **EXCHANGE,
    "seq_len": (0.8, [100, 512, 2048, 4096, 8191]),
    "output_tokens": (0.5, [1, 64, 300]),
    "kv_precision": (0.2, ["fp8", "int8", "int4", "bf16"]),
    "weight_format": (0.2, ["fp8", "int4", "mxfp4", "fp8_block", "q4_k_m", "as_stored"]),
    "weight_bits": (0.05, [4.5]),
    "cached_prefix_len": (0.15, [64, 99, 512]),
    "prefill_chunk_tokens": (0.2, [300, 512, 8192]),
    "chunked_prefill": (0.1, [True, False]),
    "engine": (0.2, ["vllm", "sglang", "tensorrt_llm", "llama_cpp"]),
    "draft_model": (0.2, ["Llama3_2_1B", "Llama3_8B"]),
}
DRAFT = {
    "draft_tokens": (0.5, [1, 3, 8]),
    "draft_acceptance_rate": (0.5, [0, 0.6, 1]),
    "draft_acceptance_decay": (0.2, [0.8]),
    "acceptance_length": (0.2, [2.5]),
}
TRAIN = {
    **COMMON, **EXCHANGE,
    "seq_len": (0.6, [512, 1024, 4096]),
    "zero_stage": (0.6, [0, 1, 2, 3]),
    "shard_size": (0.1, [2, 8]),
    "recomputation": (0.5, ["none", "selective", "full", "norm", "attention", "per_operator"]),
    "recomputed_share": (0.1, [0.5]),
    "microbatch_size": (0.2, [1, 2]),
    "microbatch_count": (0.2, [2, 4, 8]),
    "gradient_accumulation_steps": (0.15, [2, 4]),
    "schedule": (0.2, ["1f1b", "gpipe", "zero_bubble"]),
    "v_stages": (0.1, [2]),
    "cp_size": (0.15, [2]),
    "expert_tp_size": (0.05, [1, 2]),
    "optimizer": (0.3, ["none", "sgd", "adam", "adamw", "muon"]),
    "gradient_precision": (0.1, ["fp32", "bf16"]),
    "moment_precision": (0.2, ["bf16"]),
    "sequence_parallel": (0.2, [True, False]),
    "attention_kernel": (0.2, ["fused", "unfused", "flash1", "flash2"]),
    "dropout": (0.1, [True]),
    "kernel_fusion": (0.1, [False]),
    "backward_prefetch": (0.2, [False]),
    "fused_loss": (0.1, [True]),
    "trainable_fraction": (0.1, [0.1]),
    "lora_rank": (0.1, [16]),
    "weight_format": (0.05, ["nf4", "int8"]),
    "overlap_efficiency": (0.1, [0, 0.5, 1]),
    "overlap_slowdown": (0.1, [0.4]),
    "tp_overlap": (0.1, [0.7]),
    "offload_weights": (0.1, [0.5, 1]),
    "offload_activations": (0.2, [0.5, 1]),
    "offload_states": (0.1, [0.5, 1]),
    "congestion_factor": (0.1, [2]),
    "straggler_factor": (0.1, [1.3]),
}
INFER = {**COMMON, "seq_len": (0.5, [128, 512])}


def given(draw, table):
    return {name: draw.choice(values) for name, (often, values) in table.items() if draw.random() < often}


def made_fleet(device, nodes, per_node):
    fabric = NetworkFabric(name="Wire", bandwidth="50 GB/s", latency="2 us")
    node = Node(name="Box", accelerator=device, accelerators_per_node=per_node, intra_node_bw="300 GB/s")
    return Fleet(name=f"{nodes} of {per_node} {device.name}", node=node, count=nodes, fabric=fabric)


class Scenario:
    """A workload, a device or a fleet, and options; `inputs` are those of the resolver of its mode."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.mode = draw.choice(["serve", "serve", "train", "train", "infer"])
        table, models = {"serve": (SERVE, SERVED), "train": (TRAIN, TRAINED), "infer": (INFER, PASSED)}[self.mode]
        self.workload = Models[draw.choice(models)]
        self.fleet, self.device = None, Hardware[draw.choice(DEVICES)]
        if self.mode == "train" or self.mode == "serve" and draw.random() < 0.7:
            self.fleet = draw.choice([lambda: Systems.Clusters[draw.choice(CLUSTERS)],
                                      lambda: made_fleet(self.device, draw.choice([1, 2, 4]), draw.choice([1, 4, 8]))])()
            self.device = self.fleet.node.accelerator
        self.options = {"fidelity": draw.choice(["operator", "operator", "operator", "textbook"]), **given(draw, table)}
        if "draft_model" in self.options:
            self.options.update(given(draw, DRAFT))
        devices = 1 if self.fleet is None else int(self.fleet.total_accelerators)
        degrees = {"tp_size": 1}
        if self.mode != "infer" and draw.random() < 0.95:  # else a plan that may not fit the devices
            for name in draw.sample(["tp_size", "pp_size", *(["ep_size"] if self.workload.name in EXPERTS else [])], k=2):
                taken = math.prod(degrees.values())
                degrees[name] = draw.choice([n for n in (1, 2, 4, 8) if devices % (n * taken) == 0])
        elif self.mode != "infer":
            degrees["tp_size"] = draw.choice([3, 16, 128])
        if self.mode != "infer":
            self.options.update(degrees)
        self.replicas = max(1, devices // math.prod(degrees.values()))
        each = draw.choice([1, 2, 3, 8, 16, 64, 256]) if draw.random() < 0.95 else draw.choice([0, 1.5 if self.replicas == 1 else 0])
        self.options["batch_size"] = each * self.replicas
        # Half of the served ones are a burst, which is what totals (textbook) know alone; the others are in steady state.
        self.steady = self.mode == "serve" and self.options["fidelity"] == "operator" and random.Random(f"load {seed}").random() < 0.5
        if self.mode == "serve" and not self.steady:
            self.options["load"] = "burst"
        shares = {"conventions": lambda x: mlsysim.zoo.conventions(**x)}
        self.options = {name: shares.get(name, lambda x: x)(value) for name, value in self.options.items()}

    @property
    def inputs(self):
        cls = self.resolver
        out = {"workload": self.workload, "hardware": self.device, "fleet": self.fleet, **self.options}
        if self.mode == "serve":
            out["concurrency" if self.steady else "batch_size"] = self.options["batch_size"] / self.replicas
        known = {row["name"] for row in cls._resolver.inputs}
        return {name: value for name, value in out.items() if name in known and value is not None}

    @property
    def resolver(self):
        if self.mode == "infer":
            return mlsysim.InferencePassModel if self.workload.name in WHOLE_PASSES else mlsysim.SingleNodeModel
        if self.steady:
            return mlsysim.InFlightBatchingModel
        return mlsysim.ServingModel if self.mode == "serve" else mlsysim.DistributedModel

    def __repr__(self):
        options = {name: getattr(value, "name", value) for name, value in self.options.items()}
        return f"{self.mode} {self.workload.name} on {(self.fleet or self.device).name}, {options}"


# Paths ---------------------------------------------------------------------------------------------------------------


def plain(value):
    return value.base if isinstance(value, Quantity) else value


def of_card(scenario):
    """The numbers of the scorecard in base units; memory by use under 'memory.'."""
    where = {"hardware_obj": scenario.device} if scenario.fleet is None else {"fleet_obj": scenario.fleet}
    card = SystemEvaluator.evaluate("one path", scenario.workload, mode=scenario.mode, **where, **scenario.options)
    out = {name: plain(value) for level in (card.feasibility, card.performance, card.macro) for name, value in level.metrics.items()}
    if "energy" in card.performance.metrics:
        out.update(energy_per_batch=plain(card.performance["energy"]), energy=plain(card.macro.metrics.get("energy")))
    out.update({f"memory.{name}": plain(value) for name, value in card.memory.items()})
    return out


def asked(scenario):
    return mlsysim.ask(scenario.workload, scenario.fleet or scenario.device, mode=scenario.mode, **scenario.options)


def of_subject(scenario):
    return {name: plain(value) for name, value in asked(scenario).results.items()}


def of_tape(scenario):
    """The recorded operations, run by a program that is no part of the library."""
    subject = asked(scenario)
    if not subject.exact:
        return {}
    program = json.loads(subject.export())
    values = tape_program.run(program, [row["value"] for row in program["inputs"]])
    return {row["name"]: values[row["node"]] for row in program["results"]}


def of_sweep(scenario, axes, point=0):
    subject = asked(scenario)
    rows = subject.sweep(axes, show=list(subject.results), anything=True)
    if rows.skipped:
        return {"skipped": rows.skipped[0][1]}
    return {name: (rows.columns[name][point], rows.units[name]) for name in subject.results}


def of_fidelity_axis(scenario):
    return of_sweep(scenario, {"fidelity": [scenario.options["fidelity"]]})


def of_batch_axis(scenario):
    return of_sweep(scenario, {"batch_size": [2 * scenario.options["batch_size"], scenario.options["batch_size"]]}, 1)


RESULTS = {
    "serve": {name: name for name in (
        "ttft", "ttft_ingress", "ttft_queue", "ttft_dispatch", "ttft_prefill", "ttft_egress", "itl", "request_latency", "prefill_mfu", "mfu",
        "bottleneck", "prefill_bottleneck", "memory_utilization")},
    "train": {
        **{name: name for name in ("latency_compute", "latency_memory", "mfu", "hfu", "scaling_efficiency", "dp_size", "microbatch_count",
                                   "bottleneck", "memory_utilization", "step_latency", "pipeline_bubble_latency",
                                   "effective_throughput", "communication_latency", "token_throughput", "host_transfer_latency")}},
    "infer": {
        **{name: name for name in ("latency", "latency_compute", "latency_memory", "latency_overhead", "throughput", "mfu",
                                   "arithmetic_intensity", "bottleneck", "evaluations", "memory_utilization")},
        "energy": "energy_per_batch"},
}


def of_resolver(scenario):
    result = scenario.resolver().solve(**scenario.inputs)
    # What does not fit has no steady state: the resolver gives none, and a card the one that it would have.
    told = {} if scenario.steady and not result.feasible else RESULTS[scenario.mode]
    out = {ours: plain(getattr(result, theirs)) for theirs, ours in told.items() if hasattr(result, theirs)}
    if told and scenario.mode == "serve" and scenario.replicas == 1:
        out["token_throughput"] = plain(result.token_throughput)
    if hasattr(result, "memory"):
        out.update({f"memory.{name}": plain(value) for name, value in result.memory.dict().items()})
        out.update(memory_used=out.pop("memory.total"), memory_capacity=out.pop("memory.capacity"))
    return out


PATHS = [of_subject, of_tape, of_fidelity_axis, of_batch_axis, of_resolver]


def answer(path, scenario):
    try:
        return path(scenario)
    except mlsysim.Error as refusal:
        return {"refused": refusal.id}


# A scenario checks its degrees against its devices before anything else; a resolver checks the model first.
DEGREES = "mlsysim.engine.011"


# The wait of a closed loop is what Little's law leaves of the whole, once for a device and once for a replica of a fleet: a
# difference, of which the last bits are noise.
LEFT_OVER = {"ttft", "ttft_queue", "request_latency"}


def same(name, ours, theirs, close):
    return ours == theirs or close and name in LEFT_OVER and ours and theirs and math.isclose(ours, theirs, rel_tol=1e-12)


def differences(card, found, close=False):
    """What a path says otherwise than the scorecard, of the numbers that both have."""
    if card.get("refused") == DEGREES and "refused" in found:
        return []
    if "refused" in card or "refused" in found or "skipped" in found:
        return [] if card.get("refused") == found.get("refused") else [("refused", card.get("refused"), found.get("refused", found.get("skipped")))]
    out = []
    for name in card.keys() & found.keys():
        ours, theirs = card[name], found[name]
        if isinstance(theirs, tuple):
            theirs, unit = theirs
            ours = ours if ours is None or not unit else ours / Quantity(f"1 {unit}").base
        if not same(name, ours, theirs, close) and not (ours is None and theirs != theirs):
            out.append((name, ours, theirs))
    return sorted(out, key=str)


@pytest.mark.parametrize("seed", range(SCENARIOS))
def test_every_path_says_the_same(seed):
    scenario = Scenario(seed)
    card = answer(of_card, scenario)
    wrong = {path.__name__: found for path in PATHS 
             if (found := differences(card, answer(path, scenario), path is of_resolver and scenario.steady))}
    assert not wrong, f"{scenario}\n" + "\n".join(f"{path}: {found}" for path, found in wrong.items())


def test_the_scenarios_are_of_all_kinds():
    scenarios = [Scenario(seed) for seed in range(SCENARIOS)]
    answered = [s for s in scenarios if "refused" not in answer(of_card, s)]
    assert len(answered) > SCENARIOS / 2
    for mode in ("serve", "train", "infer"):
        assert sum(s.mode == mode for s in answered) > SCENARIOS / 10
    used = set().union(*(s.options for s in answered))
    assert {*SERVE, *DRAFT, *TRAIN, *INFER} <= used, {*SERVE, *DRAFT, *TRAIN, *INFER} - used


def test_a_runtime_is_named_by_either_word():
    asked = dict(workload="Llama3_8B", hardware="H100", precision="bf16")
    for name in ("pytorch_graph", "transformers"):
        one = mlsysim.ServingModel.solve(**asked, engine=name).itl
        assert one == mlsysim.ServingModel.solve(**asked, runtime=name).itl
        assert one > mlsysim.ServingModel.solve(**asked).itl


@pytest.mark.parametrize("model, device, fits", [("Qwen/Qwen2.5-32B-Instruct-AWQ", "NVIDIA L40S", True), ("meta-llama/Llama-3.1-70B", "H100 SXM", False),
                                                 ("unsloth/Llama-3.3-70B-Instruct-bnb-4bit", "A6000", True)])
def test_python_agents_and_the_command_read_a_name_alike(model, device, fits):
    from mlsysim.mcp.calls import run

    scenario = {"workload": model, "hardware": device, "seq_len": 2048}
    found, _ = run("evaluate", {**scenario, "detail": True}, ())
    checked = mlsysim.plans.check({"version": "1", "name": "x", "mode": "serve", "workload": {"name": model, "seq_len": 2048}, "hardware": {"name": device}})
    launched = mlsysim.launches.fit(f"vllm serve {model} --max-model-len 2048", hardware=device)
    weights = sum(item["bytes"] for item in launched["items"] if item["part"] == "weights")
    assert found["memory"]["weights"]["value"] == pytest.approx(weights / 1e9, rel=2e-3)
    assert checked["memory"]["weights"]["value"] == pytest.approx(weights, rel=2e-3)
    assert [found["levels"]["feasibility"]["status"] == "PASS", launched["fits"], checked["feasible"]] == [fits] * 3
