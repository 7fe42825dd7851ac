"""The scenarios that library and reference are asked. Names say what is special about each.

What the library is known to get wrong is in OPEN: the numbers of a case that it concerns are not compared until it is mended
(`compare.py --all` compares them). Whoever mends a fault removes its line.
"""

import fnmatch
from dataclasses import dataclass, field

from zoo import BYTES, ZOO, entry, get

OPEN = {
    "pipeline": "serving with pipeline stages is not pipelined; layers that do not divide, devices of all stages, memory",
    "busy": "the busy share of serving is not of the whole time to a token (dispatch left out)",
    "context": "the mean context of a generation: last context in textbook serving, half a token short in flight",
    "cache format": "textbook caches below 8 bits where weights have fewer (inference, in flight)",
    "usable": "the usable capacity of a device is not used",
    "price": "an unknown price counts as zero",
    "lanes": "in-flight batching does not divide the running requests over pipeline stages",
    "few lanes": "with fewer requests than stages a token still passes all stages",
    "textbook chunks": "textbook prompts in flight attend to their own chunk only, not to what is held before it",
    "chunk memory": "the working set of a prefill is that of its last chunk, which is not the largest one",
    "recurrent format": "the fp32 states of recurrent layers are scaled by the format of the cache (kv_cache_size)",
    "recurrent training": "training holds the recurrent states of all layers instead of the one at work",
    "patch cast": "the cast of the patches runs on every stage instead of the first",
    "draft": "decoding with a draft is given the utilisation of decoding without",
}

POWER = ["utilization", "macro.energy", "macro.water", "macro.carbon", "macro.energy_cost", "macro.tco",
         "macro.cost_per_token", "macro.energy_per_token", "macro.carbon_per_token"]
PRICE = ["macro.capex", "macro.maintenance", "macro.tco", "macro.cost_per_token"]
ROOM = ["memory_capacity", "memory_utilization", "feasible", "memory.reserve", "memory_used"]


@dataclass
class Case:
    name: str
    asked: dict
    pending: list = field(default_factory=list)  # (names, key of OPEN)
    kind: str = "scenario"                       # or "in flight"

    def pending_reason(self, name):
        for patterns, key in self.pending:
            if key in OPEN and any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                return key
        return None


SCENARIOS = []


def add(name, model, hardware, pending=(), **asked):
    """A scenario of `mlsysim eval`. `hardware`: a device, or a cluster of the zoo."""
    cluster = hardware in ZOO["cluster"]
    asked = {"model": model, ("fleet" if cluster else "hardware"): hardware, **asked}
    if cluster:
        hardware = entry("node", entry("cluster", hardware)["node"])["accelerator"]
    serves = asked.get("mode", "serve") == "serve" and entry("model", model)["architecture"] == "decoder"
    textbook = asked.get("fidelity") == "textbook"
    why = list(pending)
    if serves and asked.get("pp_size", 1) > 1:
        why.append((["*"], "pipeline"))
    if serves and textbook and asked.get("output_tokens"):
        why.append((["itl", "request_latency", "*throughput*", "mfu", *POWER], "context"))
    if serves and not textbook:
        why.append((POWER, "busy"))
    if serves and entry("model", model).get("linear_attention") and (asked.get("kv_precision") or asked.get("precision") == "int4"):
        why.append((["kv_cache_size"], "recurrent format"))
    if asked.get("mode") == "train" and not textbook and entry("model", model).get("linear_attention"):
        why.append((["memory.kv_cache", "memory.fragmentation", "memory_used", "memory_utilization"], "recurrent training"))
    if serves and not textbook and asked.get("prefill_chunk_tokens"):
        why.append((["memory.activations", "memory.fragmentation", "memory_used", "memory_utilization"], "chunk memory"))
    if get(entry("hardware", hardware), "memory.usable_capacity"):
        why.append((ROOM, "usable"))
    if get(entry("hardware", hardware), "unit_cost") is None and "unit_cost" not in asked:
        why.append((PRICE, "price"))
    if textbook and not serves and asked.get("mode") != "train" and BYTES.get(asked.get("precision"), 2) < 1:
        why.append((["memory*", "feasible", "latency*", "throughput", "mfu", "energy", *POWER], "cache format"))
    SCENARIOS.append(Case(name, asked, why))


