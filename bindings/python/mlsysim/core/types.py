"""Types that fields are annotated with."""

from .._mlsysim import Quantity
from ..specs import Provenance
from ..units import Unit

__all__ = ["Provenance", "Quantity", "Unit"]
