"""Programs counted a second time: each is written down here as its operators, once as equations and once as the text
or file that the library reads.

    PYTHONPATH=build/ci/python python3 tests/reference/programs.py

A product of M x K by K x N takes M N K multiply-adds of two operations; a convolution the elements of its result times
those of its kernel for one group; other operators their operations for each value. Unfused, an operator reads every
operand and writes every result; fused, what stays within a kernel moves nothing. At any operator those values are alive
that were made and are read by it or later. Exit status: 0 where everything agrees, 1 else, 77 without the package.
"""

import math
import pathlib
import struct
import sys
import tempfile

F32 = 4  # bytes of a value


def size(shape):
    return math.prod(shape)


class Op:
    """One operator: what it reads and writes by name, its work, and the kernel that it belongs to."""

    def __init__(self, reads, writes, kernel, macs=0, ops=0, hard=0, times=1):
        self.reads, self.writes, self.kernel = reads, writes, kernel
        self.macs, self.ops, self.hard, self.times = macs, ops, hard, times


def count(shapes, weights, inputs, outputs, ops):
    """Sums over a program. @param shapes of all values by name"""
    bytes_of = {name: F32 * size(shape) for name, shape in shapes.items()}
    total = {"macs": 0, "flops": 0, "transcendentals": 0, "traffic": 0, "fused_traffic": 0}
    for op in ops:
        total["macs"] += op.times * op.macs
        total["flops"] += op.times * (2 * op.macs + op.ops)
        total["transcendentals"] += op.times * op.hard
        total["traffic"] += op.times * sum(bytes_of[v] for v in [*set(op.reads), *op.writes])
    for kernel in {op.kernel for op in ops}:
        inside = [op for op in ops if op.kernel == kernel]
        made = {v for op in inside for v in op.writes}
        read = {v for op in inside for v in op.reads} - made
        used = {v for op in ops if op.kernel != kernel for v in op.reads} | set(outputs)
        total["fused_traffic"] += inside[0].times * sum(bytes_of[v] for v in [*read, *(made & used)])
    alive, peak = set(inputs), 0
    for i, op in enumerate(ops):
        alive |= {v for v in op.writes if v not in weights}
        peak = max(peak, sum(bytes_of[v] for v in alive))
        later = {v for o in ops[i + 1 :] for v in o.reads} | set(outputs)
        touched = set(op.reads) | set(op.writes)
        alive -= {v for v in alive & touched if v not in later}
    total["peak_activations"] = peak
    total["weights"] = sum(size(shapes[v]) for v in weights)
    total["weight_bytes"] = F32 * total["weights"]
    total["kernels"] = sum(next(o.times for o in ops if o.kernel == k) for k in {o.kernel for o in ops})
    total["operators"] = sum(op.times for op in ops)
    return total


def tensor(shape):
    return "tensor<" + "".join(f"{n}x" for n in shape) + "f32>"


def perceptron(rows, width, hidden):
    """relu(x w1 + b) w2 as StableHLO."""
    shapes = {"x": (rows, width), "w1": (width, hidden), "b": (hidden,), "w2": (hidden, width), "h": (rows, hidden),
              "s": (rows, hidden), "a": (rows, hidden), "z": (rows, hidden), "r": (rows, hidden), "y": (rows, width)}
    t = {name: tensor(shape) for name, shape in shapes.items()}
    text = f"""func.func @main(%x: {t['x']}, %w1: {t['w1']}, %b: {t['b']}, %z: {t['z']}, %w2: {t['w2']}) -> {t['y']} {{
  %h = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : ({t['x']}, {t['w1']}) -> {t['h']}
  %s = stablehlo.broadcast_in_dim %b, dims = [1] : ({t['b']}) -> {t['s']}
  %a = stablehlo.add %h, %s : {t['a']}
  %r = stablehlo.maximum %a, %z : {t['r']}
  %y = stablehlo.dot_general %r, %w2, contracting_dims = [1] x [0] : ({t['r']}, {t['w2']}) -> {t['y']}
  return %y : {t['y']}
}}
"""
    ops = [Op(["x", "w1"], ["h"], 0, macs=rows * hidden * width), Op(["b"], ["s"], 0),
           Op(["h", "s"], ["a"], 0, ops=rows * hidden), Op(["a", "z"], ["r"], 0, ops=rows * hidden),
           Op(["r", "w2"], ["y"], 1, macs=rows * width * hidden)]
    return ".mlir", text.encode(), count(shapes, [], ["x", "w1", "b", "z", "w2"], ["y"], ops)


