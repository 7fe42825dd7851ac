"""One answer for one device, and sweeps."""

from ..engine import Engine

__all__ = ["Engine"]
