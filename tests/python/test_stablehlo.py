"""The reader of StableHLO text against jaxlib's own parser, on the samples and on programs that JAX lowers here.

Skipped where jax is missing (pip install jax); scripts/setup does not install it.
"""

from pathlib import Path

import pytest

import mlsysim

jax = pytest.importorskip("jax", reason="jax is not installed: the StableHLO reader is not compared with jaxlib's parser")
import jax.numpy as jnp  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402
from jax._src.interpreters import mlir as jax_mlir  # noqa: E402: has a context with every dialect that JAX prints
from jaxlib.mlir.dialects import stablehlo  # noqa: E402

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "programs" / "stablehlo"


def integers(attribute):
    return [int(i) for i in attribute]


def extent(shape, axes):
    n = 1
    for a in axes:
        n *= shape[a]
    return n


class Count:
    """Multiply-adds by jaxlib's parse: calls by the call graph, loops by the trip counts that are handed in."""

    def __init__(self, text, trips=()):
        self.macs = self.products = self.convolutions = 0
        self.trips = list(trips)
        with jax_mlir.make_ir_context() as context:
            context.allow_unregistered_dialects = True
            module = ir.Module.parse(text)
            self.functions = {}
            for op in module.body.operations:
                if op.operation.name == "func.func":
                    self.functions[ir.StringAttr(op.attributes["sym_name"]).value] = op
            entry = self.functions.get("main") or next(iter(self.functions.values()))
            self.block(entry.regions[0].blocks[0], 1)

    def block(self, block, times):
        for op in block.operations:
            op = op.operation
            if op.name in ("func.call", "call"):
                name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
                self.block(self.functions[name].regions[0].blocks[0], times)
            elif op.name == "stablehlo.while":
                trips = self.trips.pop(0)
                self.block(op.regions[0].blocks[0], times * (trips + 1))
                self.block(op.regions[1].blocks[0], times * trips)
            elif op.name in ("stablehlo.dot_general", "stablehlo.dot"):
                left, right = (ir.RankedTensorType(v.type).shape for v in op.operands)
                out = ir.RankedTensorType(op.results[0].type).shape
                if op.name == "stablehlo.dot":
                    depth = left[-1]
                else:
                    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
                    depth = extent(left, numbers.lhs_contracting_dimensions)
                    assert depth == extent(right, numbers.rhs_contracting_dimensions)
                self.macs += times * depth * extent(out, range(len(out)))
                self.products += times
            elif op.name == "stablehlo.convolution":
                kernel = ir.RankedTensorType(op.operands[1].type).shape
                out = ir.RankedTensorType(op.results[0].type).shape
                numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
                terms = extent(kernel, range(len(kernel))) // kernel[numbers.kernel_output_feature_dimension]
                self.macs += times * terms * extent(out, range(len(out)))
                self.convolutions += times
            else:
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner, times)


def compare(text, trips=(), **options):
    program = mlsysim.read_program("lowered.mlir", text=text, **options)
    assert program.open == []
    theirs = Count(text, trips)
    ours = program.totals
    assert (ours["macs"], ours["products"], ours["convolutions"]) == (theirs.macs, theirs.products, theirs.convolutions)
    assert theirs.macs > 0
    return program


@pytest.mark.parametrize("name", ["mnist_mlp", "fullyconnected"])
def test_samples(name):
    text = (SAMPLES / f"{name}.mlir").read_text()
    # util.global has a syntax of its own, which the parser does not know.
    if "util.global" in text:
        pytest.skip(f"{name} holds operators of a dialect that jaxlib cannot parse")
    compare(text)


def layer(params, x):
    def norm(v):
        return v * jax.lax.rsqrt(jnp.mean(v * v, axis=-1, keepdims=True) + 1e-6)

    b, t, d = x.shape
    heads = 4
    q, k, v = jnp.split(norm(x) @ params["qkv"], 3, axis=-1)
    q, k, v = (a.reshape(b, t, heads, d // heads) for a in (q, k, v))
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / 8.0
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
    mixed = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), v).reshape(b, t, d)
    x = x + mixed @ params["out"]
    return x + jax.nn.gelu(norm(x) @ params["up"]) @ params["down"]