def serving():
    """One device or one replica, both fidelities."""
    both = ("operator", "textbook")
    for fidelity in both:
        for model, hardware, devices in [("Llama3_8B", "H100", 1), ("Llama3_8B", "A100", 1), ("Llama3_70B", "H100", 8),
                                         ("Llama3_70B", "MI300X", 4), ("Mixtral_8x7B", "H200", 2), ("DeepSeek_V3", "H200", 8),
                                         ("Gemma2_9B", "H100", 1), ("Gemma2_2B", "RTX_4090", 1), ("Mistral_7B", "L40S", 1),
                                         ("GPT2", "V100", 1), ("Llama3_405B", "B200", 8), ("Llama3_8B", "TPUv5p", 4),
                                         ("GPT3", "H100", 8), ("Qwen3_235B_A22B", "H100", 8)]:
            add(f"serve {fidelity} {model} {hardware}", model, hardware, fidelity=fidelity, accelerators=devices,
                tp_size=devices, batch_size=4, seq_len=1000)
        for precision in ("fp8", "int8", "int4"):
            hardware = "RX7900XTX" if precision == "int4" else "H100"
            add(f"serve {fidelity} {precision}", "Llama3_8B", hardware, fidelity=fidelity, precision=precision,
                batch_size=8, tp_size=1, output_tokens=None)
        add(f"serve {fidelity} cache in fp8", "Llama3_8B", "H100", fidelity=fidelity, kv_precision="fp8", batch_size=8, tp_size=1)
        add(f"serve {fidelity} output", "Llama3_8B", "H100", fidelity=fidelity, batch_size=16, output_tokens=256, tp_size=1)
        add(f"serve {fidelity} one output token", "Llama3_8B", "H100", fidelity=fidelity, batch_size=16, output_tokens=1, tp_size=1)
        add(f"serve {fidelity} chunks", "Llama3_8B", "H100", fidelity=fidelity, batch_size=4, seq_len=4096,
            prefill_chunk_tokens=512, tp_size=1)
        add(f"serve {fidelity} uneven chunks", "Llama3_8B", "H100", fidelity=fidelity, batch_size=4, seq_len=2100,
            prefill_chunk_tokens=512, tp_size=1)
        add(f"serve {fidelity} prefix", "Llama3_8B", "H100", fidelity=fidelity, batch_size=4, seq_len=4096,
            cached_prefix_len=3000, tp_size=1)
        add(f"serve {fidelity} prefix and chunks", "Llama3_70B", "H100", fidelity=fidelity, batch_size=4, seq_len=4096,
            cached_prefix_len=1024, prefill_chunk_tokens=1024, accelerators=4, tp_size=4)
        add(f"serve {fidelity} efficiency", "Llama3_8B", "H100", fidelity=fidelity, batch_size=4, efficiency=0.4, tp_size=1)
        add(f"serve {fidelity} replicas", "Llama3_8B", "H100", fidelity=fidelity, batch_size=13, accelerators=4, tp_size=1)
        add(f"serve {fidelity} idle replicas", "Llama3_8B", "H100", fidelity=fidelity, batch_size=3, accelerators=8, tp_size=1)
        add(f"serve {fidelity} two nodes", "Llama3_405B", "H100", fidelity=fidelity, batch_size=8, accelerators=16, tp_size=16)
        add(f"serve {fidelity} experts spread", "Mixtral_8x7B", "H100", fidelity=fidelity, batch_size=16, accelerators=8,
            tp_size=2, ep_size=4)
        add(f"serve {fidelity} fewer sequences than ranks", "Mixtral_8x7B", "H100", fidelity=fidelity, batch_size=2,
            accelerators=8, tp_size=2, ep_size=4)
        add(f"serve {fidelity} latent attention spread", "DeepSeek_V3", "H200", fidelity=fidelity, batch_size=64,
            accelerators=16, tp_size=1, ep_size=16, output_tokens=100)
        add(f"serve {fidelity} costs", "Llama3_8B", "H100", fidelity=fidelity, batch_size=16, duration_days=365, grid="Quebec",
            kwh_price=2e-8, unit_cost=20000.0, infrastructure_multiplier=1.5, tp_size=1)
        add(f"serve {fidelity} facility", "Llama3_8B", "H100", fidelity=fidelity, batch_size=16, datacenter="Quebec_Hydro", tp_size=1)


