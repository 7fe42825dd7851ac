"""What an engine takes in one pass, and which of its passes are captured graphs."""

import kernels
from zoo import entry, figure, get, of


def step_of(hardware, engine):
    """What the engine chooses by the memory of a device; nothing where that is not known."""
    for step in (engine or {}).get("memory", {}).get("steps", []):
        if "below" not in step or of(hardware, "memory.capacity") < step["below"]:
            return step
    return {}


def pass_tokens(hardware, engine, asked=None):
    """Tokens of the largest pass of prompts: asked, or those for which the engine prepares, or the convention."""
    return asked or step_of(hardware, engine).get("pass_tokens") or figure("catalogue.serving.chunk_tokens")


def engine_of(s):
    return entry("engine", s.engine) if s.engine else None


def set_runtime(device, hardware, engine, precision):
    """Kernels of a runtime that does not fuse them, and its sums in fp16 where the device has a rate for those."""
    name = engine and engine["name"]
    if name and kernels.stated("engine", name, "form", "fused") == "unfused":
        device.runtime = kernels.Runtime(name, hardware)
    sums = name and precision == "fp16" and kernels.stated("engine", name, "fp16_sums", False)
    if sums and (rate := get(hardware, "compute.dense_fp16_accumulate.fp16")):
        device.cache_ratio *= 1 if device.cache_ratio == 1 else device.matrix_rate / rate
        device.matrix_rate = rate


def set_operators(plan, engine):
    """What a runtime makes of the operators of a served model."""
    plan.host_rows = (engine or {}).get("host_rows", 0)
    name = engine and engine["name"]
    if not name or kernels.stated("engine", name, "form", "fused") != "unfused":
        return
    plan.kernel = kernels.stated("engine", name, "attention", "fused")
    rows = kernels.stated("engine", name, "unpack_rows", None)
    plan.unpack_rows = rows if plan.widened else None


def set_launches(device, hardware, engine, execution, tp):
    """How long the host needs to launch a kernel of a prompt and of a step; of a captured graph none. Steps of up
    to `graph_batch` requests of a rank are captured."""
    eager = of(hardware, "kernels.issue")
    name = engine and engine["name"]
    if name and eager and execution == "eager" and (launch := kernels.stated("engine", name, "host.launch", None)) is not None:
        called = kernels.stated("engine", name, "form", "fused") != "unfused"  # one call of Python for each operator
        eager = launch + (kernels.stated("engine", name, "host.operation", 0.0) if called else 0.0)
    own = (engine or {}).get("prefill_issue")
    device.prompt_issue = own if own is not None else eager if execution == "eager" else 0.0
    device.prompt_layer = (engine or {}).get("prompt_layer", 0.0)
    step = step_of(hardware, engine)
    captured = (step.get("graph_batch4") if tp >= 4 else None) or step.get("graph_batch")
    if execution == "eager":
        device.graph_batch = 0
    else:
        device.graph_batch = float("inf") if execution == "graph" or captured is None else captured
    device.step_issue = eager


def issue_of_step(device, requests):
    return device.step_issue if requests > device.graph_batch else 0.0
