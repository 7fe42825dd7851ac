"""Plans: a scenario and what must hold of it, as a file, a text or a dict. docs/reference/plan-file.md lists the keys."""

import json
import os

from . import _mlsysim as _core
from .files import _read_text

__all__ = ["check", "read", "schema"]


def read(file):
    """The scorecard of a plan file, with the results of its assertions: what `mlsysim eval FILE -o json` prints, as a dict.

    ErrorList with every problem of the file, each with line and caret; InputError where there is no file to read.
    """
    path = os.fspath(file)
    return check(_read_text(path, "a plan file"), path)


def check(plan, name="plan"):
    """The same for a plan as a text in YAML, or as a dict; `name` stands for it in messages."""
    return json.loads(_core._plan_scorecard(plan if isinstance(plan, str) else json.dumps(plan), name))


def schema(kind="plan"):
    """JSON Schema (draft-07) of plans, or of the zoo's files of a kind ("hardware", "model", ...), as a dict."""
    return json.loads(_core._schema(kind))
