"""One answer for one device, and sweeps."""

from .. import compat
from ..engine import Engine

__all__ = ["Engine"]
__getattr__ = compat.attributes("core.engine")
