"""Passes and training steps of software that does not fuse its kernels, a second time: launch lists of the zoo,
kernel by kernel.

    python3 tests/reference/software.py

Each lowered operator becomes the rows of its runtime's list; kernels are summed on the device, launches, framework operators and
module calls on the host, and the pass takes the longer of the two. A training step does so for its forward and for
its backward pass. Exit status: 0 where the library agrees to 1e-9, else 1.
"""

import sys
from types import SimpleNamespace

import experts
import launches
import mlsysim
import model
import operators
import passes
import training
from kernels import Arrays, Runtime, allocations, conditions, key_of, own_kernel, read_and_written, rows_of, small_kernel, stated, vanishes
from device import device_view, fleet_of, links_view
from plan import serving_plan, training_plan
from zoo import entry, under


def pass_time(name, hardware_name, precision, phase, batch, new, context, runtime_name, eager, bits=16):
    h, plan, hardware = model.model_view(entry("model", name)), serving_plan(precision), entry("hardware", hardware_name)
    plan.phase, plan.batch, plan.new_tokens, plan.context = phase, batch, new, context
    plan.weight_bytes, plan.widened = bits / 8, bits < 16
    engine = entry("engine", runtime_name)
    launches.set_operators(plan, engine)
    device, links = device_view(under(hardware, engine), precision, phase), links_view(fleet_of(hardware), phase)
    launches.set_runtime(device, hardware, engine, precision)
    experts.set_products(device, hardware, engine, precision)
    ops, layers = operators.forward(h, plan), passes.layers_of(h)
    runtime, arrays = device.runtime, Arrays(ops, h, plan)
    holds = conditions(h, ops, phase == "decode")
    sums = SimpleNamespace(device=0.0, kernels=0.0, operators=0.0, modules=0.0, host=0.0)
    def count(times, kernels, row):
        sums.kernels += times * kernels
        sums.operators += times * row.get("operators", 1)
        sums.modules += times * row.get("modules", 0)

    for op in ops:
        times = op.share * (layers if op.place == "block" else 1)
        if op.kind == "collective" or not times or vanishes(op, holds):
            continue
        for row in rows_of(runtime_name, key_of(op, runtime)) or [{"kernel": "own"}]:
            if not holds[row.get("when", "always")]:
                continue
            many = row.get("times", 1) * times
            if row["kernel"] == "own":
                time, _, parts = own_kernel(op, times, arrays, runtime, device, links)
                sums.device += time * times
                split_keys = op.kind == "attention" and phase == "decode"
                count(times, parts + split_keys, {**row, "operators": parts * row.get("operators", 1)})
            elif row["kernel"] == "allocation":
                sums.host += many * runtime.host["allocation"] * allocations(op, arrays)
            else:
                sums.device += many * small_kernel(row, op, arrays, runtime, device)[0]
                count(many, 1, row)
    if not eager:
        return sums.device + device.dispatch
    launch = runtime.host["gap"] or runtime.host["launch"]
    host = sums.host + sums.kernels * launch + sums.operators * runtime.host["operation"] + sums.modules * runtime.host["module"]
    gaps = sums.kernels * (runtime.family("gap") + runtime.host["gap"])
    return max(sums.device + gaps, host) + device.dispatch + runtime.host["step"]