def pipelines():
    """Serving with stages: alone and with the other degrees, layers that do not divide, batches smaller than stages."""
    for fidelity in ("operator", "textbook"):
        for stages, batch in [(2, 16), (4, 16), (4, 3), (8, 1), (4, 10), (5, 16)]:
            add(f"serve {fidelity} pp {stages} batch {batch}", "Llama3_70B", "H100", fidelity=fidelity, batch_size=batch,
                accelerators=stages, tp_size=1, pp_size=stages, output_tokens=64)
        add(f"serve {fidelity} pp uneven layers", "Llama3_405B", "H200", fidelity=fidelity, batch_size=8, accelerators=32,
            tp_size=8, pp_size=4, seq_len=4096, prefill_chunk_tokens=1500)
        add(f"serve {fidelity} tp pp chunks", "Llama3_70B", "A100", fidelity=fidelity, batch_size=12, accelerators=16,
            tp_size=4, pp_size=4, prefill_chunk_tokens=512)
        add(f"serve {fidelity} tp pp ep", "Mixtral_8x7B", "H100", fidelity=fidelity, batch_size=32, accelerators=16,
            tp_size=2, pp_size=2, ep_size=4, output_tokens=128)
        add(f"serve {fidelity} latent pp ep", "DeepSeek_V3", "H200", fidelity=fidelity, batch_size=64, accelerators=32,
            tp_size=2, pp_size=4, ep_size=4)


