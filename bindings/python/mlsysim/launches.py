"""Launch commands of serving and training engines as plans, and plans as launch commands.

docs/how-to/launch-files.md lists the formats.
"""

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
    """Read a launch as a plan. Nothing of it is run.

    Parameters
    ----------
    launch : str or path
        A command line ("vllm serve ...") or the path of a file.
    format : str, optional
        Format of the launch, such as "vllm" or "deepspeed"; recognized without it.
    **fields
        Fields of a plan, which replace what the launch says. `hardware` is the device, `model` the model.

    Returns
    -------
    dict
        plan (text of a plan file), fields, flags, notes, mode, format, version and source. Each flag has a use: "used", "ignored" or
        "contradicts".

    Raises
    ------
    InputError, LookupError, DomainError
        The launch cannot be read, a name is not known, or a value is out of range.

    Examples
    --------
    >>> from mlsysim import launches
    >>> launches.read("vllm serve Llama3_8B --max-num-seqs 8", hardware="H100")["fields"]["batch_size"]
    '8'
    """
    text, name, folder, texts = _parts(launch, fields)
    return json.loads(_core._launch_read(text, name, folder, format, texts))


def fit(launch, format="", **fields):
    """Check whether a launch or plan file fits in memory.

    Parameters
    ----------
    launch : str or path
        A command line, or the path of a launch or plan file.
    format : str, optional
        Format of the launch; recognized without it.
    **fields
        Fields of a plan, as in `read`.

    Returns
    -------
    dict
        fits, summary, items (bytes of each part), changes that would fit and notes (what names were taken for, what was assumed).
        A serving launch fits if its longest request does; `requests` of that length fit at once on its data-parallel `ranks` together.

    Raises
    ------
    InputError, LookupError, DomainError
        As in `read`.

    Examples
    --------
    >>> from mlsysim import launches
    >>> launches.fit("vllm serve Llama3_70B", hardware="H100")["fits"]
    False
    """
    text, name, folder, texts = _parts(launch, fields)
    if name.endswith((".yaml", ".yml")) and not format and not _core._launch_format(text, name):
        return json.loads(_core._plan_fit(text, name))
    return json.loads(_core._launch_fit(text, name, folder, format, texts))


def export(plan, to, checkpoint=""):
    """Write the launch command of a plan.

    Parameters
    ----------
    plan : str, dict or path
        A plan as YAML or dict, or the path of a plan file.
    to : {"vllm", "sglang", "trtllm", "megatron", "deepspeed", "torchtitan"}
        The engine.
    checkpoint : str, optional
        Name of the model for the engine.

    Returns
    -------
    (str, list)
        The launch, and the fields for which the engine has no flag.

    Raises
    ------
    ErrorList, LookupError
        The plan has errors, or the engine is not known.

    Examples
    --------
    >>> from mlsysim import launches
    >>> plan = launches.read("vllm serve Llama3_8B --max-num-seqs 8 --max-model-len 2048", hardware="H100")["plan"]
    >>> "meta-llama/Llama-3.1-8B" in launches.export(plan, "sglang", checkpoint="meta-llama/Llama-3.1-8B")[0]
    True
    """
    name = "plan"
    if isinstance(plan, dict):
        plan = json.dumps(plan)
    elif "\n" not in os.fspath(plan):
        name = os.fspath(plan)
        plan = _read_text(name, "a plan file")
    return _core._launch_export(plan, name, to, checkpoint)
