"""Questions about scenarios and resolvers: what they hang on, backwards, compared, searched, spread, derived.

Every question of a mode is asked of all its subjects.
"""

import mlsysim
from mlsysim import SystemEvaluator

from recording import Numbers

from . import kept
from .kept import keep
from .lines import Ask
from .resolvers import EXAMPLES
from .scenarios import arguments, place

# name -> (subject, the words of it that its like on the other side of a comparison has differently)
SERVE = {
    "chat": ("serve Llama3_70B H100 x8 bf16 b16 operator", "H100", "H200"),
    "small": ("serve Llama3_8B H100 bf16 b8 operator seq4096 out256", "H100", "A100"),
    "experts": ("serve Mixtral_8x7B H100 x8 bf16 b32 operator tp4 ep2", "H100", "MI300X"),
    "latent": ("serve DeepSeek_V3 H200 x8 fp8 b16 operator", "H200", "B200"),
    "stages": ("serve Llama3_70B Lab_64_H100 bf16 b64 operator tp4 pp2", "tp4 pp2", "tp8"),
}
TRAIN = {
    "data": ("train Llama3_8B Lab_64_H100 bf16 b128 operator zero3", "zero3", "zero1"),
    "mixed": ("train Llama3_70B Training_512_H100 bf16 b512 operator tp8 pp4 zero1", "pp4", "pp8"),
    "context": ("train Llama3_8B Lab_64_H100 bf16 b32 operator tp2 cp4 zero1 seq32768", "tp2 cp4", "tp8"),
    "experts": ("train Mixtral_8x7B Research_256 bf16 b512 operator tp2 ep8 zero1", "tp2", "tp4"),
    "images": ("train ResNet50 A100 x8 fp16 b2048 operator", "A100", "H100"),
}
INFER = {
    "images": ("infer ResNet50 A100 b32 operator", "A100", "H100"),
    "encoder": ("infer BERT_Large A100 fp16 b16 operator seq512", "A100", "L4"),
    "mobile": ("infer MobileNetV2 JetsonOrinNano fp16 b1 operator", "JetsonOrinNano", "JetsonAGXOrin"),
}
# Subjects without slopes, whose inputs have the names of the zoo's figures: with the result that is asked
# about and the place of the device among the inputs.
PLAIN = {
    "chat": ("serve Llama3_70B H100 x8 bf16 b16 textbook", "H100", "H200", "itl", "hardware"),
    "drafted": ("serve Llama3_70B H100 x8 bf16 b4 operator draft_model=Llama3_2_1B", "operator", "textbook",
                "itl", "hardware"),
    "train": ("train Llama3_8B Lab_64_H100 bf16 b128 textbook zero3", "zero3", "zero1", "step_latency",
              "fleet.node.accelerator"),
    "images": ("infer ResNet50 A100 b32 textbook", "A100", "H100", "latency", "hardware"),
    "recommendation": ("infer DLRM H200 b2048 textbook", "H200", "A100", "latency", "hardware"),
}

# Figures whose influence is written down; a subject that lacks one of them is asked about the others.
LEVERS = """
batch_size seq_len accelerators tp_size pp_size kwh_price unit_cost hardware.compute.vector
hardware.memory.capacity hardware.efficiency.memory hardware.efficiency.matrix hardware.kernels.launch
hardware.dispatch_overhead hardware.power.tdp links.level1.bandwidth links.level2.bandwidth links.launch facility.pue
facility.carbon_intensity workload.stacks[0].hidden workload.stacks[0].layers[0].times plan.kv_bytes hardware.memory.bandwidth
fleet.node.accelerator.memory.bandwidth hardware.compute.dense.fp16 hardware.compute.dense.bf16
hardware.unit_cost workload.parameters conventions.textbook_efficiency
""".split()
UNCERTAIN = {
    "hardware.efficiency.memory": "+-5 %", "hardware.compute.dense.bf16": "uniform 600 TFLOP/s..1000 TFLOP/s",
    "hardware.compute.dense.fp16": "uniform 600 TFLOP/s..1000 TFLOP/s",
    "kwh_price": "lognormal 20 %",
}


def subject(line):
    mode, model, where, *words = line.split()
    given = {key.removesuffix("_obj"): one for key, one in place(where).items()}
    device = given.pop("hardware", None)
    return mlsysim.ask(mlsysim.Models[model], device, mode=mode, **given, **arguments(words))


def evaluation(line):
    mode, model, where, *words = line.split()
    given = {"mode": mode, **place(where), **arguments(words)}
    return SystemEvaluator.evaluate("golden", mlsysim.Models[model], **given)


def inputs(of, names=LEVERS):
    return [name for name in names if name in of.inputs]


# Questions: each is a function of the lines of a subject and of its like, and gives an answer. -----------


def results(line, _):
    return Numbers(subject(line).results)


