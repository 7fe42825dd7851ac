"""Import paths of the parts of the engine."""

from .. import compat

__getattr__ = compat.attributes("core")
