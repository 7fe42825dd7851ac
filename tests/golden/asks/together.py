"""Many answers at once: rows of Engine.sweep, and pipelines, whose stages hand results to each other."""

import mlsysim
from mlsysim import Q_, Engine, Hardware, Models, Pipeline, Systems

from recording import Numbers

from .lines import Ask

# name -> (model, devices, precisions)
SWEEPS = {
    "decoder": ("Llama3_8B", ("A100", "H100", "T4", "MI300X"), ("fp16", "fp8", "int8")),
    "images": ("ResNet50", ("A100", "JetsonAGXOrin", "TPUv5e"), ("fp16", "bf16", "int8")),
}
# name -> (stages, what is given to all of them)
PIPELINES = {
    "training": (
        ("DistributedModel", "EconomicsModel", "SustainabilityModel"),
        {"model": "Llama3_8B", "fleet": "Research_256", "batch_size": 512, "zero_stage": 3,
         "duration_days": 30}),
    "serving": (
        ("ServingModel", "TailLatencyModel"),
        {"model": "Llama3_8B", "hardware": "H100", "seq_len": 1024, "output_tokens": 128,
         "arrival_rate": Q_("2 request/s"), "service_latency": Q_("1 s"), "num_replicas": 4}),
    "incomplete": (
        ("DistributedModel", "TailLatencyModel"), {"model": "Llama3_8B", "hardware": "H100"}),
}
OBJECTS = {"model": Models, "hardware": Hardware, "fleet": Systems.Clusters}
OF_CARDS = ("itl", "ttft", "latency", "token_throughput", "throughput", "memory_used", "mfu", "bottleneck")


def sweep(model, devices, precisions, fidelity):
    def ask():
        rows = Engine.sweep(Models[model], [Hardware[name] for name in devices], batch_sizes=(1, 16),
                            precisions=precisions, fidelity=fidelity)
        out = {}
        for row in rows:
            card = row["profile"]
            name = f"{row['hardware']},b{row['batch_size']},{row['precision']}"
            out[name] = {"skipped": row["skipped"]} if card is None else {
                key: level.metrics[key] for level in (card.feasibility, card.performance) for key in OF_CARDS
                if key in level.metrics}
        return Numbers(out)

    return ask


def pipeline(stages, given):
    def ask():
        objects = {key: OBJECTS[key][value] if key in OBJECTS else value for key, value in given.items()}
        found = Pipeline([getattr(mlsysim, name)() for name in stages]).run(**objects)
        return Numbers({name: found[name].dict() for name in found})

    return ask


def asks():
    for name, how in SWEEPS.items():
        for fidelity in ("operator", "textbook"):
            yield Ask(f"sweep/{name}/{fidelity}", sweep(*how, fidelity))
    for name, how in PIPELINES.items():
        yield Ask(f"pipeline/{name}", pipeline(*how))
