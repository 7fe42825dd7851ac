"""Models of the zoo."""

from .. import compat
from ..registries import Models

__all__ = ["Models"]
__getattr__ = compat.attributes("models.registry")
