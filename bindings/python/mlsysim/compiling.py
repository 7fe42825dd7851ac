"""Graph breaks and compile times of torch.compile, from the records that it leaves."""

import json as _json
import os as _os

from . import _mlsysim as _core

__all__ = ["ingest"]


def ingest(*paths, family="", model="", commit="", registry="", strict=False, keep_duplicates=False):
    """Read records of torch.compile and group their graph breaks.

    Parameters
    ----------
    *paths : path
        Explain documents, texts and pickles of `torch._dynamo.explain`, and logs of TORCH_TRACE, plain or gzip. A folder stands for
        all files in it. Pickles are read without a call of anything that they name.
    family, model, commit : str, optional
        Values for files that do not state theirs.
    registry : path, optional
        A graph_break_registry.json of another PyTorch.
    strict : bool, default False
        Whether damaged parts are errors. Otherwise they are counted.
    keep_duplicates : bool, default False
        Whether files with the same content are kept.

    Returns
    -------
    dict
        records (one for each file), by_type and by_place (graph breaks in groups, most frequent first), duplicates and notes.
        Times are in seconds.

    Raises
    ------
    InputError
        A file has none of these formats, or is damaged and `strict` is set.

    Examples
    --------
    >>> from mlsysim import compiling
    >>> compiling.ingest("explain.txt", model="bert")["records"][0]["graph_break_count"]    # doctest: +SKIP
    23
    """
    names = [_os.fspath(path) for path in paths]
    words = {"family": family, "model": model, "commit": commit, "registry": _os.fspath(registry)}
    return _json.loads(_core._compile_report(names, words, strict, keep_duplicates))