def sensitivity(result):
    def answer(line, _):
        here = subject(line)
        return keep(here.sensitivity(result, inputs=inputs(here)), kept.of_sensitivity)

    return answer


def solve(condition, free, low=None, high=None):
    return lambda line, _: keep(subject(line).solve(condition, free, low, high), kept.of_solution)


def compare(result):
    return lambda line, other: keep(subject(line).compare(subject(other), result), kept.of_difference)


def uncertainty(result, figures=UNCERTAIN):
    def answer(line, other):
        here = subject(line)
        vary = {name: figures[name] for name in inputs(here, figures)}
        found = here.uncertainty(vary, result, samples=128, estimates=False, against=subject(other))
        return keep(found, kept.of_uncertainty)

    return answer


def spread(result):
    """Only what the zoo itself calls uncertain."""
    def answer(line, _):
        return keep(subject(line).uncertainty(results=result, samples=64, seed=7), kept.of_uncertainty)

    return answer


def optimize(axes, **question):
    return lambda line, _: keep(subject(line).optimize(axes, threads=1, **question), kept.of_search)


def pareto(axes, **question):
    return lambda line, _: keep(subject(line).pareto(axes, threads=1, **question), kept.of_search)


def sweep(axes, result, show):
    """Every point of a space; its own method would need numpy."""
    return optimize(axes, minimize=result, show=show, top=1000, anything=True)


def explain(result):
    return lambda line, _: keep(subject(line).explain(result), kept.of_explanation)


def operators(result):
    return lambda line, _: Numbers(kept.of_operators(evaluation(line).operators(result)))


SERVE_SPACE = {"batch_size": [1, 8, 64], "tp_size": [2, 4, 8], "precision": ["bf16", "fp8"]}
TRAIN_SPACE = {"tp_size": [1, 2, 8], "pp_size": [1, 2], "zero_stage": [0, 1, 3],
               "recomputation": ["none", "selective", "full"]}
SHARDING = {"zero_stage": [0, 1, 2, 3], "tp_size": [1, 2, 4]}
INFER_SPACE = {"batch_size": [1, 16, 256], "hardware.memory.bandwidth": "500 GB/s..4 TB/s:4"}

ABOUT_SERVE = {
    "results": results,
    "sensitivity/itl": sensitivity("itl"),
    "sensitivity/ttft": sensitivity("ttft"),
    "sensitivity/cost_per_token": sensitivity("cost_per_token"),
    "sensitivity/token_throughput": sensitivity("token_throughput"),
    "solve/itl<=20ms,memory_bandwidth": solve("itl <= 20 ms", "hardware.memory.bandwidth"),
    "solve/itl<=1us,memory_bandwidth": solve("itl <= 1 us", "hardware.memory.bandwidth"),
    "solve/ttft<=1s,seq_len": solve("ttft <= 1 s", "seq_len", "1", "8192"),
    "solve/itl<=30ms,batch_size": solve("itl <= 30 ms", "batch_size", "1", "512"),
    "solve/cost<=1USD,unit_cost": solve("cost_per_token <= 1 USD/Mtoken", "unit_cost"),
    "compare/itl": compare("itl"),
    "compare/cost_per_token": compare("cost_per_token"),
    "uncertainty/itl": uncertainty("itl"),
    "spread/cost_per_token": spread("cost_per_token"),
    "optimize/cost_per_token": optimize(
        SERVE_SPACE, minimize="cost_per_token", subject_to="itl <= 25 ms", show=["ttft"], top=3),
    "optimize/throughput": optimize(
        SERVE_SPACE, maximize="token_throughput", subject_to=["itl <= 10 ms", "ttft <= 500 ms"]),
    "optimize/proven": optimize(SERVE_SPACE, minimize="itl", strategy="branch-and-bound"),
    "pareto/itl,cost_per_token": pareto(SERVE_SPACE, minimize=["itl", "cost_per_token"]),
    "sweep": sweep(SERVE_SPACE, "itl", ["ttft", "memory_used"]),
    "explain/itl": explain("itl"),
    "explain/ttft": explain("ttft"),
    "explain/cost_per_token": explain("cost_per_token"),
    "explain/memory_used": explain("memory_used"),
    "operators/ttft": operators("ttft"),
    "operators/itl": operators("itl"),
}
ABOUT_TRAIN = {
    "results": results,
    "sensitivity/step_latency": sensitivity("step_latency"),
    "sensitivity/mfu": sensitivity("mfu"),
    "sensitivity/memory_used": sensitivity("memory_used"),
    "solve/step<=5s,memory_bandwidth": solve("step_latency <= 5 s", "hardware.memory.bandwidth"),
    "solve/mfu>=0.4,inter_bandwidth": solve("mfu >= 0.4", "links.level2.bandwidth"),
    "compare/step_latency": compare("step_latency"),
    "compare/memory_used": compare("memory_used"),
    "uncertainty/step_latency": uncertainty("step_latency"),
    "spread/step_latency": spread("step_latency"),
    "optimize/step_latency": optimize(TRAIN_SPACE, minimize="step_latency", show=["memory_used"], top=3),
    "optimize/proven": optimize(TRAIN_SPACE, minimize="step_latency", strategy="branch-and-bound"),
    "pareto/step_latency,memory_used": pareto(TRAIN_SPACE, minimize=["step_latency", "memory_used"]),
    "sweep": sweep(SHARDING, "step_latency", ["mfu"]),
    "explain/step_latency": explain("step_latency"),
    "explain/memory_used": explain("memory_used"),
    "operators/step_latency": operators("step_latency"),
}
ABOUT_INFER = {
    "results": results,
    "sensitivity/latency": sensitivity("latency"),
    "sensitivity/energy": sensitivity("energy_per_batch"),
    "solve/latency<=2ms,batch_size": solve("latency <= 2 ms", "batch_size", "1", "256"),
    "compare/latency": compare("latency"),
    "uncertainty/latency": uncertainty("latency"),
    "spread/latency": spread("latency"),
    "pareto/latency,throughput": pareto(INFER_SPACE, minimize="latency", maximize="throughput"),
    "sweep": sweep(INFER_SPACE, "latency", ["throughput"]),
    "explain/latency": explain("latency"),
    "operators/latency": operators("latency"),
}


