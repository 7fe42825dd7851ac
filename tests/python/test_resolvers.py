"""The shipped resolvers as Python classes."""

import copy
import inspect
import pickle

import pytest

import mlsysim
from mlsysim import BaseModel, DimensionError, DomainError, InputError, LookupError, Q_, Quantity, SolverResult
from mlsysim.core.results import PerformanceProfile
from mlsysim.core.solver import (
    DistributedModel, EconomicsModel, ServingModel, SingleNodeModel, SustainabilityModel, TrainingMemoryModel,
)


@pytest.fixture
def profile(llama, h100):
    return SingleNodeModel().solve(model=llama, hardware=h100)


def test_results_have_typed_attributes(profile):
    assert isinstance(profile, PerformanceProfile) and isinstance(profile, SolverResult)
    assert isinstance(profile.latency, Quantity) and profile.latency.units == "ms"
    assert isinstance(profile.feasible, bool) and profile.bottleneck == "memory"
    assert 0 < profile.mfu < 1
    # One decode step at batch 1 reads all weights once, at no more than the rate of the memory.
    assert profile.latency >= Q_("16 GB") / Q_("3.35 TB/s")


def test_nested_memory(profile):
    assert profile.memory.weights > Q_("14 GB") and profile.memory.capacity == Q_("80 GiB")
    parts = ("weights", "kv_cache", "activations", "gradients", "optimizer_states", "communication_buffers",
             "fragmentation", "reserve")
    total = sum(getattr(profile.memory, p) for p in parts)
    assert total.m_as("B") == pytest.approx(profile.memory.total.m_as("B"), rel=1e-12)
    assert profile.dict()["memory"]["total"] == profile.memory.total


def test_dicts(profile):
    assert list(profile.dict()) == list(profile.fields()) and profile.dict()["latency"] == profile.latency
    plain = profile.to_dict()
    assert plain["bottleneck"] == "memory" and Quantity(plain["latency"]) == profile.latency
    import json
    json.dumps(plain)


def test_arguments_by_every_name(llama, h100, profile):
    solve = SingleNodeModel().solve
    assert solve(workload=llama, hardware=h100) == profile == solve(llama, h100) == SingleNodeModel.solve(llama, hardware=h100)
    assert solve(model=llama, hardware=h100, batch_size=4) != profile
    assert solve(model=llama, hardware=h100, precision=None, efficiency=None) == profile


def test_textbook_fidelity_by_hand(llama, h100):
    result = SingleNodeModel().solve(model=llama, hardware=h100, precision="fp16", efficiency=0.5, fidelity="textbook")
    assert result.fidelity == "textbook"
    # Roofline by hand: weights over bandwidth, above the arithmetic.
    weights = llama.parameters.m_as("param") * 2
    assert result.latency_memory.m_as("s") >= weights / 3.35e12 * (1 - 1e-12)
    assert result.latency_compute.m_as("s") == pytest.approx(2 * llama.parameters.m_as("param") / (0.5 * 989.4e12), rel=0.05)


def test_mistakes_are_named(llama, h100):
    solve = SingleNodeModel().solve
    with pytest.raises(InputError, match="hardware"):
        solve(model=llama)
    with pytest.raises(InputError, match="batch_size"):
        solve(model=llama, hardware=h100, batchsize=3)
    with pytest.raises(InputError, match="workload"):
        solve(model=h100, hardware=h100)
    with pytest.raises(LookupError, match="fp16"):
        solve(model=llama, hardware=h100, precision="fp17")
    with pytest.raises(DomainError, match="batch_size"):
        solve(model=llama, hardware=h100, batch_size=0)
    with pytest.raises(InputError, match="twice"):
        solve(llama, model=llama, hardware=h100)
    with pytest.raises(InputError):
        solve(model=llama, hardware=h100, batch_size=True)
    with pytest.raises(DimensionError, match="GB/s"):
        ServingModel().solve(model=llama, hardware=h100, network_bandwidth=50)
    with pytest.raises(DimensionError):
        SingleNodeModel().solve(model=llama, hardware=h100, batch_size=Q_("3 s"))


