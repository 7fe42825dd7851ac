#!/usr/bin/env python3
"""Writes the stubs that list specs, registries, resolvers and laws. The CMake build runs it after the module is linked.

    PYTHONPATH=<build>/python python3 bindings/python/make_stubs.py <build>/python/mlsysim

A stub starts with its file mlsysim/<module>.pyi.in. The rest comes from the tables of the built package.
"""

import re
import sys
from pathlib import Path

# This folder holds the sources of the package, without its compiled part: not what is to be imported.
sys.path = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).resolve().parent]

import mlsysim
from mlsysim import laws, resolvers, specs

HEADS = Path(__file__).parent / "mlsysim"
KINDS = {"number": "float", "flag": "bool", "text": "str", "choice": "str"}
OBJECTS = {"hardware": "HardwareNode", "workload": "Workload", "fleet": "Fleet", "node": "Node", "fabric": "NetworkFabric",
           "grid": "GridProfile", "datacenter": "Datacenter", "conventions": "Conventions",
           "engine": "ServingEngine"}


def given_type(row):
    """Type of an input."""
    kind = row["kind"]
    if kind == "quantity":
        return "Quantity | str"
    if kind == "object":
        name = OBJECTS.get(row["object_type"], "Any")
        return name if name in ("Any", "Conventions") else f"{name} | str"  # or the name of an entry
    return KINDS.get(kind, "Any")


def result_type(row):
    if row["kind"] == "quantity":
        return "Quantity"
    if row["kind"] == "number" and row["whole"]:
        return "int"
    return given_type(row)


def signature(core):
    rows = core.inputs
    needed = [r for r in rows if r["required"]]
    rest = [r for r in rows if not r["required"]]
    parts = [f"{r['name']}: {given_type(r)}" for r in needed if r["name"] != "workload"]
    model = [r for r in needed if r["name"] == "workload"]
    if model:
        parts = ["workload: Workload | str = ...", *(f"{p} = ..." for p in parts), "model: Workload | str = ..."]
    parts += [f"{r['name']}: {given_type(r)} | None = ..." for r in rest]
    return parts


def solve_stub(cls, base):
    """The class of a resolver with its solve."""
    solve = wrapped("def solve(", signature(cls._resolver), f") -> {cls.produces.__name__}: ...", "    ")
    return f"class {cls.__name__}({base}):\n    @staticmethod\n{solve}"


def result_classes(cls, out):
    """A class of results and those of its nested parts."""
    rows = {r["name"]: r for r in cls._resolver_rows}
    lines = [f"class {cls.__name__}(_CoreResult):"]
    for name in cls._names:
        full = f"{cls._path}.{name}" if cls._path else name
        if full in rows:
            kind = result_type(rows[full])
        else:
            nested = [r for r in rows if r.startswith(full + ".")]
            assert nested, (cls, name)
            part = nested_class(cls, name)
            part._resolver_rows = cls._resolver_rows
            result_classes(part, out)
            kind = part.__name__
        lines.append(f"    @property\n    def {name}(self) -> {kind}: ...")
    out.append("\n".join(lines))


def nested_class(cls, name):
    return cls.__dict__[name].fget.__defaults__[0]


def member_types(cls):
    """{member: annotation} of a spec."""
    return dict(cls._member_types())


def generated_specs():
    out = []
    for name in specs.__all__:
        cls = getattr(specs, name)
        if name == "Provenance":
            continue
        lines = [f"class {name}(_Spec):"]
        members = member_types(cls)
        required = {n for n, _, _, needed in cls._fields_info() if needed}
        extra = {n for n in vars(cls) if isinstance(vars(cls)[n], property) and not n.startswith("_")} - set(members)
        keywords = [f"{n}: {given(k)}{'' if n in required else ' = ...'}" for n, k in sorted(
            members.items(), key=lambda item: item[0] not in required) if n.isidentifier() and n not in ("in",)]
        lines.append(wrapped("def __init__(", ["self", "*", *keywords, "**other_names: Any"], ") -> None: ...", "    "))
        for n, k in members.items():
            if n != "in":
                lines.append(f"    @property\n    def {n}(self) -> {k}: ...")
        for n in sorted(extra):
            lines.append(f"    @property\n    def {n}(self) -> Any: ...")
        for n in sorted(METHODS.get(name, {})):
            lines.append(f"    {METHODS[name][n]}")
        out.append("\n".join(lines))
    return out


