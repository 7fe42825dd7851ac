"""Files of the zoo: where it lies, and how to read one's own."""

from . import _mlsysim as _core
from . import specs as _specs  # noqa: F401: gives the classes their Python side

__all__ = ["conventions", "directory", "import_model", "load", "model_notes"]


def directory():
    """The folder of the shipped zoo."""
    return _core._zoo_directory()


def load(path):
    """Reads a YAML file or a model file of one's own: {name: spec}. All problems of a file are reported at once."""
    import os

    return _core._load_zoo_file(os.fspath(path))


def import_model(path):
    """The Workload of a model file (a config.json, the folder of a downloaded model, a GGUF file) or of a program.

    Of weights only headers are read. `model_notes` says what was defaulted and what was not understood. Raises
    InputError with file, key and what to do where the file cannot be read.
    """
    (spec,) = load(path).values()
    return spec


def model_notes(path):
    """What the reader of a model file has to say: defaults it took, parts it left out, keys it did not understand."""
    import os

    return _core._model_notes(os.fspath(path))


def conventions(**changes):
    """The defaults that fill gaps, some of them changed: pass them on as `conventions=`.

    `devices=DeviceClass(...)` holds figures of devices that do not state them.
    """
    shipped = _core._conventions()
    return shipped.replace(**changes) if changes else shipped
