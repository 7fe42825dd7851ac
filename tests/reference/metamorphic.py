"""Random scenarios and what must hold between them: more of a rate is not slower, more work is not faster.

    PYTHONPATH=build/ci/python python3 tests/reference/metamorphic.py [--count N] [--seed N]

Every scenario is asked once as it is and once for each relation with one thing changed. `EXCEPTIONS` names what may
break a relation, with the reason. MLSYSIM_METAMORPHIC sets the count (2000). Exit status: 0 where every relation holds,
1 else, 77 without the package.
"""

import argparse
import collections
import os
import random
import sys
import time

COUNT = 2000
ANALYZED = 25  # one of so many scenarios is explained
SLACK = 1e-9  # relative, for the rounding of two ways to one number

LANGUAGE = ["GPT2", "Llama3_8B", "Llama3_70B", "Llama2_7B", "Qwen3_14B", "Qwen3_32B", "Qwen2_5_7B", "Gemma2_2B",
            "Gemma2_9B", "Gemma3_27B", "Mistral_7B", "OPT_66B", "Phi2", "SmolLM2_135M", "GPT3", "Mamba_2_8B",
            "whisper_large_v3", "BART_Large", "T5_Small"]
EXPERTS = ["Mixtral_8x7B", "Qwen3_30B_A3B", "Qwen3_235B_A22B", "GPT_OSS_20B", "GPT_OSS_120B", "DeepSeek_V3",
           "Llama4_Scout"]
OTHERS = ["BERT_Base", "BERT_Large", "ResNet50", "MobileNetV2", "ViT_B_16"]
DEVICES = ["A100", "H100", "H200", "B200", "MI300X", "L4", "L40S", "RTX4090", "V100", "A10", "T4", "TPUv5p", "GB200",
           "B300", "MI250X", "Gaudi3", "RTX4000_Ada", "TPUv5e"]

# What a scenario reports as a time of the whole, by mode.
TIMES = {"serve": ["ttft", "itl"], "train": ["step_latency"], "infer": ["latency"]}


class Relation:
    """What follows from a change. `sign`: 1 where the number must not fall, -1 where it must not rise."""

    def __init__(self, name, sign, numbers=None):
        self.name, self.sign, self.numbers = name, sign, numbers

    def broken(self, before, after):
        """How far the number moved in the wrong direction, relative."""
        return self.sign * (before - after) / max(abs(before), abs(after), 1e-300)


BANDWIDTH = Relation("more memory bandwidth or memory efficiency is not slower", -1)
ARITHMETIC = Relation("more arithmetic rate or efficiency is not slower", -1)
OVERHEADS = Relation("longer launches, waves and splits are not faster", 1)
LINKS = Relation("better links are not slower", -1)
CAPACITY = Relation("more memory is not slower", -1)
SEQUENCE = Relation("a longer sequence is not faster", 1)
BATCH = Relation("a larger batch is not a faster pass or step", 1)
LAYERS = Relation("one more layer is not faster", 1)
HEADS = Relation("more KV heads are not faster", 1)
RECOMPUTED = Relation("recomputation is not faster", 1, ["step_latency"])
RECOMPUTED_MEMORY = Relation("recomputation does not need more memory", -1, ["memory_used"])
SHARDED = Relation("ZeRO-3 does not need more memory than ZeRO-2", -1, ["memory_used"])


def relation_of(name):
    """The relation of an input that is a figure of the machine, and the factor that is applied to it."""
    end = name.rsplit(".", 1)[-1]
    if name.startswith("links."):
        # A larger share of a link is no such figure: the flags of the low-latency protocol take a part of it.
        return (LINKS, 10) if end == "bandwidth" else (LINKS, 0.1) if end in ("latency", "launch") else None
    if not name.startswith("hardware."):
        return None
    if name == "hardware.memory.capacity":
        return CAPACITY, 2
    if name.startswith("hardware.memory.") or end in ("memory", "product_stream", "attention_stream",
                                                      "product_stream_narrow", "product_stream_four"):
        return BANDWIDTH, 10
    if name.startswith("hardware.compute.dense") or name == "hardware.compute.vector" or end in (
            "matrix", "matrix_narrow", "attention", "vector", "grouped", "attention_backward"):
        return ARITHMETIC, 10
    if name.startswith("hardware.kernels.") or end == "dispatch_overhead":
        return OVERHEADS, 4
    if name == "hardware.host_link.bandwidth":
        return LINKS, 10
    return None


