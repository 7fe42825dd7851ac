"""JSON Schema of inputs, made from the tables of fields."""

from .. import _mlsysim as _core

__all__ = ["REGISTRIES", "missing", "of_fields", "of_function", "value_of"]

# Objects of the zoo, by the name that tables give them, and where they are found.
REGISTRIES = {"workload": "Models", "hardware": "Hardware", "fleet": "Systems.Clusters", "node": "Systems.Nodes", "fabric": "Systems.Fabrics",
               "grid": "Infrastructure.Grids", "datacenter": "Infrastructure.Datacenters", "engine": "Technology"}


def _of_row(row):
    """The schema of one field; None where an agent cannot write what it takes."""
    words = row["meaning"] + (f" [{row['unit']}]" if row["unit"] else "")
    if not row["required"] and (row["default_source"] or row["default"]):
        words += f"; when left out: {row['default_source'] or row['default']}"
    kind, out = row["kind"], {"description": words}
    if kind == "object":
        if row["object_type"] not in REGISTRIES:
            return None
        return {"type": "string", "description": f"{words}; the name of an entry of the zoo"}
    if kind == "quantity":
        return {"type": "string", "description": f"{words}; a number with its unit", "examples": [f"1 {row['unit']}".strip()]}
    if kind == "choice":
        return {**out, "enum": list(row["choices"])}
    if kind == "number":
        out["type"] = "integer" if row["whole"] else "number"
        if row["low"] is not None:
            out["exclusiveMinimum" if row["open_low"] else "minimum"] = row["low"]
        if row["high"] is not None:
            out["maximum"] = row["high"]
        return out
    return {**out, "type": {"flag": "boolean", "text": "string"}.get(kind, "string")}


def of_fields(rows):
    """The schema of an object with these fields."""
    properties = {row["name"]: schema for row in rows for schema in (_of_row(row),) if schema is not None}
    required = [row["name"] for row in rows if row["required"] and row["name"] in properties]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def of_function(stage):
    """The schema of a resolver written in Python, from the signature of its `solve`."""
    properties = {}
    for key, _ in stage.inputs:
        kind = _kind(stage, key)
        entry = f"the name of an entry of {REGISTRIES[key]}" if key in REGISTRIES else ""
        properties[key] = {"type": {float: "number", int: "integer", bool: "boolean"}.get(kind, "string"),
                           "description": entry or ("a number with its unit" if kind not in (float, int, bool, str) else key)}
    return {"type": "object", "properties": properties, "required": [key for key, required in stage.inputs if required],
            "additionalProperties": False}


def _kind(stage, key):
    hints = getattr(stage.stage.solve, "__annotations__", {})
    kind = hints.get(stage.parameter_of[key])
    return {"float": float, "int": int, "bool": bool, "str": str}.get(kind, kind)


def value_of(stage, key, value):
    """What a resolver written in Python is given for a value of JSON: an entry of the zoo, a quantity, or the value."""
    if not isinstance(value, str):
        return value
    if key in REGISTRIES:
        from ..registries import find

        found = find(key, value)
        if found is not None:
            return found
        return missing(key, value)
    return value if _kind(stage, key) is str else _quantity(value)


def _quantity(value):
    from ..errors import UnitError
    from ..units import Q_

    try:
        return Q_(value)
    except UnitError:
        return value


def missing(key, value):
    """Raises the error for a name that the zoo does not have."""
    from ..errors import LookupError, _input_error
    from ..registries import _table

    names = [name for _, _, name, _ in _table(key)]
    raise _input_error(f"there is no {key} '{value}'", key=key, found=f"'{value}'", expected=f"the name of an entry ({key})",
                       hint=_core._did_you_mean(value, names), kind=LookupError, id="mlsysim.python.212")
