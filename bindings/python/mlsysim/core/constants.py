"""The maker of quantities; units and numbers by their old names."""

from .. import compat
from ..units import Q_, Quantity, Unit, q  # noqa: F401: names of this module

__getattr__ = compat.attributes("core.constants")
