"""Models of the hub: from what lies on this machine, as nothing is downloaded."""

import pathlib

__all__ = ["import_hf_model"]


def import_hf_model(model_id, *_, **__):
    """The workload of "org/name" or "hf://org/name".

    It is read from a folder or config.json of that path, else from the hub's cache on this machine, else it is the zoo's model of
    that name. LookupError, with what to do, where none of them has it.
    """
    import os

    from ..registries import Models
    from ..zoo import import_model

    name = str(model_id).removeprefix("hf://")
    if os.path.exists(name):
        return import_model(name)
    cache = pathlib.Path(os.environ.get("HF_HOME", pathlib.Path.home() / ".cache/huggingface")) / "hub"
    for config in sorted(cache.glob(f"models--{name.replace('/', '--')}/snapshots/*/config.json")):
        return import_model(config)
    from ..errors import LookupError as Unknown

    try:
        return Models[name]
    except Unknown:
        try:
            return Models[name.rpartition("/")[2]]
        except Unknown as error:
            raise Unknown(f"'{name}' is not on this machine; download its config.json and give the path: import_model(\"config.json\")") from error
