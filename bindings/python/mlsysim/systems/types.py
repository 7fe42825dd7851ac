"""Types of systems."""

from ..specs import Fleet, NetworkFabric, Node, Pod, Rack, StorageTier

__all__ = ["Fleet", "NetworkFabric", "Node", "Pod", "Rack", "StorageTier"]