def training():
    """Steps of a fleet."""
    both = ("operator", "textbook")
    base = dict(mode="train", seq_len=2048)
    for fidelity in both:
        t = dict(base, fidelity=fidelity)
        add(f"train {fidelity} one device", "GPT2", "H100", batch_size=8, seq_len=1024, mode="train", fidelity=fidelity)
        add(f"train {fidelity} dp", "Llama3_8B", "H100", batch_size=64, accelerators=8, zero_stage=1, **t)
        for stage in (0, 1, 2, 3):
            add(f"train {fidelity} zero {stage}", "Llama3_8B", "H100", batch_size=64, accelerators=16, zero_stage=stage, **t)
        add(f"train {fidelity} tp", "Llama3_70B", "H100", batch_size=16, accelerators=16, tp_size=8, **t)
        add(f"train {fidelity} tp without sequence parallelism", "Llama3_70B", "H100", batch_size=16, accelerators=16,
            tp_size=8, sequence_parallel=False, **t)
        add(f"train {fidelity} pp", "Llama3_70B", "H100", batch_size=64, accelerators=32, tp_size=4, pp_size=4, **t)
        add(f"train {fidelity} pp interleaved", "Llama3_70B", "H100", batch_size=64, accelerators=32, tp_size=4, pp_size=4,
            v_stages=5, **t)
        add(f"train {fidelity} pp uneven layers", "Llama3_405B", "H100", batch_size=64, accelerators=128, tp_size=8, pp_size=16, **t)
        add(f"train {fidelity} ep", "Mixtral_8x7B", "H100", batch_size=64, accelerators=32, ep_size=8, tp_size=2, zero_stage=1, **t)
        add(f"train {fidelity} all degrees", "Mixtral_8x7B", "H100", batch_size=64, accelerators=128, ep_size=4, tp_size=2,
            pp_size=4, cp_size=2 if fidelity == "operator" else 1, zero_stage=1, **t)
        add(f"train {fidelity} latent", "DeepSeek_V3", "H100", batch_size=512, accelerators=1024, ep_size=16, tp_size=2, pp_size=4,
            zero_stage=1, recomputation="full", **t)
        for recomputation in ("none", "full"):
            add(f"train {fidelity} recompute {recomputation}", "Llama3_8B", "H100", batch_size=32, accelerators=8,
                zero_stage=3, recomputation=recomputation, **t)
        for optimizer in ("none", "sgd", "adamw"):
            add(f"train {fidelity} {optimizer}", "GPT2", "A100", batch_size=32, accelerators=4, optimizer=optimizer, **dict(t, seq_len=1024))
        add(f"train {fidelity} frozen", "Llama3_8B", "A100", batch_size=32, accelerators=8, trainable_fraction=0.01, zero_stage=2, **t)
        add(f"train {fidelity} slow", "Llama3_8B", "H100", batch_size=64, accelerators=16, congestion_factor=1.5,
            straggler_factor=1.2, zero_stage=1, **t)
        add(f"train {fidelity} accumulation", "Llama3_8B", "H100", batch_size=64, accelerators=8, gradient_accumulation_steps=4,
            zero_stage=2, **t)
        add(f"train {fidelity} links", "Llama3_8B", "H100", batch_size=64, accelerators=16, intra_node_bw=200e9,
            fabric_bandwidth=25e9, zero_stage=1, overlap_efficiency=0.5, **t)
        add(f"train {fidelity} uneven batch", "Llama3_8B", "H100", batch_size=67, accelerators=16, tp_size=2, zero_stage=1,
            microbatch_size=3, **t)
        add(f"train {fidelity} idle replicas", "Llama3_8B", "H100", batch_size=5, accelerators=8, zero_stage=1, **t)
        add(f"train {fidelity} efficiency", "Llama3_8B", "H100", batch_size=8, accelerators=8, efficiency=0.45, zero_stage=1, **t)
    t = dict(base, fidelity="operator")
    for recomputation in ("norm", "activation", "pointwise", "feed_forward", "attention", "per_operator"):
        add(f"train recompute {recomputation}", "Llama3_8B", "H100", batch_size=32, accelerators=8, zero_stage=3,
            recomputation=recomputation, recomputed_share=0.5 if recomputation == "norm" else 1, **t)
    for scheduled in ("gpipe", "zero_bubble"):
        add(f"train schedule {scheduled}", "Llama3_70B", "H100", batch_size=64, accelerators=32, tp_size=4, pp_size=4,
            schedule=scheduled, **t)
    for kernel in ("unfused", "flash1", "flash2"):
        add(f"train attention {kernel}", "GPT3", "A100", batch_size=64, accelerators=64, tp_size=8, pp_size=8,
            attention_kernel=kernel, recomputation="selective", dropout=True, kernel_fusion=kernel != "unfused", **t)
    add("train cp", "Llama3_70B", "H100", batch_size=16, accelerators=64, tp_size=8, cp_size=4, zero_stage=1, **dict(t, seq_len=16384))
    add("train fp8", "Llama3_8B", "H100", batch_size=64, accelerators=16, tp_size=2, precision="fp8", zero_stage=1, **t)
    add("train fp8 pp", "Llama3_70B", "H100", batch_size=64, accelerators=32, tp_size=4, pp_size=4, precision="fp8", zero_stage=1, **t)
    add("train fp32", "GPT2", "A100", batch_size=16, accelerators=4, precision="fp32", **dict(t, seq_len=1024))
    add("train hybrid shards", "Llama3_8B", "H100", batch_size=64, accelerators=32, zero_stage=3, shard_size=8, **t)
    add("train no prefetch", "Llama3_8B", "H100", batch_size=64, accelerators=16, zero_stage=3, backward_prefetch=False, **t)
    add("train offload", "Llama3_8B", "H100", batch_size=32, accelerators=8, zero_stage=2, offload_states=1.0,
        offload_weights=0.25, offload_activations=0.5, **t)
    add("train offload zero 3", "Llama3_70B", "H100", batch_size=32, accelerators=16, zero_stage=3, offload_states=0.5, **t)
    add("train tp overlap", "Llama3_70B", "H100", batch_size=16, accelerators=16, tp_size=8, tp_overlap=0.6, overlap_slowdown=0.3, **t)
    add("train micro-batches", "Llama3_70B", "H100", batch_size=64, accelerators=32, tp_size=8, pp_size=2, microbatch_count=8, **t)
    add("train fewer micro-batches than stages", "Llama3_70B", "H100", batch_size=8, accelerators=32, tp_size=4, pp_size=8, **t)
    add("train gradients in fp32", "Llama3_8B", "H100", batch_size=64, accelerators=16, zero_stage=1, gradient_precision="fp32", **t)
    add("train windows", "Gemma2_9B", "H100", batch_size=32, accelerators=8, zero_stage=3, **dict(t, seq_len=8192))
    add("train encoder", "BERT_Base", "A100", batch_size=64, accelerators=8, **dict(t, seq_len=512))
    add("train cnn", "ResNet50", "A100", batch_size=256, accelerators=8, mode="train")


