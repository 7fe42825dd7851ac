"""Devices, systems and models made by hand."""

import copy
import gc
import pickle

import pytest
from conftest import make_device, make_fleet

from mlsysim import DimensionError, DomainError, InputError, LookupError, Q_, Workload
from mlsysim.hardware.types import ComputeCore, HardwareNode, IOInterconnect, MemoryHierarchy, StorageHierarchy
from mlsysim.infrastructure.types import Datacenter, GridProfile
from mlsysim.systems.types import Fleet, NetworkFabric, Node


def test_attributes_by_every_name(device):
    assert device.compute.peak_flops == Q_("100 TFLOP/s")
    assert device.tdp == device.power.tdp == Q_("400 W")
    assert device.memory.capacity == Q_("80 GB") and device.memory.sram_capacity is None
    assert device.release_year == 2026 and isinstance(device.release_year, int)
    assert device.unit_cost.magnitude == 10000
    assert device.embodied_carbon is None and device.vendor is None
    assert device.ridge_point().m_as("FLOP/B") == pytest.approx(50)


def test_objects_texts_and_dicts_are_the_same():
    one = HardwareNode(name="A", compute=ComputeCore(peak_flops=Q_("10 TFLOP/s")),
                       memory=MemoryHierarchy(capacity="8 GB", bandwidth=Q_("100 GB/s")), tdp=None)
    two = HardwareNode(name="A", compute={"peak_flops": "10 TFLOP/s"}, memory={"capacity": "8 GB", "bandwidth": "100 GB/s"})
    assert one == two and one.tdp is None and hash(one) == hash(two)


def test_precisions():
    core = ComputeCore(precision_flops={"fp16": "100 TFLOP/s", "fp8": "200 TFLOP/s"}, default_precision="fp8", sm_count=108)
    assert core.peak_flops == Q_("200 TFLOP/s") and core.dense["fp16"] == Q_("100 TFLOP/s") and core.units == 108
    with pytest.raises(LookupError, match="fp8"):
        ComputeCore(precision_flops={"fp9": "1 TFLOP/s"})
    with pytest.raises(TypeError):
        core.dense["fp16"] = Q_("1 FLOP/s")
    assert ComputeCore().peak_flops is None


def test_mistakes_are_named():
    with pytest.raises(InputError, match="name"):
        HardwareNode()
    with pytest.raises(InputError, match="memory"):
        make_device(memroy={})
    with pytest.raises(DimensionError, match="write \"80 GiB\""):
        MemoryHierarchy(capacity=80)
    with pytest.raises(DimensionError, match=r'write "8 Gparam", or Q_\(8e9, "param"\)'):
        Workload(name="t", parameters=8e9)
    with pytest.raises(DimensionError, match=r'write "400 W", or Q_\(400, "W"\)'):
        make_device(tdp=400)
    with pytest.raises(DimensionError):
        MemoryHierarchy(capacity="80 GB/s")
    with pytest.raises(DomainError):
        MemoryHierarchy(capacity="-1 GB")
    with pytest.raises(InputError, match="hardware"):
        Node(name="N", accelerator="H100")
    with pytest.raises(InputError):
        make_device(compute=MemoryHierarchy())


def test_immutable(device):
    with pytest.raises(AttributeError):
        device.name = "other"
    with pytest.raises(AttributeError):
        device.brand_new = 1


def test_replace_makes_a_changed_copy(device, h100):
    faster = device.replace(tdp="500 W", memory={"bandwidth": "4 TB/s"})
    assert faster.tdp == Q_("500 W") and device.tdp == Q_("400 W")
    assert faster.memory.bandwidth == Q_("4 TB/s") and faster.memory.capacity == Q_("80 GB")
    changed = h100.replace(unit_cost="1 USD")
    assert changed.unit_cost == Q_("1 USD") and changed.provenance() is None and h100.provenance() is not None


def test_pickles_and_copies(device, fleet, h100, llama):
    for spec in (device, fleet, h100, llama, device.memory):
        assert pickle.loads(pickle.dumps(spec)) == spec
        assert copy.deepcopy(spec) is spec
    assert pickle.loads(pickle.dumps(h100)) is h100
    assert pickle.loads(pickle.dumps(h100.replace(tdp="1 W"))).tdp == Q_("1 W")


def test_round_trip_through_dict(h100, llama):
    assert HardwareNode(**h100.to_dict()) == h100
    assert Workload(**llama.to_dict()) == llama


def test_fleet_counts(fleet):
    assert fleet.total_accelerators == 32 and fleet.count == 4 and fleet.region is None
    assert fleet.node.accelerator.name == "Handmade" and fleet.effective_pue is None
    assert isinstance(fleet.total_accelerators, int)


def test_parts_outlive_their_whole():
    memory = make_device().memory
    node = make_fleet().node
    gc.collect()
    assert memory.capacity == Q_("80 GB")
    assert node.accelerator.compute.peak_flops == Q_("100 TFLOP/s")


def test_pointers_come_back_as_the_same_object(device):
    fleet = make_fleet(device)
    assert fleet.node.accelerator is device


def test_other_types():
    grid = GridProfile(name="Wind", carbon_intensity="10 gCO2e/kWh", lat=50.0)
    site = Datacenter(name="Hall", grid=grid, pue=1.1)
    assert site.grid is grid and grid.carbon_intensity_g_kwh == pytest.approx(10) and grid.latitude == 50
    assert IOInterconnect(name="PCIe", bandwidth="64 GB/s").latency is None
    assert StorageHierarchy(capacity="1 TB", bandwidth="7 GB/s").capacity.m_as("GB") == 1000
    assert NetworkFabric(name="F", oversubscription_ratio=2).oversubscription == 2
    assert Fleet(name="X", node=Node(name="N", accelerator=make_device()), fabric=NetworkFabric(name="F")).count == 1


def test_workloads_made_by_hand():
    model = Workload(name="Mine", architecture="decoder", parameters="7 Gparam", layers=32, hidden_dim=4096, heads=32)
    assert model.layers == 32 and model.stacks[0].layers[0].times == 32 and model.hidden_dim == 4096 and model.kv_heads is None
    assert model.size_in_bytes().m_as("GB") == pytest.approx(14)
    assert model.size_in_bytes("fp8").m_as("GB") == pytest.approx(7)
    assert model.size_in_bytes(Q_("4 B")).m_as("GB") == pytest.approx(28)


def test_shown(device, h100):
    assert repr(h100) == "HardwareNode('H100')"
    assert "100 TFLOP/s" in repr(device)
    assert "<table>" in device._repr_html_() and "Handmade" in device._repr_html_()