PARTS = "|".join(c.__name__ for c in specs._PARTS)


def given(kind):
    """What a keyword takes where the attribute is of a type: quantities as texts, parts as dicts, any iterable of them."""
    kind = re.sub(r"\bQuantity\b", "Quantity | str", kind)
    kind = re.sub(rf"\b({PARTS})\b", r"\1 | Mapping[str, Any]", kind)
    return re.sub(r"\btuple\[([^\[\]]*(?:\[[^\]]*\])?[^\[\]]*), \.\.\.\]", r"Iterable[\1]", kind)


METHODS = {
    "HardwareNode": {
        "figures": "def figures(self) -> dict[str, tuple[Quantity, str]]: ...",
        "rate_at": "def rate_at(self, precision: str | None = ...) -> Quantity: ...",
        "ridge_point": "def ridge_point(self, precision: str | None = ...) -> Quantity: ...",
    },
    "Workload": {"size_in_bytes": "def size_in_bytes(self, precision: str | Quantity = ...) -> Quantity: ..."},
}


def generated_resolvers():
    out = []
    for name in resolvers.__all__:
        cls = resolvers.resolver_class(name)
        out.append(solve_stub(cls, cls.__mro__[1].__name__))
    return out


def generated_laws():
    out = []
    for name in laws.names():
        cls = resolvers.resolver_class(name)
        out.append(solve_stub(cls, "_Law"))
    return out


def generated_results():
    out = []
    for name in [*resolvers.__all__, *laws.names()]:
        cls = resolvers.resolver_class(name)
        cls.produces._resolver_rows = cls._resolver.outputs
        result_classes(cls.produces, out)
    return out


def registry_type(registry):
    """Registry[...] of the one type of its entries; figures are grouped further, by the parts of their names."""
    kinds = {type(entry).__name__ for entry in registry.list()}
    plain = len(kinds) == 1 and not registry._load()._groups
    return f"Registry[{f'_specs.{kinds.pop()}' if plain else 'Any'}]"


def registry_stub(registry, name):
    """The class of a registry: its groups by name; what else is asked for is an entry."""
    kinds = {type(entry).__name__ for entry in registry.list()}
    lines = [f"class {name}(Registry[{f'_specs.{kinds.pop()}' if len(kinds) == 1 else 'Any'}]):"]
    for group, entries in registry._load()._groups.items():
        if group.isidentifier():
            lines.append(f"    {group}: {registry_type(entries)}")
    return ["\n".join(lines)]


def generated_registries():
    out = []
    for name in ("Hardware", "Models", "Systems", "Infrastructure", "Technology"):
        out += [*registry_stub(getattr(mlsysim, name), f"_{name}"), f"{name}: _{name}"]
    return out


def imports(names, module):
    """One import, wrapped."""
    return [wrapped(f"from .{module} import (", sorted(names), ")")]


def wrapped(head, parts, tail, indent=""):
    """A list of parts in lines of at most 110 columns."""
    line = f"{indent}{head}{', '.join(parts)}{tail}"
    if len(line) <= 110:
        return line
    lines, line = [], indent + "    "
    for part in parts:
        if len(line) + len(part) + 1 > 110:
            lines.append(line.rstrip())
            line = indent + "    "
        line += part + ", "
    return "\n".join([indent + head, *lines, line.rstrip(), indent + tail])


def main(folder):
    names = [resolvers.resolver_class(n).produces.__name__ for n in resolvers.__all__]
    law_results = [resolvers.resolver_class(n).produces.__name__ for n in laws.names()]
    generated = {
        "specs.pyi": generated_specs(),
        "registries.pyi": generated_registries(),
        "results.pyi": generated_results(),
        "resolvers.pyi": imports(names, "results") + generated_resolvers(),
        "laws.pyi": imports(law_results, "results") + generated_laws(),
        "__init__.pyi": [f"from .resolvers import {n} as {n}" for n in resolvers.__all__],
        "core/solver.pyi": [f"from ..resolvers import {n} as {n}" for n in resolvers.__all__],
    }
    for file, lines in generated.items():
        head = (HEADS / f"{file}.in").read_text()
        (folder / file).write_text(head + "\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
