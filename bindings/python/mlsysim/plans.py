"""Plans: a scenario and its assertions as a file, a text or a dict. docs/reference/plan-file.md lists the keys."""

import json
import os

from . import _mlsysim as _core
from .files import _read_text

__all__ = ["check", "read", "schema"]


def read(file):
    """Evaluate a plan file.

    Parameters
    ----------
    file : path
        The file.

    Returns
    -------
    dict
        The scorecard with the results of the assertions, as `mlsysim eval FILE -o json` prints it.

    Raises
    ------
    ErrorList
        All problems of the file, each with its line.
    InputError
        The file cannot be read.

    Examples
    --------
    >>> from mlsysim import plans
    >>> with open("chat.yaml", "w") as file:
    ...     _ = file.write('{version: "1", name: chat, workload: {name: Llama3_8B}, hardware: {name: H100}}')
    >>> plans.read("chat.yaml")["feasible"]
    True
    """
    path = os.fspath(file)
    return check(_read_text(path, "a plan file"), path)


def check(plan, name="plan"):
    """Evaluate a plan that is a text or a dict.

    Parameters
    ----------
    plan : str or dict
        The plan; a text is YAML.
    name : str, default "plan"
        Name of the plan in messages.

    Returns
    -------
    dict
        As in `read`.

    Raises
    ------
    ErrorList
        All problems of the plan, each with its line.

    Examples
    --------
    >>> from mlsysim import plans
    >>> plan = {"version": "1", "name": "chat", "workload": {"name": "Llama3_8B"}, "hardware": {"name": "H100"}}
    >>> plans.check(plan)["feasible"]
    True
    """
    return json.loads(_core._plan_scorecard(plan if isinstance(plan, str) else json.dumps(plan), name))


def schema(kind="plan"):
    """Return the JSON Schema (draft-07) of a kind of file.

    Parameters
    ----------
    kind : str, default "plan"
        "plan", or a kind of zoo file such as "hardware" or "model".

    Returns
    -------
    dict

    Raises
    ------
    LookupError
        There is no such kind.

    Examples
    --------
    >>> from mlsysim import plans
    >>> plans.schema()["$schema"]
    'http://json-schema.org/draft-07/schema#'
    """
    return json.loads(_core._schema(kind))