def inference():
    for fidelity in ("operator", "textbook"):
        for model, hardware in [("ResNet50", "A100"), ("BERT_Base", "H100"), ("ViT_B_16", "H100"), ("Llama3_8B", "H100"),
                                ("MobileNetV2", "JetsonOrinNX")]:
            add(f"infer {fidelity} {model}", model, hardware, mode="infer", fidelity=fidelity, batch_size=8,
                **({} if model in ("ResNet50", "MobileNetV2") else {"seq_len": 128}))
        add(f"infer {fidelity} does not fit", "Llama3_70B", "H100", mode="infer", fidelity=fidelity, batch_size=1)
        add(f"infer {fidelity} int4", "Llama3_8B", "RX7900XTX", mode="infer", fidelity=fidelity, precision="int4", batch_size=2)
        add(f"infer {fidelity} replicas", "BERT_Base", "A100", mode="infer", fidelity=fidelity, batch_size=10, accelerators=4, seq_len=256)


def steady(name, model, hardware, **asked):
    """A replica that batches in flight. The mean context enters all of its numbers."""
    why, stages = [], asked.get("pp_size", 1)
    if asked.get("concurrency") and asked["concurrency"] < stages:
        why.append((["*"], "few lanes"))
    if stages > 1:
        why.append((["*"], "lanes"))
    if asked["fidelity"] == "textbook" and (asked.get("cached_prefix_len") or asked.get("prefill_chunk_tokens")):
        why.append((["*"], "textbook chunks"))
    if asked["fidelity"] == "textbook" and asked.get("precision") == "int4":
        why.append((["*"], "cache format"))
    why.append((["*"], "context"))
    SCENARIOS.append(Case("in flight " + name, {"model": model, "hardware": hardware, **asked}, why, "in flight"))


def in_flight():
    for fidelity in ("operator", "textbook"):
        f = dict(fidelity=fidelity)
        steady(f"{fidelity} queue", "Llama3_8B", "H100", **f)
        steady(f"{fidelity} concurrency", "Llama3_8B", "H100", concurrency=32, seq_len=1000, output_tokens=200, **f)
        steady(f"{fidelity} one request", "Llama3_8B", "H100", concurrency=1, **f)
        steady(f"{fidelity} arrivals", "Llama3_8B", "H100", arrival_rate=4.0, target_ttft=0.3, target_itl=0.02, **f)
        steady(f"{fidelity} too many arrivals", "Llama3_8B", "H100", arrival_rate=400.0, **f)
        steady(f"{fidelity} long prompts", "Llama3_8B", "H100", concurrency=8, seq_len=20000, prefill_chunk_tokens=4096, **f)
        steady(f"{fidelity} prefix", "Llama3_8B", "H100", concurrency=8, seq_len=6000, cached_prefix_len=4000, **f)
        steady(f"{fidelity} equal lengths", "Llama3_8B", "H100", concurrency=16, equal_lengths=True, num_requests=160, **f)
        steady(f"{fidelity} a run", "Llama3_8B", "H100", num_requests=2000, max_batch_size=128, **f)
        steady(f"{fidelity} more than slots", "Llama3_8B", "H100", concurrency=256, max_batch_size=64, **f)
        steady(f"{fidelity} workers apart", "Llama3_8B", "H100", arrival_rate=6.0, prefill_replicas=2, **f)
        steady(f"{fidelity} workers too few", "Llama3_8B", "H100", prefill_replicas=1, **f)
        steady(f"{fidelity} tp", "Llama3_70B", "H100", concurrency=64, tp_size=8, **f)
        steady(f"{fidelity} ep", "Mixtral_8x7B", "H200", concurrency=64, tp_size=2, ep_size=4, **f)
        steady(f"{fidelity} latent", "DeepSeek_V3", "H200", concurrency=128, ep_size=16, **f)
        steady(f"{fidelity} cache in fp8", "Llama3_8B", "H100", concurrency=64, kv_precision="fp8", precision="fp8", **f)
        steady(f"{fidelity} weights in 4 bits", "Llama3_70B", "H100", concurrency=8, weight_bits=4.25, tp_size=2, **f)
        steady(f"{fidelity} weights and arithmetic in int4", "Llama3_8B", "RX7900XTX", concurrency=8, precision="int4", **f)
        steady(f"{fidelity} does not fit", "Llama3_70B", "H100", concurrency=8, **f)
        for stages, running in [(2, 64), (4, 64), (4, 63), (4, 2)]:
            steady(f"{fidelity} pp {stages} running {running}", "Llama3_70B", "H100", concurrency=running, tp_size=2,
                   pp_size=stages, **f)
        steady(f"{fidelity} pp uneven layers", "Llama3_405B", "H200", concurrency=64, tp_size=8, pp_size=4, **f)
        steady(f"{fidelity} all degrees", "Mixtral_8x7B", "H100", concurrency=128, tp_size=2, pp_size=2, ep_size=4, **f)
    for engine in ("vllm", "sglang", "tensorrt_llm", "tensorrt_llm_cpp"):
        f = dict(engine=engine, fidelity="operator")
        steady(f"{engine} concurrency", "Llama3_8B", "H100", concurrency=32, **f)
        steady(f"{engine} arrivals", "Llama3_8B", "A100", arrival_rate=2.0, seq_len=3000, **f)
        steady(f"{engine} equal lengths", "Llama3_8B", "H100", concurrency=32, equal_lengths=True, **f)


