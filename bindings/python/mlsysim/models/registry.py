"""Models of the zoo."""

from ..registries import Models

__all__ = ["Models"]