def step_of(name, hardware_name, batch, seq, runtime_name, recomputation):
    """Time of a training step in pure bf16, and the share of it in which the device draws its full power."""
    h, plan, hardware = model.model_view(entry("model", name)), training_plan("bf16", "adamw"), entry("hardware", hardware_name)
    plan.state_bytes = plan.matrix_state_bytes = 4
    plan.batch, plan.new_tokens, plan.context, plan.recomputation = batch, seq, seq, recomputation
    runtime = Runtime(runtime_name, hardware)
    plan.early_stop = runtime.early_stop
    device, links = device_view(under(hardware, entry("engine", runtime_name)), "bf16", "training"), links_view(fleet_of(hardware), "training")
    ops, layers = training.operators_of_step(h, plan)[0], passes.layers_of(h)
    arrays, holds, host = Arrays(ops, h, plan), conditions(h, ops, False), runtime.host
    names = ("forward", "backward", "update")
    sums = {one: SimpleNamespace(device=0.0, host=0.0) for one in names}
    work = traffic = resident = 0.0
    for op in ops:
        times = op.share * (layers if op.place == "block" else 1)
        if op.kind == "collective" or not times:
            continue
        derives = op.run in ("backward", "weight_gradient")
        here = sums[op.run if op.run in ("forward", "update") else "backward"]
        operator = host["backward_operation"] if derives else host["operation"] + host["record"]
        key = key_of(op, runtime)
        rows = rows_of(runtime_name, key, "backward" if derives else "forward")
        if recomputation == "full" and op.place == "block" and op.run in ("forward", "backward"):
            # Each tensor that a block saves is handled once forward, and twice backward: made again and used.
            saved = sum(r.get("saved", 0) for r in rows_of(runtime_name, key) if holds[r.get("when", "always")])
            parts = op.merged_matrices if op.kind == "matmul" and not runtime.joined else 1
            here.host += times * parts * saved * host["hook"] * (2 if derives else 1)
        for row in rows if rows and op.run != "update" else [{"kernel": "own"}]:
            own = row["kernel"] == "own"
            if not holds[row.get("when", "always")] or (op.run == "weight_gradient" and not own):
                continue
            many = times * row.get("times", 1)
            if row["kernel"] == "allocation":
                here.host += many * allocations(op, arrays) * host["allocation"]
                continue
            if own:
                time, running, parts = own_kernel(op, times, arrays, runtime, device, links)
                work, traffic = work + times * op.work, traffic + times * op.traffic
                kernels = parts * times
            else:
                (time, running), kernels = small_kernel(row, op, arrays, runtime, device), many
                traffic += many * sum(read_and_written(row, op, arrays))
            here.device += many * time + kernels * runtime.family("gap")
            resident += many * running
            here.host += kernels * (host["launch"] + row.get("operators", 1) * operator)
            here.host += many * row.get("modules", 0) * host["module"]
    both = max(sums["forward"].device, sums["forward"].host) + max(sums["backward"].device, sums["backward"].host)
    total = both + device.dispatch + sums["update"].device
    loaded = device.work_draw * work / device.matrix_rate + device.traffic_draw * traffic / device.memory_bandwidth
    return total, min(1.0, (loaded + device.resident_draw * resident) / total)


COMPILER = "pytorch_compiled"


def calls_of(name, runtime_name, batch, context, decode):
    """Calls that a tracer captures: those of the rows of each operator, once for each matrix of a product."""
    h, plan, hardware = model.model_view(entry("model", name)), serving_plan("bf16"), entry("hardware", "H100")
    plan.phase, plan.batch = "decode" if decode else "prefill", batch
    plan.new_tokens, plan.context = 1 if decode else context, context
    ops, layers, runtime = operators.forward(h, plan), passes.layers_of(h), Runtime(runtime_name, hardware)
    holds, calls = conditions(h, ops, decode), 0.0
    for op in ops:
        times = op.share * (layers if op.place == "block" else 1)
        if op.kind == "collective" or not times or vanishes(op, holds):
            continue
        for row in rows_of(runtime_name, key_of(op, runtime)) or [{"kernel": "own"}]:
            if not holds[row.get("when", "always")] or row["kernel"] == "allocation":
                continue
            matrices = op.merged_matrices if op.kind == "matmul" and not runtime.joined else 1
            many = matrices if row["kernel"] == "own" else row.get("times", 1)
            calls += times * many * row.get("calls", row.get("operators", 1))
    return calls


def compile_time(calls, graphs, cached, first):
    """Each call is traced; what no cache holds is lowered, call by call and graph by graph."""
    of = {key: stated("engine", COMPILER, f"compile.{key}", 0.0) for key in ("process", "graph", "trace", "lower", "warm_graph")}
    cold = graphs * of["graph"] + calls * of["lower"]
    return first * of["process"] + calls * of["trace"] + (1 - cached) * cold + cached * graphs * of["warm_graph"]


