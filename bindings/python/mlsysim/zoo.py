"""Files of the zoo: where it lies, and how to read one's own."""

from . import _mlsysim as _core
from . import specs as _specs  # noqa: F401: gives the classes their Python side

__all__ = ["conventions", "directory", "load"]


def directory():
    """The folder of the shipped zoo."""
    return _core._zoo_directory()


def load(path):
    """Reads a YAML file of one's own: {name: spec}. All problems of the file are reported at once."""
    import os

    return _core._load_zoo_file(os.fspath(path))


def conventions(**changes):
    """The defaults that fill gaps, some of them changed: pass them on as `conventions=`."""
    shipped = _core._conventions()
    return shipped.replace(**changes) if changes else shipped