def choose(rng):
    """A random scenario, {option: value}. Some contradict themselves and are refused."""
    kind = rng.random()
    model = rng.choice(LANGUAGE if kind < 0.6 else EXPERTS if kind < 0.85 else OTHERS)
    asked = {"workload": model, "hardware": rng.choice(DEVICES)}
    mode = rng.choice(["serve", "train", "train"] if model not in OTHERS else ["train", "infer"])
    asked["mode"] = mode
    asked["batch_size"] = rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 30, 32, 64, 128, 512])
    if model not in ("ResNet50", "MobileNetV2", "ViT_B_16"):
        longest = 512 if model in OTHERS else 32768
        asked["seq_len"] = min(rng.choice([1, 64, 100, 128, 300, 512, 1000, 2048, 4095, 4096, 8192, 16384, 32768]),
                               longest)
    devices = 2 ** rng.choice([0, 0, 1, 2, 3, 3, 4, 5, 6])
    degrees = {"tp_size": 1, "pp_size": 1, "ep_size": 1, "cp_size": 1}
    if model not in OTHERS and devices > 1:
        left = devices
        for name in ("tp_size", "pp_size", "ep_size", "cp_size"):
            if (name == "ep_size" and model not in EXPERTS) or (name == "cp_size" and mode == "serve"):
                continue
            if rng.random() < (0.5 if name in ("tp_size", "pp_size") else 0.3):
                degrees[name] = min(2 ** rng.randint(0, 3), left)
                left //= degrees[name]
        if mode == "serve" and rng.random() < 0.5:
            devices //= left
    asked.update({"accelerators": devices, **{k: v for k, v in degrees.items() if v > 1 or k == "tp_size"}})
    if rng.random() < 0.25:
        asked["precision"] = rng.choice(["fp8", "fp16", "bf16", "fp32", "int8"])
    if rng.random() < 0.08:
        asked["power_cap"] = f"{rng.choice([60, 200, 400, 600])} W"
    if rng.random() < 0.05:
        asked["clock_limit"] = rng.choice([0.5, 0.8])
    if mode == "serve":
        serve_options(rng, asked)
    if mode == "train":
        train_options(rng, asked, degrees)
    return asked


def serve_options(rng, asked):
    asked["load"] = rng.choice(["burst", "concurrency"])
    if rng.random() < 0.7:
        asked["output_tokens"] = rng.choice([1, 2, 16, 100, 512])
    if rng.random() < 0.15:
        asked["prefill_chunk_tokens"] = rng.choice([64, 512, 2048, 8192])
    if rng.random() < 0.2:
        asked["engine"] = rng.choice(["vllm", "sglang", "trtllm"])
    if rng.random() < 0.15:
        asked["weight_format"] = rng.choice(["fp8", "int4", "nvfp4", "q4_k_m"])
    if rng.random() < 0.1:
        asked["execution"] = rng.choice(["eager", "graph"])
    if rng.random() < 0.1 and asked["seq_len"] > 100:
        asked["cached_prefix_len"] = rng.choice([16, 64, asked["seq_len"] - 1])


def train_options(rng, asked, degrees):
    asked["zero_stage"] = rng.choice([0, 0, 1, 2, 3])
    asked["recomputation"] = rng.choice(["none", "selective", "full"])
    if rng.random() < 0.4:
        asked["microbatch_size"] = rng.choice([1, 1, 2, 4])
    if degrees["pp_size"] > 1:
        asked["schedule"] = rng.choice(["1f1b", "gpipe", "zero_bubble"])
        if rng.random() < 0.2:
            asked["v_stages"] = 2
    if rng.random() < 0.15:
        asked["gradient_accumulation_steps"] = rng.choice([2, 4])
    if rng.random() < 0.15:
        asked["optimizer"] = rng.choice(["sgd", "adam", "muon", "none"])
    if rng.random() < 0.1:
        asked["lora_rank"] = 16
    if rng.random() < 0.1:
        asked["offload_states"] = rng.choice([0.5, 1])
    if rng.random() < 0.2:
        asked["execution"] = rng.choice(["eager", "graph"])
    if rng.random() < 0.1:
        asked["tp_overlap"] = 0.5


