"""The zoo's YAML files as plain dictionaries in base units: s, B, FLOP, J, W, USD, gCO2e, L.

A figure is a number with a unit ("3.35 TB/s"), or a map whose `value` is that. Sources, ranges and decisions
are left out: the reference computes with values only.
"""

import os
import pathlib
import re

import yaml

FOLDER = (
    pathlib.Path(os.environ.get("MLSYSIM_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2])) / "zoo"
)

# One unit of each in base units. A year has 365 days and a bit is an eighth of a byte, by convention of the
# library.
UNITS = {
    "s": 1,
    "min": 60,
    "h": 3600,
    "d": 86400,
    "month": 30 * 86400,
    "yr": 365 * 86400,
    "B": 1,
    "bit": 1 / 8,
    "FLOP": 1,
    "OP": 1,
    "token": 1,
    "sample": 1,
    "request": 1,
    "param": 1,
    "USD": 1,
    "gCO2e": 1,
    "tCO2e": 1e6,
    "J": 1,
    "Wh": 3600,
    "L": 1,
    "W": 1,
    "Hz": 1,
    "%": 1 / 100,
}
PREFIXES = {
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "Pi": 2**50,
    "p": 1e-12,
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    "Z": 1e21,
}


def unit_size(name):
    """Size of one unit, prefix included."""
    if name in UNITS:
        return UNITS[name]
    for prefix, factor in PREFIXES.items():
        if name.startswith(prefix) and name[len(prefix) :] in UNITS:
            return factor * UNITS[name[len(prefix) :]]
    raise ValueError(f"no unit '{name}'")


def quantity(text):
    """'3.35 TB/s' -> 3.35e12. Text that is no quantity stays text."""
    match = re.fullmatch(r"([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?) ?([A-Za-z%][A-Za-z0-9%]*(?:/[A-Za-z]+)?)", text)
    if not match:
        return text
    over, _, under = match[2].partition("/")
    try:
        return float(match[1]) * unit_size(over) / (unit_size(under) if under else 1)
    except ValueError:
        return text


def plain(node):
    """Values of a tree: figures become numbers, `{value: ...}` becomes its value."""
    if isinstance(node, dict):
        return (
            plain(node["value"])
            if "value" in node and not isinstance(node["value"], (dict, list))
            else {
                key: plain(value)
                for key, value in node.items()
                if key not in ("source", "shape_source", "decisions")
            }
        )
    if isinstance(node, list):
        return [plain(item) for item in node]
    return quantity(node) if isinstance(node, str) else node


def load(folder=FOLDER):
    """{kind: {name or alias: entry}} of all files but the measured tables."""
    zoo = {}
    for file in sorted(folder.rglob("*.yaml")):
        if "validation" in file.parts:
            continue
        document = yaml.load(file.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        kind = document.get("schema", "").partition("/")[2].partition("@")[0]
        for entry in document.get("entries") or []:
            if not isinstance(entry, dict) or "name" not in entry:
                continue
            # A price or convention is its value alone.
            values = (
                plain(entry["value"])
                if kind in ("convention", "price") and "value" in entry
                else plain(entry)
            )
            for name in [entry["name"], *entry.get("aliases", [])]:
                zoo.setdefault(kind, {})[name] = values
    return zoo


ZOO = load()


# What a runtime has of the one that it extends, unless it states its own.
INHERITED = ("host_step", "host_request", "sampling", "measured_requests", "request_time", "prefill_issue", "prompt_layer", "beside", "mixed", "host_rows",
             "unpack_rows", "lookahead", "memory")


def entry(kind, name):
    found = ZOO[kind][name]
    if kind != "engine" or "extends" not in found:
        return found
    base = entry(kind, found["extends"])
    return {**{key: base[key] for key in INHERITED if key in base}, **found}


def figure(name):
    """A named number: of zoo/defaults.yaml, zoo/catalogue.yaml or the prices."""
    for kind in ("convention", "price"):
        if name in ZOO.get(kind, {}):
            return ZOO[kind][name]
    return None


def default(name):
    """What stands in where a fabric, a facility or a request says nothing (zoo/defaults.yaml)."""
    return ZOO["convention"]["default." + name]


def get(node, path, otherwise=None):
    """The figure at 'memory.bandwidth' of an entry; `otherwise` where the entry says nothing."""
    for key in path.split("."):
        node = node.get(key) if isinstance(node, dict) else None
    return otherwise if node is None else node


# Figures that belong to each unit of a device: nothing is charged for one where the units are not counted.
OF_EACH_UNIT = {
    "compute.units": 1,
    "compute.matrix_rows": 1,
    "tiles.tile_m": 1,
    "tiles.tile_n": 1,
    "kernels.wave": 0.0,
    "kernels.attention_block": 0.0,
    "kernels.attention_rows": 0.0,
    "kernels.latent_block": 0.0,
    "kernels.latent_split": 0.0,
    "kernels.chosen_block": 0.0,
    "kernels.chosen_step": 0.0,
    "kernels.search": 0.0,
    "kernels.attention_split": 0.0,
}
# Figures of which a rack has as much as all its devices.
SUM_OF_PARTS = ("compute.units", "memory.capacity", "memory.bandwidth", "device_link.bandwidth", "host_link.bandwidth")


# Families that a runtime names, and where a device keeps them: its own collectives are figures.
FAMILIES = {"fused_attention": "fused_attention", "recurrences": "recurrences", "collectives": "collective_family"}


def under(hardware, engine):
    """A device with the families of attention and collectives that a runtime, or the nearest one that it extends, names."""
    named = {}
    while engine:
        named = {**{to: engine[k] for k, to in FAMILIES.items() if k in engine}, **named}
        engine = entry("engine", engine["extends"]) if "extends" in engine else None
    return {**hardware, **named}


def of_row(row, path, hardware):
    """A value of a class or of constants of kernels, or a factor of another figure of the device, or of one over it."""
    value = get(row, path)
    if value is not None:
        return value
    for rule in row.get("rules", []):
        if rule["figure"] == path:
            known = of(hardware, rule["of"].removeprefix("1 / "))
            if known is not None:
                return rule["times"] / known if rule["of"].startswith("1 / ") else rule["times"] * known
    return None


def of_kernels(hardware, path, holds):
    """Of the first constants of kernels that hold: of the usual families, or of those that a runtime names."""
    for name in ("usual_products", hardware.get("fused_attention", "usual_attention"), hardware.get("collective_family", "usual_collectives")):
        while name:
            family = entry("kernel_family", name)
            for row in family.get("generations", []):
                value = of_row(row, path, hardware) if holds(row) else None
                if value is not None:
                    return value
            name = family.get("extends")
    return None


def own_figure(hardware, path):
    """What a device states, or what of its kernels was measured on it or on one of the same die."""
    own, names = get(hardware, path), {hardware.get("name"), hardware.get("same_die")}
    return of_kernels(hardware, path, lambda row: names & set(row.get("devices", []))) if own is None else own


def of(hardware, path):
    """A figure of a device: its own, its part's, or that of its class (zoo/hardware/classes.yaml, zoo/kernels)."""
    own = own_figure(hardware, path)
    if own is not None:
        return own
    if "part" in hardware:
        part = entry("hardware", hardware["part"])
        of_part = of(part, path)
        if of_part is not None:
            many = hardware["accelerator_count"] / part["accelerator_count"] if path in SUM_OF_PARTS else 1
            return many * of_part
    if path in OF_EACH_UNIT and get(hardware, "compute.units") is None:
        return OF_EACH_UNIT[path]
    return of_class(path, hardware.get("device_class", "gpu"), hardware)


def of_class(path, name="gpu", hardware=None):
    """What a class gives, or the class that it is like: a value, or a factor of another figure of the device, or of one over it."""
    c = entry("device_class", name)
    value = of_row(c, path, hardware or {})
    if value is None:
        value = of_kernels(hardware or {}, path, lambda row: row.get("generation") == name)
    if value is not None:
        return value
    return of_class(path, c["like"], hardware) if "like" in c else None


# Storage width of one element [B]; scales of the micro-scaled formats are not counted.
BYTES = {
    "fp64": 8,
    "fp32": 4,
    "tf32": 4,
    "bf16": 2,
    "fp16": 2,
    "fp8": 1,
    "fp6": 0.75,
    "fp4": 0.5,
    "mxint4": 0.5,
    "int8": 1,
    "int4": 0.5,
    "mxint8": 1,
}
