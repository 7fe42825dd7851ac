"""Types that fields are annotated with."""

from .. import compat
from .._mlsysim import Quantity
from ..specs import Provenance
from ..units import Unit

__all__ = ["Provenance", "Quantity", "Unit"]
__getattr__ = compat.attributes("core.types")
