"""Types of infrastructure."""

from ..specs import CoolingProfile, Datacenter, GridProfile, ScalarFigure

__all__ = ["CoolingProfile", "Datacenter", "GridProfile", "ScalarFigure"]