def test_texts_with_units(llama, h100):
    solve = ServingModel().solve
    given = dict(model=llama, hardware=h100, decode_hardware=mlsysim.Hardware.A100)
    assert solve(**given, network_bandwidth="25 GB/s") == solve(**given, network_bandwidth=Q_("25 GB/s"))


def test_infeasible_is_a_value(llama):
    result = SingleNodeModel().solve(model=mlsysim.Models.Llama2_70B, hardware=mlsysim.Hardware.T4)
    assert result.feasible is False and result.memory.total > result.memory.capacity


def test_assumptions_name_their_source(profile):
    assumed = {name: (value, source) for name, value, source in profile.assumptions}
    assert assumed["seq_len"][0].startswith("2048") and assumed["seq_len"][1]
    assert "workload" not in assumed
    assert isinstance(profile.warnings, list)
    assert profile.inputs["hardware"] is mlsysim.Hardware.H100 and profile.inputs["batch_size"] == 1


def test_results_are_immutable(profile):
    with pytest.raises(AttributeError):
        profile.latency = 3
    with pytest.raises(AttributeError):
        profile.extra = 3
    with pytest.raises((TypeError, InputError)):
        PerformanceProfile(latency=3)


def test_results_copy_pickle_hash(profile, llama, h100):
    twin = pickle.loads(pickle.dumps(profile))
    assert twin == profile and hash(twin) == hash(profile) and twin.assumptions == profile.assumptions
    assert type(twin) is type(profile) and copy.deepcopy(profile) is profile
    memory = pickle.loads(pickle.dumps(profile.memory))
    assert memory == profile.memory


def test_shown(profile):
    assert repr(profile).startswith("PerformanceProfile(latency=")
    assert "latency_compute" in profile._repr_html_() and "memory.weights" in profile._repr_html_()


def test_classes_describe_themselves():
    assert issubclass(DistributedModel, BaseModel) and DistributedModel.resolver_type() == "model"
    assert set(DistributedModel.requires) == {"workload", "fleet"}
    assert DistributedModel.produces.__name__ == "DistributedResult" and 14 in DistributedModel.walls
    schema = DistributedModel.schema()
    assert schema["inputs"][0]["name"] == "workload" and any(r["unit"] == "ms" for r in schema["outputs"])
    assert DistributedModel.fallacies() and "Parameters" in DistributedModel.__doc__
    parameters = inspect.signature(SingleNodeModel.solve).parameters
    assert list(parameters)[:2] == ["workload", "hardware"] and parameters["batch_size"].default == 1
    assert SingleNodeModel.law and SingleNodeModel.source


def test_the_others(llama, h100):
    fleet = mlsysim.Systems.Clusters.Frontier_8K
    step = DistributedModel().solve(model=llama, fleet=fleet, batch_size=8192)
    assert step.accelerators == 8192 and step.step_latency > Q_("0 s")
    cost = EconomicsModel().solve(fleet=fleet, duration_days=30)
    assert cost.tco == pytest.approx(cost.capex + cost.total_opex) if isinstance(cost.tco, float) else True
    assert cost.tco.m_as("USD") == pytest.approx((cost.capex + cost.total_opex).m_as("USD"), rel=1e-12)
    green = SustainabilityModel().solve(fleet=fleet, duration_days=30, grid=mlsysim.Infrastructure.Grids.Quebec)
    dirty = SustainabilityModel().solve(fleet=fleet, duration_days=30, grid=mlsysim.Infrastructure.Grids.Poland)
    assert green.carbon_footprint < dirty.carbon_footprint and green.region_name == "Quebec"
    memory = TrainingMemoryModel().solve(model=llama, hardware=h100)
    assert memory.feasible is False
    serving = ServingModel().solve(model=llama, hardware=h100, seq_len=1024, batch_size=8)
    assert serving.feasible and serving.ttft > serving.itl


def test_help_states_the_ranges():
    text = mlsysim.ServingModel.__doc__
    assert "tp_size" in text and any("tp_size" in line and "whole, at least 1" in line for line in text.splitlines())
    assert any("efficiency" in line and "to 1" in line for line in text.splitlines())
