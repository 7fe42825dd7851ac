"""Types of systems."""

from ..specs import Fleet, LinkLevel, NetworkFabric, Node, Pod, Rack, StorageTier

__all__ = ["Fleet", "LinkLevel", "NetworkFabric", "Node", "Pod", "Rack", "StorageTier"]