def parameters(d=32):
    return {"qkv": jnp.ones((d, 3 * d)), "out": jnp.ones((d, d)), "up": jnp.ones((d, 4 * d)), "down": jnp.ones((4 * d, d))}


def test_transformer_layer_and_its_gradient():
    x = jnp.ones((2, 16, 32))
    forward = compare(jax.jit(layer).lower(parameters(), x).as_text())
    assert forward.totals["macs"] == 2 * 16 * (32 * 96 + 32 * 32 + 2 * 32 * 128 + 2 * 16 * 32)
    step = jax.jit(jax.grad(lambda p, x: layer(p, x).sum()))
    backward = compare(step.lower(parameters(), x).as_text())
    assert 1.9 < backward.totals["macs"] / forward.totals["macs"] <= 3


def test_convolutional_net():
    def net(kernels, x):
        for k, stride in zip(kernels, (2, 1)):
            x = jax.lax.conv_general_dilated(x, k, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu(x)
        x = jax.lax.conv_general_dilated(
            x, jnp.ones((3, 3, 1, 16)), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=16)
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()

    kernels = [jnp.ones((3, 3, 3, 8)), jnp.ones((3, 3, 8, 16))]
    compare(jax.jit(net).lower(kernels, jnp.ones((2, 16, 16, 3))).as_text())
    compare(jax.jit(jax.grad(net)).lower(kernels, jnp.ones((2, 16, 16, 3))).as_text())


def test_scan_over_layers():
    stacked = jax.tree.map(lambda a: jnp.stack([a] * 6), parameters())

    def model(stacked, x):
        return jax.lax.scan(lambda x, p: (layer(p, x), None), x, stacked)[0]

    x = jnp.ones((1, 8, 32))
    program = compare(jax.jit(model).lower(stacked, x).as_text(), trips=[6])
    one = compare(jax.jit(layer).lower(parameters(), x).as_text())
    assert program.totals["macs"] == 6 * one.totals["macs"]


def test_while_loop_that_depends_on_data():
    def iterate(a, x):
        return jax.lax.while_loop(lambda s: jnp.linalg.norm(s) > 1.0, lambda s: a @ s * 0.5, x)

    text = jax.jit(iterate).lower(jnp.ones((8, 8)), jnp.ones((8, 8))).as_text()
    program = mlsysim.read_program("loop.mlir", text=text)
    assert program.open == ["while.0"]
    compare(text, trips=[7], trip_counts={"while.0": 7})
    with pytest.raises(mlsysim.errors.InputError, match="while.0"):
        program.workload()


def test_module_paths_come_from_locations():
    def model(p, x):
        with jax.named_scope("encoder"):
            return layer(p, x)

    text = jax.jit(model).lower(parameters(), jnp.ones((1, 8, 32))).as_text(debug_info=True)
    program = mlsysim.read_program("located.mlir", text=text)
    assert any(op.path.startswith("encoder") for op in program.operators if op.kind == "product")


def test_portable_artifacts_are_read_through_jaxlib(tmp_path):
    text = jax.jit(layer).lower(parameters(), jnp.ones((1, 8, 32))).as_text()
    with jax_mlir.make_ir_context():
        data = stablehlo.serialize_portable_artifact_str(text, stablehlo.get_minimum_version())
    path = tmp_path / "layer.mlir.bc"
    path.write_bytes(data)
    assert mlsysim.read_program(path).totals["macs"] == compare(text).totals["macs"]


def test_a_training_step_is_priced():
    def step(p, x):
        loss, grads = jax.value_and_grad(lambda p: (layer(p, x) ** 2).mean())(p)
        return jax.tree.map(lambda a, g: a - 0.1 * g, p, grads), loss

    text = jax.jit(step).lower(parameters(), jnp.ones((2, 16, 32))).as_text()
    program = mlsysim.read_program("step.mlir", text=text)
    card = mlsysim.SystemEvaluator.evaluate("step", program.workload(), mlsysim.Hardware.Cloud.H100, 1, "fp32")
    assert card.performance.status == "PASS"