class Asked:
    """A scenario that the library answers."""

    def __init__(self, library, options):
        options = dict(options)
        self.library, self.options, self.mode = library, options, options["mode"]
        self.subject = self.ask(options)
        self.numbers = self.subject.results
        self.changed = {}  # the results after the change that is checked

    def ask(self, options):
        options = dict(options)
        model = options.pop("workload")
        hardware = self.library.Hardware[options.pop("hardware")]
        model = self.library.Models[model] if isinstance(model, str) else model
        return self.library.ask(model, hardware, **options)

    def times(self):
        return [name for name in TIMES[self.mode] if name in self.numbers]

    def figures(self):
        """{input: results} where one figure of the machine is better or, of overheads, longer."""
        changed = {}
        for name, value in self.subject.inputs.items():
            known = relation_of(name)
            size = getattr(value, "magnitude", value)
            if not known or size <= 0:
                continue
            better = min(1.2 * value, max(value, 1)) if ".efficiency." in name else value * known[1]
            if better != value:
                changed[name] = (known[0], better)
        names = tuple(changed)
        base = tuple(self.subject.inputs[name] for name in names)
        points = [base, *((*base[:i], changed[name][1], *base[i + 1:]) for i, name in enumerate(names))]
        if not names:
            return
        rows = self.subject.sweep({names: points}, show=self.times(), anything=True).columns
        for i, name in enumerate(names):
            for shown in self.times():
                yield name, changed[name][0], shown, rows[shown][0], rows[shown][i + 1]

    def again(self, **changes):
        """The results with other options; None where they contradict the rest."""
        try:
            return self.ask({**self.options, **changes}).results
        except self.library.Error:
            return None


def number(value):
    return float(getattr(value, "magnitude", value))


def one_more_layer(asked):
    """The model with one more layer of the kind that it has most of; nothing where layers differ."""
    model = asked.library.Models[asked.options["workload"]]
    stacks = model.stacks
    if len(stacks) != 1 or len(stacks[0].layers) != 1:
        return None
    run = stacks[0].layers[0]
    return model.replace(stacks=[stacks[0].replace(layers=[run.replace(times=run.times + 1)])])


def more_heads(asked):
    """The model with twice the KV heads, where attention is grouped."""
    model = asked.library.Models[asked.options["workload"]]
    stacks = model.stacks
    if len(stacks) != 1 or stacks[0].mixer is None or stacks[0].mixer.grouped is None:
        return None
    grouped = stacks[0].mixer.grouped
    if not grouped.kv_heads or 2 * grouped.kv_heads > grouped.heads:
        return None
    mixer = stacks[0].mixer.replace(grouped=grouped.replace(kv_heads=2 * grouped.kv_heads))
    return model.replace(stacks=[stacks[0].replace(mixer=mixer)])


def changes(asked):
    """(relation, options that change, numbers) for each relation that is a change of the request."""
    o, mode = asked.options, asked.mode
    times = asked.times()
    if "seq_len" in o:
        for longer in (o["seq_len"] + 1, 2 * o["seq_len"]):
            yield SEQUENCE, {"seq_len": longer}, times
    yield BATCH, {"batch_size": o["batch_size"] + 1}, times
    yield BATCH, {"batch_size": 2 * o["batch_size"]}, times
    model = one_more_layer(asked)
    if model is not None:
        yield LAYERS, {"workload": model}, times
    model = more_heads(asked)
    if model is not None:
        yield HEADS, {"workload": model}, times
    if mode != "train":
        return
    if o["recomputation"] == "none":
        yield RECOMPUTED, {"recomputation": "full"}, None
        yield RECOMPUTED_MEMORY, {"recomputation": "full"}, None
    if o["zero_stage"] == 2:
        yield SHARDED, {"zero_stage": 3}, None


def exact(asked):
    """(what does not hold, how far) of what must hold to the last digits."""
    n = {name: number(value) for name, value in asked.numbers.items()}
    for name, value in n.items():
        if not abs(value) < float("inf"):
            yield f"{name} is not finite", 1.0
        elif value < 0 and name not in SIGNED:
            yield f"{name} is negative", 1.0
    o = asked.options
    degrees = ("pp_size", "ep_size") if o["mode"] == "serve" else ("pp_size", "ep_size", "cp_size")
    ones = {degree: 1 for degree in degrees if degree not in o}
    if ones and "seq_len" in o:
        again = asked.again(**ones)
        for name in asked.times():
            if again is None or number(again[name]) != n[name]:
                yield f"{name} with degrees of one differs", 1.0
    if "unit_cost" in asked.subject.inputs and "capex" in n:
        twice = asked.again(unit_cost=2 * asked.subject.inputs["unit_cost"])
        if twice is not None and abs(number(twice["capex"]) - 2 * n["capex"]) > SLACK * n["capex"]:
            yield "twice the price of a device is not twice the cost of devices", 1.0


