"""Programs as models, from Python."""

from pathlib import Path

import pytest

import mlsysim

PROGRAMS = Path(__file__).resolve().parents[1] / "data" / "programs"


def test_a_program_is_read_and_is_a_model():
    program = mlsysim.read_program(PROGRAMS / "onnx" / "light_resnet50.onnx")
    assert program.format == "ONNX" and program.version == "opset 9, ir 3" and program.open == []
    assert program.totals["macs"] == 4_089_184_256
    assert sum(op.macs for op in program.operators) == program.totals["macs"]
    card = mlsysim.SystemEvaluator.evaluate("vision", program.workload(), mlsysim.Hardware.Cloud.H100, 8, "fp32")
    assert card.performance.status == "PASS"
    by_path = mlsysim.import_model(PROGRAMS / "onnx" / "light_resnet50.onnx")
    assert by_path.operators == program.workload().operators


def test_sizes_are_bound_by_name_or_in_the_path():
    text = """func.func @main(%a: tensor<?x16xf32>, %w: tensor<16x8xf32>) -> tensor<?x8xf32> {
      %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<?x16xf32>, tensor<16x8xf32>) -> tensor<?x8xf32>
      return %0 : tensor<?x8xf32> }"""
    program = mlsysim.read_program("open.mlir", text=text)
    assert program.open == ["arg0.0"]
    with pytest.raises(mlsysim.errors.InputError, match="arg0.0"):
        program.workload()
    bound = mlsysim.read_program("open.mlir", text=text, dims={"arg0.0": 4}, weights=["arg1"])
    assert bound.totals["macs"] == 4 * 16 * 8
    assert bound.totals["weights"] == 128
    assert bound.operators[0].operands == [("f32", [4, 16]), ("f32", [16, 8])]


def test_graphs_and_notes():
    program = mlsysim.read_program(PROGRAMS / "mhlo" / "bert_tiny_forward_generic_form.mlir")
    assert program.unknown == {}
    assert program.graph().startswith("flowchart")
    assert program.graph("dot").startswith("digraph")
    with pytest.raises(ValueError, match="mermaid or dot"):
        program.graph("svg")


def test_a_future_version_says_what_to_ask_for():
    with pytest.raises(mlsysim.errors.InputError, match="ask the producer"):
        mlsysim.read_program(PROGRAMS / "portable" / "invalid_future_version.mlir.bc", text=(
            PROGRAMS / "portable" / "invalid_future_version.mlir.bc").read_bytes())
