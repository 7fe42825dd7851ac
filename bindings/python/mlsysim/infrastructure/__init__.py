"""Grids, facilities and prices."""

from .. import compat

__getattr__ = compat.attributes("infrastructure")
