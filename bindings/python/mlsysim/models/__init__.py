"""Machine-learning models."""

from .. import compat

__getattr__ = compat.attributes("models")
