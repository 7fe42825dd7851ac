"""Devices of the zoo."""

from ..registries import Hardware

__all__ = ["Hardware"]
