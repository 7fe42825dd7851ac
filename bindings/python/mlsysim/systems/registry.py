"""Systems of the zoo."""

from .. import compat
from ..registries import Systems

__all__ = ["Systems"]
__getattr__ = compat.attributes("systems.registry")
