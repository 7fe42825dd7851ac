"""Every entry of the zoo once: a small question for each device, model, node, fabric and cluster."""

from mlsysim import Hardware, Models, Systems

from .lines import lines
from .scenarios import evaluation

# (largest model in Gparam, where it is served or runs, where it trains): about what one would take.
SIZES = (
    (3, "H100 b8", "H100 x8 b32 zero1"),
    (30, "H100 b8", "H100 x64 b128 zero3"),
    (200, "H200 x8 b16", "H200 x256 b512 tp8 zero3"),
    (float("inf"), "B300 x8 b16", "B300 x1024 b2048 tp8 zero3"),
)


def of_device(name, device):
    capacity = device.memory.capacity
    if capacity is None or capacity.m_as("GB") < 2:
        yield f"infer DS_CNN {name} b1 operator"
        yield f"infer DS_CNN {name} b2 textbook"
    else:
        yield f"serve SmolLM2_135M {name} b4 operator seq512 out64"
        yield f"infer ResNet18 {name} b2 textbook"
    if device.category == "cloud":
        yield f"train SmolLM2_360M {name} x8 b64 operator zero1"
        yield f"train Qwen3_1_7B {name} x4 b16 textbook zero2"


def of_model(name, model):
    size = model.parameters.m_as("Gparam")
    inference, training = next((i, t) for limit, i, t in SIZES if size <= limit)
    yield f"serve {name} {inference}"
    yield f"infer {name} {inference}"
    yield f"train {name} {training}"
    yield f"own {name} {inference} textbook"


def of_systems():
    for name in Systems.Nodes.names():
        yield f"train Llama3_2_3B 2x{name}@InfiniBand_NDR b64 operator zero3"
    for name in Systems.Fabrics.names():
        yield f"train Llama3_8B 8xDGX_H100@{name} bf16 b128 {{operator,textbook}} zero2"
    for name in Systems.Clusters.names():
        devices = Systems.Clusters[name].total_accelerators
        yield f"train Llama3_8B {name} bf16 b{devices} {{operator zero1,textbook zero1}}"


def asks():
    tour = []
    for name in Hardware.names():
        tour.extend(of_device(name, Hardware[name]))
    for name in Models.names():
        tour.extend(of_model(name, Models[name]))
    tour.extend(of_systems())
    for line in lines("\n".join(tour)):
        # What is assumed of an entry without a figure shows in the operators of one question each.
        of_devices = line.startswith(("serve SmolLM2", "infer DS_CNN"))
        yield evaluation(line, assumptions=of_devices and "operator" in line)
