"""Types of devices and their parts."""

from ..specs import (
    ComputeCore, HardwareNode, IOInterconnect, MemoryHierarchy, PartitionProfile, PowerEnvelope, SecondMemoryTier,
    StorageHierarchy, SustainedShare,
)

__all__ = ["ComputeCore", "HardwareNode", "IOInterconnect", "MemoryHierarchy", "PartitionProfile", "PowerEnvelope",
           "SecondMemoryTier", "StorageHierarchy", "SustainedShare"]
