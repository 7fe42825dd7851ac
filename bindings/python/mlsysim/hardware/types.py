"""Types of devices and their parts."""

from ..specs import (
    CollectiveTimes, ComputeCore, HardwareNode, IOInterconnect, KernelTimes, MemoryHierarchy, PartitionProfile,
    PowerDraw, PowerEnvelope, SecondMemoryTier, StorageHierarchy, SustainedShare,
)

__all__ = ["CollectiveTimes", "ComputeCore", "HardwareNode", "IOInterconnect", "KernelTimes", "MemoryHierarchy",
           "PartitionProfile", "PowerDraw", "PowerEnvelope", "SecondMemoryTier", "StorageHierarchy", "SustainedShare"]
