"""Systems of the zoo."""

from ..registries import Systems

__all__ = ["Systems"]
