"""Every resolver of the catalogue by its class name, with quantities in and out."""

import shlex

import pytest

import mlsysim
from mlsysim import DomainError, LookupError, Q_
from mlsysim.core import solver

MODELS = [
    "NetworkRooflineModel", "EfficiencyModel", "ContinuousBatchingModel", "InFlightBatchingModel", "TailLatencyModel", "ServingCapacityModel", "DataModel",
    "TransformationModel", "TopologyModel", "ScalingModel", "ReliabilityModel", "OrchestrationModel", "CheckpointModel",
    "WeightStreamingModel", "InferenceScalingModel", "CompressionModel", "MoERoutingModel", "ResponsibleEngineeringModel",
]
OTHERS = ["SensitivitySolver", "SynthesisSolver", "ParallelismOptimizer", "BatchingOptimizer", "PlacementOptimizer"]


@pytest.mark.parametrize("name", MODELS + OTHERS)
def test_classes_have_names_walls_and_texts(name):
    cls = getattr(solver, name)
    assert getattr(mlsysim, name, cls) is cls
    schema = cls.schema()
    assert schema["resolver"] == name and schema["walls"]
    assert cls.fallacies()


def test_tail_latency():
    r = solver.TailLatencyModel().solve(arrival_rate=Q_("80 request/s"), service_latency=Q_("10 ms"), fidelity="textbook")
    assert r.p99_latency.m_as("ms") == pytest.approx(229.101, rel=1e-5) and r.is_stable
    full = solver.TailLatencyModel().solve(arrival_rate=Q_("150 request/s"), service_latency=Q_("10 ms"))
    assert not full.is_stable and full.p99_latency is None and full.stable_replicas == 2


def test_in_flight_batching():
    request = dict(workload=mlsysim.Models.Llama3_8B, hardware=mlsysim.Hardware.H100, seq_len=1024, output_tokens=256, precision="bf16", engine="vllm")
    one = solver.InFlightBatchingModel().solve(arrival_rate=Q_("4 request/s"), target_ttft=Q_("200 ms"), **request)
    assert one.is_stable and one.p50_ttft < one.p99_ttft and one.goodput <= one.request_throughput
    loop = solver.InFlightBatchingModel().solve(concurrency=one.running_requests + 1, **request)
    assert loop.itl.m_as("ms") == pytest.approx(one.itl.m_as("ms"), rel=0.05)
    queue = solver.InFlightBatchingModel().solve(**request)
    assert queue.ttft is None and queue.token_throughput > loop.token_throughput
    with pytest.raises(DomainError, match="not both"):
        solver.InFlightBatchingModel().solve(arrival_rate=Q_("4 request/s"), concurrency=4, **request)


def test_names_stand_for_entries():
    given = solver.InFlightBatchingModel().solve(workload="Llama3_8B", hardware="H100", engine=mlsysim.Technology.Engines.sglang, concurrency=8)
    named = solver.InFlightBatchingModel().solve(workload="Llama3_8B", hardware="H100", engine="sglang", concurrency=8)
    other = solver.InFlightBatchingModel().solve(workload="Llama3_8B", hardware="H100", engine="vllm", concurrency=8)
    assert given.itl == named.itl != other.itl
    with pytest.raises(LookupError, match="sglang"):
        solver.InFlightBatchingModel().solve(workload="Llama3_8B", hardware="H100", engine="sglnag", concurrency=8)


def test_scaling():
    r = solver.ScalingModel().solve(compute_budget=Q_("1.2e20 FLOP"), fidelity="textbook")
    assert r.optimal_parameters.m_as("param") == pytest.approx(1e9, rel=1e-9)


def test_reliability_of_a_fleet():
    r = solver.ReliabilityModel().solve(fleet=mlsysim.Systems.Clusters.Frontier_8K, job_duration=Q_("100 h"), spare_nodes=4)
    assert 0 < r.goodput_ratio < 1 and 0 < r.spare_coverage <= 1


def test_compression_and_synthesis(llama, h100):
    r = solver.CompressionModel().solve(workload=llama, hardware=h100, target_bitwidth=4, baseline_precision="fp16", fidelity="textbook")
    assert r.compression_ratio == pytest.approx(4)
    machine = solver.SynthesisSolver().solve(workload=llama, target_latency=Q_("10 ms"), efficiency=0.5, fidelity="textbook")
    assert machine.required_bw.m_as("GB/s") == pytest.approx(2 * llama.parameters.m_as("param") / 1e7, rel=1e-9)


def test_optimizers_report_what_they_searched():
    r = solver.PlacementOptimizer().solve(fleet=mlsysim.Systems.Clusters.Research_256, duration_days=30, fidelity="textbook")
    # A grid has no PUE of its own: 1.12, the convention, where the Python package takes 1.06 in Quebec and finds 258658.
    assert r.best_region == "Quebec" and r.total_cost.m_as("USD") == pytest.approx(259602, rel=1e-5)
    assert r.search.total_searched == 3


def test_wrong_arguments(llama, h100):
    with pytest.raises(DomainError):
        solver.TailLatencyModel().solve(arrival_rate=Q_("0 request/s"), service_latency=Q_("10 ms"))
    with pytest.raises((mlsysim.DimensionError, DomainError, TypeError)):
        solver.TailLatencyModel().solve(arrival_rate=Q_("10 GB/s"), service_latency=Q_("10 ms"))
    with pytest.raises((LookupError, mlsysim.InputError)):
        solver.CompressionModel().solve(workload=llama, hardware=h100, method="shrinking")
