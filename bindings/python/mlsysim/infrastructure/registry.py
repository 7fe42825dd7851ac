"""Infrastructure of the zoo."""

from .. import compat
from ..registries import Infrastructure

__all__ = ["Infrastructure"]
__getattr__ = compat.attributes("infrastructure.registry")