def kinds():
    """Kinds of layers, devices of which less is known, and what few scenarios combine."""
    for fidelity in ("operator", "textbook"):
        f = dict(fidelity=fidelity)
        for model in ("Kimi_K3", "Qwen3_5_397B_A17B", "GPT_OSS_120B", "Llama4_Maverick", "GLM_5", "DeepSeek_V4_Flash", "GLM_4_5_Air",
                      "OLMo2_7B", "Gemma3_1B", "Phi2", "Kimi_K2"):
            add(f"serve {fidelity} {model}", model, "B200", batch_size=16, accelerators=8, tp_size=8 if "Gemma" not in model else 1,
                seq_len=3000, **f)
        add(f"serve {fidelity} usable capacity", "Llama3_8B", "A10", batch_size=1, tp_size=1, **f)
        add(f"serve {fidelity} usable capacity and workstation", "Llama3_8B", "RTX6000_Ada", batch_size=1, tp_size=1, **f)
        add(f"infer {fidelity} usable capacity", "Llama3_8B", "A40", mode="infer", **f)
        add(f"train {fidelity} usable capacity", "GPT2", "A40", mode="train", batch_size=64, accelerators=4, seq_len=1024, **f)
        add(f"train {fidelity} unknown price", "Llama3_8B", "MI325X", mode="train", batch_size=64, accelerators=8, zero_stage=1, **f)
        for model, degrees in [("Qwen3_6_35B_A3B", dict(ep_size=8, tp_size=2)), ("GPT_OSS_20B", dict(ep_size=4, pp_size=2)),
                               ("Gemma2_9B", dict(tp_size=2, pp_size=3, accelerators_per_node=4)), ("Llama4_Maverick", dict(tp_size=8, ep_size=8, pp_size=2)),
                               ("GLM_4_5_Air", dict(tp_size=4, ep_size=4, pp_size=3))]:
            add(f"train {fidelity} {model}", model, "H100", mode="train", batch_size=96, zero_stage=1,
                accelerators=2 * degrees.get("tp_size", 1) * degrees.get("ep_size", 1) * degrees.get("pp_size", 1), **degrees, **f)
        add(f"train {fidelity} tied pp", "GPT2", "V100", mode="train", batch_size=64, accelerators=8, pp_size=4, seq_len=1024, **f)
        add(f"train {fidelity} gpt3", "GPT3", "A100", mode="train", batch_size=512, accelerators=512, tp_size=8, pp_size=16,
            v_stages=3, dropout=fidelity == "operator", microbatch_size=1, **f)
    for model in ("Kimi_K3", "Qwen3_5_397B_A17B", "GPT_OSS_120B"):
        add(f"serve operator cache in fp8 {model}", model, "B200", batch_size=16, accelerators=8, tp_size=8, kv_precision="fp8")
    add("serve operator int4 with recurrent layers", "Qwen3_6_35B_A3B", "RX7900XTX", batch_size=4, accelerators=4, tp_size=4,
        precision="int4")
    add("train encoder fp8", "BERT_Base", "H100", mode="train", batch_size=64, accelerators=8, seq_len=512, precision="fp8")
    add("train patches fp8", "ViT_B_16", "H100", mode="train", batch_size=64, accelerators=8, seq_len=197, precision="fp8")
    add("train patches fp8 pp", "ViT_B_16", "H100", mode="train", batch_size=64, accelerators=8, seq_len=197, precision="fp8", pp_size=4,
        pending=[(["*"], "patch cast")])
    add("train uneven stages", "Llama3_8B", "H100", mode="train", batch_size=30, accelerators=10, accelerators_per_node=2,
        tp_size=2, pp_size=5, recomputation="full")
    add("train uneven stages, large head", "Gemma2_9B", "H100", mode="train", batch_size=64, accelerators=8, tp_size=2, pp_size=4,
        recomputation="full", seq_len=8192)
    add("train uneven stages, large head, zero 3", "Gemma2_2B", "H100", mode="train", batch_size=64, accelerators=8, pp_size=4,
        recomputation="full", seq_len=8192, zero_stage=3)
    for scheduled in ("1f1b", "zero_bubble"):
        add(f"train interleaved {scheduled}, large head", "Gemma2_2B", "H100", mode="train", batch_size=64, accelerators=8, pp_size=2,
            v_stages=13, recomputation="full", seq_len=8192, zero_stage=1, schedule=scheduled)
    add("train uneven stages, small head", "SmolLM2_135M", "H100", mode="train", batch_size=64, accelerators=4, pp_size=4)
    add("train interleaved with a large head", "Gemma2_9B", "H100", mode="train", batch_size=64, accelerators=8, tp_size=2, pp_size=2, v_stages=3)