def attention(heads, tokens, width):
    """softmax(q k') v as StableHLO. The rows of scores are reduced twice, and each reduction is whole before it is read."""
    shapes = {"q": (heads, tokens, width), "k": (heads, tokens, width), "v": (heads, tokens, width),
              "s": (heads, tokens, tokens), "m": (heads, tokens), "mb": (heads, tokens, tokens),
              "d": (heads, tokens, tokens), "e": (heads, tokens, tokens), "n": (heads, tokens),
              "nb": (heads, tokens, tokens), "p": (heads, tokens, tokens), "y": (heads, tokens, width)}
    t = {name: tensor(shape) for name, shape in shapes.items()}
    text = f"""func.func @main(%q: {t['q']}, %k: {t['k']}, %v: {t['v']}) -> {t['y']} {{
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : ({t['q']}, {t['k']}) -> {t['s']}
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : ({t['s']}, tensor<f32>) -> {t['m']}
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : ({t['m']}) -> {t['mb']}
  %d = stablehlo.subtract %s, %mb : {t['d']}
  %e = stablehlo.exponential %d : {t['e']}
  %n = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : ({t['e']}, tensor<f32>) -> {t['n']}
  %nb = stablehlo.broadcast_in_dim %n, dims = [0, 1] : ({t['n']}) -> {t['nb']}
  %p = stablehlo.divide %e, %nb : {t['p']}
  %y = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ({t['p']}, {t['v']}) -> {t['y']}
  return %y : {t['y']}
}}
"""
    scores = heads * tokens * tokens
    ops = [Op(["q", "k"], ["s"], 0, macs=scores * width), Op(["s"], ["m"], 1, ops=scores), Op(["m"], ["mb"], 2),
           Op(["s", "mb"], ["d"], 2, ops=scores), Op(["d"], ["e"], 2, hard=scores), Op(["e"], ["n"], 2, ops=scores),
           Op(["n"], ["nb"], 3), Op(["e", "nb"], ["p"], 3, hard=scores), Op(["p", "v"], ["y"], 4, macs=scores * width)]
    return ".mlir", text.encode(), count(shapes, [], ["q", "k", "v"], ["y"], ops)


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def typed(name, shape):
    """ValueInfoProto of 32-bit floats."""
    dims = b"".join(data(1, number(1, n)) for n in shape)
    return data(1, name) + data(2, data(1, number(1, 1) + data(2, dims)))


def initializer(name, shape):
    return b"".join(number(1, n) for n in shape) + number(2, 1) + data(8, name) + data(9, struct.pack("<f", 0) * size(shape))


def ints(name, values):
    return data(1, name) + b"".join(number(8, v) for v in values) + number(20, 7)


def integer(name, value):
    return data(1, name) + number(3, value) + number(20, 2)


def node(kind, reads, writes, attributes=()):
    return b"".join([*(data(1, v) for v in reads), *(data(2, v) for v in writes), data(4, kind),
                     *(data(5, a) for a in attributes)])


def convolution(side, channels, out, kernel, groups):
    """relu(conv(x, w)) and a product on what is left, as an ONNX file."""
    rest = side - kernel + 1
    shapes = {"x": (1, channels, side, side), "w": (out, channels // groups, kernel, kernel),
              "c": (1, out, rest, rest), "r": (1, out, rest, rest), "f": (1, out * rest * rest),
              "m": (out * rest * rest, 10), "y": (1, 10)}
    graph = b"".join([
        data(1, node("Conv", ["x", "w"], ["c"], [ints("kernel_shape", [kernel, kernel]), integer("group", groups)])),
        data(1, node("Relu", ["c"], ["r"])), data(1, node("Flatten", ["r"], ["f"], [integer("axis", 1)])),
        data(1, node("MatMul", ["f", "m"], ["y"])), data(2, "net"), data(5, initializer("w", shapes["w"])),
        data(5, initializer("m", shapes["m"])), data(11, typed("x", shapes["x"])), data(12, typed("y", shapes["y"]))])
    model = number(1, 8) + data(7, graph) + data(8, data(1, "") + number(2, 17))
    ops = [Op(["x", "w"], ["c"], 0, macs=size(shapes["c"]) * channels // groups * kernel * kernel),
           Op(["c"], ["r"], 0, ops=size(shapes["r"])), Op(["r", "m"], ["y"], 1, macs=size(shapes["m"]))]
    return ".onnx", model, count(shapes, ["w", "m"], ["x"], ["y"], ops)


CASES = {
    "perceptron": perceptron(4, 8, 16),
    "perceptron, wide": perceptron(128, 1024, 4096),
    "attention": attention(2, 8, 4),
    "attention, long": attention(16, 512, 64),
    "convolution": convolution(8, 4, 6, 3, 1),
    "convolution in groups": convolution(14, 8, 16, 5, 4),
}


def main():
    try:
        import mlsysim
    except ImportError:
        print("mlsysim is not there: PYTHONPATH=build/ci/python")
        return 77
    wrong = compared = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (ending, contents, ours) in CASES.items():
            path = pathlib.Path(folder) / ("program" + ending)
            path.write_bytes(contents)
            theirs = mlsysim.read_program(path).totals
            for key, value in ours.items():
                compared += 1
                if theirs[key] != value:
                    wrong += 1
                    print(f"{name}: {key} is {theirs[key]:.0f} there, {value} here")
    print(f"{compared - wrong} of {compared} numbers agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
