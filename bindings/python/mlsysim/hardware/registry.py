"""Devices of the zoo."""

from .. import compat
from ..registries import Hardware

__all__ = ["Hardware"]
__getattr__ = compat.attributes("hardware.registry")
