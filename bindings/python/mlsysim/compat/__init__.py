"""Names of MLSys·im 0.1 to 0.3, the Python package of the same name, so that what its users wrote runs unchanged.

Everything here is a table from its names to ours, with a converter where the form differs too:

modules    import paths and names of modules      fields   attributes of results
inputs     inputs of resolvers and constructors   members  attributes of specs and quantities
laws       calc_* functions                       figures  constants and reference data, read from the zoo

The main package asks here only when a name was not found or a call was refused, so nobody else pays for it. A renamed
input or result is accepted with one DeprecationWarning; docs/how-to/from-mlsysim-py.md says what else to know.
"""

import sys

__all__ = ["install"]

_noted = set()


def note(old, new):
    """Says once that a name has changed."""
    if old not in _noted:
        _noted.add(old)
        import warnings

        level, frame = 1, sys._getframe()
        while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "mlsysim":
            level, frame = level + 1, frame.f_back  # the line of the caller, not one of ours
        warnings.warn(f"{old} is now {new}", DeprecationWarning, stacklevel=level)


class Finder:
    """Finds the modules of the table, after every other finder has failed."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Find the spec of a module by its old name; None for other names."""
        if not name.startswith("mlsysim."):
            return None
        from .modules import find

        return find(name[len("mlsysim."):])


def install():
    """Makes old import paths known. Called once, by the package."""
    if Finder not in sys.meta_path:
        sys.meta_path.append(Finder)


def attributes(module):
    """A `__getattr__` for a module: names that it had in the other package."""

    def __getattr__(name):
        return named(module, name)

    return __getattr__


def named(module, name):
    """What a module had under a name. AttributeError where it had nothing that we have."""
    from .modules import look_up

    return look_up(module, name)


def star(own):
    """The names that `from mlsysim import *` brings: those of the package, and the units and functions it once brought."""
    from . import laws, text, units

    return [*own, *units.NAMES, *laws.__all__, *text.__all__]


def member(owner, name):
    """An attribute by its old name, of a result, spec or quantity."""
    from .fields import FIELDS
    from .members import MEMBERS

    for table in (FIELDS, MEMBERS) if name[:2] != "__" else ():
        for cls in type(owner).__mro__:
            entry = table.get(cls.__name__, {}).get(name)
            if entry is not None:
                return _read(owner, name, entry)
    raise AttributeError(f"'{type(owner).__name__}' object has no attribute '{name}'")


def entry(registry, name, refusal):
    """A branch that a registry of the zoo once had. AttributeError, with what the registry says, where it had none."""
    from .modules import REGISTRIES, look_up

    if (registry, name) not in REGISTRIES:
        raise AttributeError(refusal)
    return look_up("", REGISTRIES[registry, name])


def _read(owner, name, entry):
    """`entry` is the path of an attribute, or (path, unit) for a bare number in that unit, or a function of the owner."""
    if callable(entry):
        return entry(owner)
    path, unit = entry if isinstance(entry, tuple) else (entry, None)
    note(f"'{name}' of {type(owner).__name__}", f"'{path}'")
    for part in path.split("."):
        owner = getattr(owner, part)
    return owner.m_as(unit) if unit is not None else owner


def same_text(own, other):
    """Whether a text of the other package names our choice: "Memory" is 'memory', "Transformer" is 'decoder'."""
    from .texts import TEXTS

    return own.casefold() == other.casefold() or own in TEXTS.get(other, ())


def solve_again(resolver, args, values):
    """The call of a resolver that was refused, with its inputs in our names and forms; None where nothing changes."""
    from .inputs import translated

    found = translated(resolver, args, values)
    if found is None:
        return None
    from ..resolvers import resolver_class

    inputs, renamed, check = found
    try:
        result = resolver_class(resolver)._core_solve(**inputs)
    except Exception:
        if renamed:
            raise
        return None  # another order alone was no better: the first refusal says more
    return check(result) if check else result


def row_key(key, row):
    """The key of a flat row that an old one with a unit at its end stands for. KeyError where the row has none."""
    own = key.rpartition("_")[0]
    if key.rpartition("_")[2] not in ("usd", "kwh", "kg", "ms", "gb") or own not in row:
        raise KeyError(key)
    note(f"'{key}' of a flat row", f"'{own}'")
    return own


def pipeline_again(resolvers, values):
    """The values of a pipeline that could not be built, in our names and forms; None where nothing changes."""
    from .inputs import pipeline_values

    return pipeline_values(resolvers, values)


def spec_again(cls, values):
    """Keywords of a spec that were refused, in our names and forms; None where nothing changes."""
    from .inputs import spec_keywords

    return spec_keywords(cls, values)
