"""Files of the zoo, and files of your own."""

from . import _mlsysim as _core
from . import specs as _specs  # noqa: F401: gives the classes their Python side

__all__ = ["conventions", "directory", "import_model", "load", "model_notes"]


def directory():
    """Return the folder of the shipped zoo.

    Returns
    -------
    str

    Examples
    --------
    >>> import os
    >>> os.path.isdir(directory())
    True
    """
    return _core._zoo_directory()


def load(path):
    r"""Read a zoo file or a model file.

    Parameters
    ----------
    path : path
        A YAML file of the zoo's form, or a model file as in `import_model`.

    Returns
    -------
    dict
        {name: spec}.

    Raises
    ------
    ErrorList
        All problems of the file, each with its line.
    InputError
        The file cannot be read.

    Examples
    --------
    >>> text = ("schema: mlsysim/hardware@1\n"
    ...         "entries:\n"
    ...         "- {name: MyChip, title: My chip, category: cloud, source: {kind: illustrative, ref: nvidia-a100-datasheet,\n"
    ...         "   recorded: 2026-11-21, note: Made up.}, compute: {dense: {fp16: 50 TFLOP/s}, default_precision: fp16},\n"
    ...         "   memory: {capacity: 16 GB, bandwidth: 500 GB/s}}\n")
    >>> with open("mine.yaml", "w") as file:
    ...     _ = file.write(text)
    >>> load("mine.yaml")["MyChip"].memory.capacity == mlsysim.q("16 GB")
    True
    """
    import os

    return _core._load_zoo_file(os.fspath(path))


def import_model(path):
    """Read the model of a file.

    Parameters
    ----------
    path : path
        A config.json, the folder of a downloaded model, a GGUF file, or a program (ONNX, StableHLO). Only the headers of weights are
        read.

    Returns
    -------
    Workload

    Raises
    ------
    InputError
        The file cannot be read; the message names the key and what to do.

    Examples
    --------
    >>> import json
    >>> config = dict(model_type="llama", hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
    ...               num_key_value_heads=8, vocab_size=128256, max_position_embeddings=8192)
    >>> with open("config.json", "w") as file:
    ...     json.dump(config, file)
    >>> import_model("config.json").stacks[0].layers[0].times
    32
    """
    (spec,) = load(path).values()
    return spec


def model_notes(path):
    """List what the reader of a model file assumed.

    Parameters
    ----------
    path : path
        The file, as in `import_model`.

    Returns
    -------
    list of str
        Defaults, parts that were left out, and keys that are not known.

    Raises
    ------
    InputError
        The file cannot be read.

    Examples
    --------
    >>> import json
    >>> config = dict(model_type="llama", hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
    ...               num_key_value_heads=8, vocab_size=128256, max_position_embeddings=8192)
    >>> with open("config.json", "w") as file:
    ...     json.dump(config, file)
    >>> isinstance(model_notes("config.json"), list)
    True
    """
    import os

    return _core._model_notes(os.fspath(path))


def conventions(**changes):
    """Return the defaults that fill gaps, with changes.

    Parameters
    ----------
    **changes
        Fields of Conventions. `devices=DeviceClass(...)` has parameters for devices that do not state them.

    Returns
    -------
    Conventions
        Pass it on as `conventions=`.

    Raises
    ------
    InputError
        There is no such field.

    Examples
    --------
    >>> type(conventions()).__name__
    'Conventions'
    """
    shipped = _core._conventions()
    return shipped.replace(**changes) if changes else shipped
