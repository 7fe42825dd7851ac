"""Nodes, fabrics and fleets."""

from .. import compat

__getattr__ = compat.attributes("systems")