SIGNED = {"memory_shortfall"}


class Known:
    """A named exception: what may break which relations, up to how far (a number, or one of the scenario), and why."""

    def __init__(self, name, reason, relations, most, holds):
        self.name, self.reason, self.relations, self.most, self.holds = name, reason, relations, most, holds


ON_TIME = [BANDWIDTH, ARITHMETIC, OVERHEADS, LINKS, CAPACITY, SEQUENCE, BATCH, LAYERS, HEADS, RECOMPUTED]
EXCEPTIONS = [
    Known("limits of power and clock",
          "A device that does less work per second draws less power and gets a higher clock. Kernels that arithmetic "
          "limits are slower at a lower clock, and a kernel becomes one of them as its traffic gets faster.",
          ON_TIME, 0.6, lambda a: "power_cap" in a.options or "clock_limit" in a.options),
    Known("micro-batches of a pipeline that serves",
          "There is a micro-batch for each stage. One sequence more can make fewer and larger ones, and each of them pays "
          "the dispatch of the slowest stage.",
          [BATCH], 0.4, lambda a: a.mode == "serve" and a.options.get("pp_size", 1) > 1),
    Known("equal micro-batches of a step",
          "One sequence more than whole micro-batches hold makes more and smaller ones, of equal size. They fill a pipeline "
          "sooner, and their products can have fewer tiles.",
          [BATCH], 0.35, lambda a: a.mode == "train"),
    Known("waits of the zero-bubble schedule",
          "The weight gradients of the slowest stage fill the waits. Another rate, or longer launches, can make another end of the "
          "pipeline the slowest one, whose weight gradients are shorter.",
          [ARITHMETIC, OVERHEADS], 0.15, lambda a: a.options.get("schedule") == "zero_bubble"),
    Known("shorter passes of prompts",
          "Where fewer prompts share the token budget of a pass, passes are shorter: they fill a pipeline sooner, and large "
          "products sustain a higher rate for a short time.",
          [SEQUENCE], 0.25, lambda a: a.mode == "serve" and a.options["batch_size"] > 1),
    Known("shorter passes of prompts fill a pipeline",
          "Where a pass of k of m prompts becomes k passes, (k - 1) (p - 1) of m + k (p - 1) times of a prompt on p stages are saved, of "
          "which k <= m leaves at most (p - 1) / p.",
          [SEQUENCE], lambda a: 1 - 1 / a.options["pp_size"],
          lambda a: a.mode == "serve" and a.options["batch_size"] > 1 and a.options.get("pp_size", 1) > 1),
    Known("memory decides how many run",
          "In steady state as many requests run as fit. Where that is what limits them, more memory, fewer layers or shorter "
          "sequences let more of them run: each waits less for a slot and takes longer steps.",
          ON_TIME, 20, lambda a: a.options.get("load") == "concurrency" and
          any(number(found["waiting_requests"]) > 0 for found in (a.numbers, a.changed) if "waiting_requests" in found)),
    Known("longer first tokens leave fewer requests that decode",
          "By Little's law requests that wait for their first token do not decode. What makes prompts longer, and steps less so, "
          "leaves fewer in a step, which is shorter.",
          ON_TIME, 0.6, lambda a: a.options.get("load") == "concurrency"),
    Known("attention in chunks",
          "A token of Llama 4 sees its own chunk of 8,192 tokens in most layers: right after a chunk it sees least.",
          [SEQUENCE], 0.5, lambda a: a.options["workload"].startswith("Llama4")),
    Known("one token and several", "Prompts of one token and of several have attention kernels of their own.",
          [SEQUENCE], 0.15, lambda a: a.options["seq_len"] == 1),
    Known("backward attention charges a step of keys with the traffic of queries",
          "So fewer KV heads, which have more queries each, take longer steps.",
          [HEADS], 0.4, lambda a: a.mode == "train"),
    Known("more KV heads fill more units", "Each KV head is a block of its own, and blocks run at once.",
          [HEADS], 0.04, lambda a: a.mode != "train"),
    Known("the default micro-batch uses the memory that is free",
          "Where recomputation or sharding frees memory, a micro-batch has more sequences: the step is faster and fills the "
          "memory again.",
          [RECOMPUTED, RECOMPUTED_MEMORY, SHARDED], 0.7,
          lambda a: a.mode == "train" and "microbatch_size" not in a.options and "pp_size" not in a.options),
    Known("fewer and larger default micro-batches fill tiles differently",
          "With more memory the default takes as few micro-batches as fit, and their last tiles may be emptier.",
          [CAPACITY], 0.005, lambda a: a.mode == "train" and "microbatch_size" not in a.options and "pp_size" not in a.options),
    Known("exchanges of a stage are a share of the fullest one's",
          "Gradients travel in whole buckets of the fullest stage. A stage with a block less has that share of them, so that its "
          "exchanges start less often.",
          [LAYERS], 0.002, lambda a: a.mode == "train" and a.options.get("pp_size", 1) > 1 and a.options.get("zero_stage", 0) > 0),
    Known("two gathered blocks of few",
          "ZeRO-3 holds two blocks of weights beside its share of all: of a stage with few blocks that is more than it "
          "saves.",
          [SHARDED], 0.5, lambda a: a.options.get("pp_size", 1) > 1),
]