def about_plain(result, device):
    vary = {"batch_size": "+-30 %", "duration_days": "+-10 %"}
    space = {"batch_size": [16, 64], "precision": ["fp16", "fp8"]}
    return {
        "results": results,
        f"sensitivity/{result}": sensitivity(result),
        f"solve/{result}<=20ms,bandwidth": solve(f"{result} <= 20 ms", f"{device}.memory.bandwidth"),
        f"solve/{result}<=1s,batch_size": solve(f"{result} <= 1 s", "batch_size", "1", "512"),
        f"compare/{result}": compare(result),
        f"uncertainty/{result}": uncertainty(result, vary),
        f"sweep/{result}": sweep(space, result, ["memory_used"]),
        f"explain/{result}": explain(result),
        "explain/memory_used": explain("memory_used"),
    }


# (resolver, result, an input that may vary): the example of the resolver is the subject.
RESOLVERS = (
    ("SingleNodeModel", "latency", "batch_size"),
    ("ServingModel", "itl", "batch_size"),
    ("TrainingMemoryModel", "total_memory", "batch_size"),
    ("DistributedModel", "step_latency", "batch_size"),
    ("SustainabilityModel", "carbon_footprint", "duration_days"),
    ("EconomicsModel", "tco", "duration_days"),
    ("ContinuousBatchingModel", "token_throughput", "max_batch_size"),
    ("InFlightBatchingModel", "itl", "arrival_rate"),
    ("TailLatencyModel", "p99_latency", "arrival_rate"),
    ("TransformationModel", "slowdown_factor", "workers"),
    ("TopologyModel", "bisection_bandwidth", "num_nodes"),
    ("ScalingModel", "optimal_parameters", "compute_budget"),
    ("ReliabilityModel", "goodput_ratio", "job_duration"),
    ("CheckpointModel", "write_time", "workload.parameters"),
    ("CompressionModel", "inference_speedup", "batch_size"),
    ("BatchingOptimizer", "p99_latency", "arrival_rate"),
)


def of_resolver(name):
    return mlsysim.ask(name, **arguments(EXAMPLES[name].split()))


def about_resolver(name, result, free):
    return {
        "results": lambda: Numbers(of_resolver(name).results),
        f"sensitivity/{result}": lambda: keep(
            of_resolver(name).sensitivity(result, inputs=[free]), kept.of_sensitivity),
        f"explain/{result}": lambda: keep(of_resolver(name).explain(result), kept.of_explanation),
    }


def asked(mode, name, line, said, instead, questions):
    """Every question of one subject."""
    other = line.replace(said, instead)
    for label, question in questions.items():
        # The default binds the question of this turn.
        yield Ask(f"question/{mode}/{name}/{label}", lambda question=question: question(line, other))


def asks():
    modes = {"serve": (SERVE, ABOUT_SERVE), "train": (TRAIN, ABOUT_TRAIN), "infer": (INFER, ABOUT_INFER)}
    for mode, (subjects, questions) in modes.items():
        for name, (line, said, instead) in subjects.items():
            yield from asked(mode, name, line, said, instead, questions)
    for name, (line, said, instead, *how) in PLAIN.items():
        yield from asked("plain", name, line, said, instead, about_plain(*how))
    for name, *how in RESOLVERS:
        for label, ask in about_resolver(name, *how).items():
            yield Ask(f"question/{name}/{label}", ask)
