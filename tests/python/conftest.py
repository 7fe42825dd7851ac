"""Shared objects: a device, a model, a fleet made by hand."""

import os

import pytest

import mlsysim
from mlsysim import Fleet, HardwareNode, NetworkFabric, Node, Q_

SLOWER = int(os.environ.get("MLSYSIM_TIME_FACTOR", "1"))  # more than 1 where the package is sanitized


def make_device(**changes):
    parts = dict(
        name="Handmade", release_year=2026, compute={"peak_flops": "100 TFLOP/s"},
        memory={"capacity": "80 GB", "bandwidth": "2 TB/s"}, tdp="400 W", unit_cost="10000 USD")
    return HardwareNode(**{**parts, **changes})


def make_fleet(device=None):
    node = Node(name="Box", accelerator=device or make_device(), accelerators_per_node=8, intra_node_bw="450 GB/s")
    fabric = NetworkFabric(name="Wire", bandwidth=Q_("50 GB/s"), latency="2 us")
    return Fleet(name="Handful", node=node, count=4, fabric=fabric)


@pytest.fixture
def device():
    return make_device()


@pytest.fixture
def fleet():
    return make_fleet()


@pytest.fixture
def llama():
    return mlsysim.Models.Llama3_8B


@pytest.fixture
def h100():
    return mlsysim.Hardware.H100
