"""Infrastructure of the zoo."""

from ..registries import Infrastructure

__all__ = ["Infrastructure"]
