"""The maker of quantities."""

from .. import compat
from ..units import Q_, Quantity, Unit, q

__all__ = ["Q_", "Quantity", "Unit", "q"]
__getattr__ = compat.attributes("core.constants")