def excused(relation, asked, move):
    for known in EXCEPTIONS:
        if relation in known.relations and known.holds(asked) and move <= (known.most(asked) if callable(known.most) else known.most):
            return known
    return None


class Run:
    def __init__(self, library, seed):
        self.library, self.rng = library, random.Random(seed)
        self.scenarios = self.refused = self.compared = 0
        self.broken, self.excused = [], collections.Counter()

    def note(self, relation, asked, name, change, before, after, move):
        e = excused(relation, asked, move)
        if e is not None:
            self.excused[e.name] += 1
            return
        self.broken.append((relation.name, move, asked.options, name, change))

    def one(self):
        options = choose(self.rng)
        try:
            asked = Asked(self.library, options)
        except self.library.Error:
            self.refused += 1
            return False
        self.scenarios += 1
        for figure, relation, name, before, after in asked.figures():
            self.check(relation, asked, name, figure, before, after)
        for relation, changed, names in changes(asked):
            after = asked.again(**changed)
            if after is None:
                continue
            asked.changed = after
            for name in names or relation.numbers:
                self.check(relation, asked, name, next(iter(changed)), number(asked.numbers[name]), number(after[name]))
        for what, move in exact(asked):
            self.broken.append((what, move, asked.options, "", ""))
        if self.scenarios % ANALYZED == 0:
            self.analyze(asked)
        return True

    def analyze(self, asked):
        """What is answered is explained and has sensitivities."""
        for name in asked.times():
            try:
                if not asked.subject.explain(name) or not asked.subject.sensitivity(name).levers:
                    self.broken.append(("an answer is explained", 1.0, asked.options, name, ""))
            except self.library.Error as error:
                self.broken.append((f"an answer is explained: {error}", 1.0, asked.options, name, ""))

    def check(self, relation, asked, name, change, before, after):
        self.compared += 1
        move = relation.broken(before, after)
        if move > SLACK:
            self.note(relation, asked, name, change, before, after, move)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=int(os.environ.get("MLSYSIM_METAMORPHIC", COUNT)))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20, help="violations to print of each relation")
    options = parser.parse_args()
    try:
        import mlsysim
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    run, begun = Run(mlsysim, options.seed), time.process_time()
    while run.scenarios < options.count:
        run.one()
    report(run, time.process_time() - begun, options.show)
    return 1 if run.broken else 0


def report(run, seconds, show):
    by_relation = collections.defaultdict(list)
    for relation, move, asked, name, change in run.broken:
        by_relation[relation].append((move, asked, name, change))
    for relation, found in sorted(by_relation.items()):
        found.sort(key=lambda row: -row[0])
        print(f"BROKEN {relation}: {len(found)} times, at most {100 * found[0][0]:.3g} %")
        for move, asked, name, change in found[:show]:
            words = " ".join(f"{k}={v}" for k, v in asked.items())
            print(f"    {100 * move:8.3g} % {name} by {change}: {words}")
    for name, times in run.excused.most_common():
        print(f"excused {times} times: {name}")
    print(f"{run.scenarios} scenarios ({run.refused} refused), {run.compared} relations, {len(run.broken)} broken, "
          f"{seconds:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
