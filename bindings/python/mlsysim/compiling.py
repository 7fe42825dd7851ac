"""What compilers of models leave behind: graph breaks, compile times, and what they say of a program."""

import json as _json
import os as _os

from . import _mlsysim as _core

__all__ = ["ingest"]


def ingest(*paths, family="", model="", commit="", registry="", strict=False, keep_duplicates=False):
    """Reads explain documents, texts and pickles of `torch._dynamo.explain`, and logs of TORCH_TRACE.

    Files may be plain or gzip; folders are read with all files in them. Nothing that a pickle names is called.
    Returns a dict: `records` (one per file, each an explain document with what the reader met), `by_type` and
    `by_place` (breaks in groups, the most frequent first), `duplicates` and `notes`. Times are in seconds.

    `family`, `model` and `commit` are for files that do not say theirs; `registry` is a graph_break_registry.json of
    another PyTorch. `strict` refuses what is damaged instead of counting it. Raises InputError for what is none of
    these.
    """
    names = [_os.fspath(path) for path in paths]
    words = {"family": family, "model": model, "commit": commit, "registry": _os.fspath(registry)}
    return _json.loads(_core._compile_report(names, words, strict, keep_duplicates))