def drafts():
    for fidelity in ("operator", "textbook"):
        why = [] if fidelity == "textbook" else [(["mfu", *POWER], "draft")]
        for name, asked in [("", {}), (" output", dict(output_tokens=200)), (" tokens", dict(draft_tokens=7, draft_acceptance_rate=0.9))]:
            add(f"serve {fidelity} draft{name}", "Llama3_70B", "H100", draft_model="Llama3_2_1B", batch_size=4, accelerators=4,
                tp_size=4, fidelity=fidelity, pending=why, **asked)
        add(f"serve {fidelity} draft with fewer heads", "Llama3_405B", "H200", draft_model="SmolLM2_135M", batch_size=2,
            accelerators=16, tp_size=16, fidelity=fidelity, pending=why)


def clusters():
    """Fleets of the zoo, with their adapters and fabrics."""
    for fidelity in ("operator", "textbook"):
        f = dict(mode="train", fidelity=fidelity, batch_size=1024)
        add(f"train {fidelity} cluster of nodes of four", "Llama3_8B", "Kempner_H100_384", zero_stage=1, tp_size=4, **f)
        add(f"train {fidelity} cluster on ethernet", "Llama3_70B", "Research_256", zero_stage=2, tp_size=8, pp_size=4, **f)
        add(f"train {fidelity} cluster of A100", "GPT3", "Training_1K_A100", zero_stage=1, tp_size=8, pp_size=8, microbatch_size=1, **f)
        add(f"train {fidelity} cluster of 16384", "Llama3_405B", "Meta_Llama3_16K", zero_stage=1, tp_size=8, pp_size=16, **dict(f, batch_size=2048))
        add(f"serve {fidelity} cluster", "Llama3_70B", "Lab_64_H100", batch_size=256, fidelity=fidelity, tp_size=8)
        add(f"serve {fidelity} cluster over nodes", "DeepSeek_V3", "Lab_64_H100", batch_size=256, fidelity=fidelity, tp_size=2, ep_size=16)


serving()
pipelines()
in_flight()
kinds()
drafts()
clusters()
training()
inference()
