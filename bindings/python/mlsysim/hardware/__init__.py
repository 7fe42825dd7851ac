"""Devices."""

from .. import compat

__getattr__ = compat.attributes("hardware")
