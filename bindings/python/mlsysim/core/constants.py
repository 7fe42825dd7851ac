"""The maker of quantities."""

from ..units import Q_, Quantity, Unit, q

__all__ = ["Q_", "Quantity", "Unit", "q"]
