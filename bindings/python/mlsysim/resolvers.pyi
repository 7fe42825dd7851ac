from typing import Any

from ._mlsysim import Quantity
from .base import BaseOptimizer, BaseResolver, BaseSolver, ForwardModel
from .specs import Conventions, Datacenter, Fleet, GridProfile, HardwareNode, NetworkFabric, Node, Workload

__all__: list[str]

def resolver_class(name: str) -> type[BaseResolver]: ...

# Generated below by bindings/python/make_stubs.py.