def cases():
    for runtime, eager in (("pytorch_eager", True), ("pytorch_graph", False), ("transformers", True), ("transformers_static", True)):
        for name in ("Llama3_8B", "Qwen3_8B", "Llama2_7B"):
            for hardware in ("H100", "A100"):
                for batch, context in ((1, 2048), (16, 512), (64, 1024)):
                    yield name, hardware, "bf16", 16, runtime, eager, batch, context
    for runtime, eager in (("llama_cpp", False), ("llama_cpp@b2800", True)):
        for hardware in ("A100", "RTX4090"):
            for bits, batch, context in ((16, 1, 2048), (4.85, 1, 512), (4.85, 16, 1024)):
                yield "Llama3_8B", hardware, "fp16", bits, runtime, eager, batch, context


def fleet_alone(name):
    """One device of the node in which it ships."""
    node = mlsysim.Systems.Nodes[f"DGX_{name}"].replace(accelerators_per_node=1, nics_per_node=1)
    return mlsysim.Fleet(name="one", node=node, count=1, fabric=mlsysim.NetworkFabric(name="fabric"))


def main():
    wrong = compared = 0
    for name, hardware, precision, bits, runtime, eager, batch, context in cases():
        told = mlsysim.ServingModel.solve(
            workload=name, hardware=hardware, precision=precision, engine=runtime, batch_size=batch, seq_len=context,
            prefill_chunk_tokens=batch * context, **({} if bits == 16 else {"weight_bits": bits}),
        )
        decode = pass_time(name, hardware, precision, "decode", batch, 1, context, runtime, eager, bits)
        prompt = pass_time(name, hardware, precision, "prefill", batch, context, context, runtime, eager, bits)
        for what, mine, theirs in (("itl", decode, told.itl.m_as("s")), ("ttft", prompt, told.ttft.m_as("s"))):
            compared += 1
            if abs(mine - theirs) > 1e-9 * mine:
                wrong += 1
                print(f"{name} on {hardware}, {runtime}, {batch} x {context}, {what}: reference {mine:.9g} s, library {theirs:.9g} s")
    for name, batch, recomputation in (("Llama3_2_1B", 1, "full"), ("Llama3_2_1B", 8, "none"), ("Llama2_7B", 2, "full")):
        for runtime in ("transformers", "pytorch_eager"):
            told = mlsysim.DistributedModel.solve(
                workload=name, fleet=fleet_alone("H100"), precision="bf16", engine=runtime, batch_size=batch, seq_len=2048,
                microbatch_size=batch, recomputation=recomputation, optimizer="adamw", sequence_parallel=False,
                states="parameter=bf16,gradient=bf16,moment=bf16,master=none",
            )
            time, load = step_of(name, "H100", batch, 2048, runtime, recomputation)
            for what, mine, theirs in (("step", time, told.step_latency.m_as("s")), ("load", load, told.utilization)):
                compared += 1
                if abs(mine - theirs) > 1e-9 * mine:
                    wrong += 1
                    print(f"{name}, {runtime}, {batch}, {recomputation}, {what}: reference {mine:.9g}, library {theirs:.9g}")
    for runtime, step, breaks, cached, first in (
        ("pytorch_eager", "decode", 0, 0, True),
        ("transformers_static", "decode", 2, 0.25, False),
        ("transformers", "prompt", 0, 1, True),
    ):
        told = mlsysim.CompilationModel.solve(
            workload="Llama3_8B", hardware="H100", precision="bf16", engine=runtime, batch_size=2, seq_len=1024, step=step,
            breaks=breaks, cached=cached, first=first,
        )
        mine = compile_time(calls_of("Llama3_8B", runtime, 2, 1024, step == "decode"), breaks + 1, cached, first)
        compared += 1
        if abs(mine - told.compile_time.m_as("s")) > 1e-9 * mine:
            wrong += 1
            print(f"compiling {step} of {runtime}: reference {mine:.9g} s, library {told.compile_time.m_as('s'):.9g} s")
    print(f"{compared - wrong} of {compared} passes, steps and compilations agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
