import builtins
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from . import specs as _specs

T = TypeVar("T")

class Registry(Generic[T]):
    def __getattr__(self, name: str) -> T: ...
    def __getitem__(self, name: str) -> T: ...
    def __contains__(self, name: str) -> bool: ...
    def __iter__(self) -> Iterator[T]: ...
    def __len__(self) -> int: ...
    def names(self) -> builtins.list[str]: ...
    def list(self, sort_by: str | None = ..., reverse: bool = ...) -> builtins.list[T]: ...

def find(type_name: str, name: str) -> Any: ...

# Generated below by bindings/python/make_stubs.py.

class _Hardware(Registry[_specs.HardwareNode]):
    Cloud: Registry[_specs.HardwareNode]
    Workstation: Registry[_specs.HardwareNode]
    Edge: Registry[_specs.HardwareNode]
    Mobile: Registry[_specs.HardwareNode]
    Tiny: Registry[_specs.HardwareNode]
Hardware: _Hardware
class _Models(Registry[_specs.Workload]):
    Embodied: Registry[_specs.Workload]
    Language: Registry[_specs.Workload]
    GenerativeVision: Registry[_specs.Workload]
    Recommendation: Registry[_specs.Workload]
    StateSpace: Registry[_specs.Workload]
    Tiny: Registry[_specs.Workload]
    Vision: Registry[_specs.Workload]
Models: _Models
class _Systems(Registry[Any]):
    Nodes: Registry[_specs.Node]
    Fabrics: Registry[_specs.NetworkFabric]
    Clusters: Registry[_specs.Fleet]
    Pods: Registry[_specs.Pod]
    Racks: Registry[_specs.Rack]
    Storage: Registry[_specs.StorageTier]
    Reliability: Registry[Any]
    Switches: Registry[_specs.ScalarFigure]
Systems: _Systems
class _Infrastructure(Registry[Any]):
    Grids: Registry[_specs.GridProfile]
    Datacenters: Registry[_specs.Datacenter]
    Cooling: Registry[_specs.CoolingProfile]
    Capacity: Registry[_specs.ScalarFigure]
    EmbodiedCarbon: Registry[_specs.ScalarFigure]
    Pricing: Registry[Any]
    FacilityCooling: Registry[_specs.CoolingProfile]
Infrastructure: _Infrastructure
class _Technology(Registry[Any]):
    Engines: Registry[_specs.ServingEngine]
    Conventions: Registry[Any]
Technology: _Technology
