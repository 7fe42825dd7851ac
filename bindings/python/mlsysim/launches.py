"""Launches of serving and training engines as plans, and plans as launches. docs/how-to/launch-files.md lists the formats."""

import json
import os

from . import _mlsysim as _core
from .files import _read_text

__all__ = ["export", "fit", "read"]


def _parts(launch, fields):
    """Text, name and folder of a launch, and the fields as texts."""
    fields = {{"model": "workload"}.get(key, key): str(value) for key, value in fields.items() if value is not None}
    text = os.fspath(launch)
    if any(space in text for space in " \t\n") and not os.path.exists(text):
        return text, "command line", "", fields
    return _read_text(text, "a launch of an engine, or a plan"), text, os.path.dirname(text) or ".", fields


def read(launch, format="", **fields):
    """A launch as a plan, as a dict: `plan` (the text of a plan file), `fields`, `flags`, `notes`, `format`, `version`, `source`.

    `launch` is a command line ("vllm serve ...") or the path of a file; nothing of it is run. `fields` are those of a
    plan, and replace what the launch says; `hardware=` says what it runs on, `model=` which model it is. Each of `flags`
    has a `use`: "used", "ignored" or "contradicts", and `what` says why. Raises InputError, LookupError or DomainError.
    """
    text, name, folder, texts = _parts(launch, fields)
    return json.loads(_core._launch_read(text, name, folder, format, texts))


def fit(launch, format="", **fields):
    """Whether a launch, or a plan file, fits into memory: a dict of `fits`, `summary`, `items` [B] and `changes` that would fit.

    An engine that serves is asked by its own rules: its launch fits where its longest request does, and `requests` of that length
    fit at once on its data-parallel `ranks` together.
    """
    text, name, folder, texts = _parts(launch, fields)
    if name.endswith((".yaml", ".yml")) and not format and not _core._launch_format(text, name):
        return json.loads(_core._plan_fit(text, name))
    return json.loads(_core._launch_fit(text, name, folder, format, texts))


def export(plan, to, checkpoint=""):
    """What starts a plan: the text of a launch, and the fields for which the engine has no flag.

    `plan` is a text in YAML, a dict or the path of a plan file; `to` is "vllm", "sglang", "trtllm", "megatron", "deepspeed"
    or "torchtitan"; `checkpoint` is what the engine calls the model.
    """
    name = "plan"
    if isinstance(plan, dict):
        plan = json.dumps(plan)
    elif "\n" not in os.fspath(plan):
        name = os.fspath(plan)
        plan = _read_text(name, "a plan file")
    return _core._launch_export(plan, name, to, checkpoint)
