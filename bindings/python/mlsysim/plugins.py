"""Plugins: libraries with a C interface, and installed Python packages with entry points.

>>> mlsysim.plugins.load("build/mlsysim-plugin-acme.so")      # its resolvers, units and entries are there from now on
>>> mlsysim.plugins.list_plugins()

Entry-point groups: mlsysim.models, mlsysim.solvers, mlsysim.optimizers (each takes resolvers of all three tiers),
mlsysim.callbacks, and mlsysim.plugins (the path of a library, or a function that gives it). They are listed without
importing anything, and imported when they are first used. MLSYSIM_PLUGINS=none turns all of it off.
"""

import os
import warnings

from . import _mlsysim as _core
from .errors import PluginError, _input_error

__all__ = ["list_plugins", "load", "load_all", "unload", "reload", "has_feature", "entry_points", "callbacks", "check"]

RESOLVER_GROUPS = ("mlsysim.models", "mlsysim.solvers", "mlsysim.optimizers")
GROUPS = (*RESOLVER_GROUPS, "mlsysim.callbacks", "mlsysim.plugins")


def _allowed(distribution):
    """Whether MLSYSIM_PLUGINS lets a package take part."""
    names = os.environ.get("MLSYSIM_PLUGINS", "all")
    return names in ("", "all") or distribution in names.split(",")


def _distribution(point):
    found = getattr(point, "dist", None)
    return found.metadata["Name"] if found is not None else ""


def entry_points(*groups):
    """The entry points of installed packages in these groups (all without any), in order of group and name."""
    from importlib.metadata import entry_points as find

    found = find()
    out, seen = [], set()
    for group in groups or GROUPS:
        points = found.select(group=group) if hasattr(found, "select") else found.get(group, ())
        for point in sorted(points, key=lambda p: p.name):
            # A package that is found twice on the path has its entry points twice.
            if (group, point.name, point.value) not in seen and _allowed(_distribution(point)):
                seen.add((group, point.name, point.value))
                out.append(point)
    return out


def _import(point):
    """What an entry point names; None, with one warning, where it cannot be loaded."""
    try:
        return point.load()
    except Exception as error:
        warnings.warn(f"the entry point '{point.name}' of {point.group} in the package '{_distribution(point)}' ({point.value}) "
                      f"cannot be loaded: {type(error).__name__}: {error}", stacklevel=4)
        return None


def list_plugins():
    """Every plugin that is found: a dict each, with name, version, state, what it provides, and why it is not there.

    Libraries with a manifest are not opened for it, and packages are not imported.
    """
    rows = _core._plugin_records()
    by_package = {}
    for point in entry_points():
        by_package.setdefault(_distribution(point), []).append(point)
    for name, points in by_package.items():
        dist = getattr(points[0], "dist", None)
        rows.append({"name": name, "version": dist.version if dist else "", "summary": (dist.metadata["Summary"] or "") if dist else "",
                     "license": (dist.metadata["License"] or "") if dist else "", "library": "", "manifest": "", "source": "python",
                     "state": "found", "isolated": False, "provides": [(p.group.split(".")[1].rstrip("s"), p.name) for p in points],
                     "note": "", "failure": None})
    return rows


def load(name_or_path):
    """Loads a library by name or path; loading it again gives the same. Its name. PluginError with the reason otherwise."""
    return _core._plugin_load(os.fspath(name_or_path))


def load_all():
    """Loads every library that is found, and those that packages name. The names; a warning for each that fails."""
    for point in entry_points("mlsysim.plugins"):
        target = _import(point)
        if target is None:
            continue
        try:
            load(target() if callable(target) else target)
        except PluginError as error:
            warnings.warn(f"the plugin '{point.name}' of the package '{_distribution(point)}' is left out: {error}", stacklevel=2)
    loaded, failed = _core._plugin_load_all()
    for row in failed:
        warnings.warn(f"the plugin '{row['name']}' is left out: {row['failure']['stage']}: {row['failure']['message']}", stacklevel=2)
    return loaded


def unload(name):
    """Withdraws what a library registered; runs that use it keep its code."""
    from .resolvers import _classes

    _core._plugin_unload(name)
    for known in [k for k in _classes if "/" in k]:
        del _classes[known]


def reload(name):
    """Loads the file of a library again. Old and new version, and what becomes of the old code."""
    return _core._plugin_reload(name)


def has_feature(name, feature):
    """Whether a loaded library has a feature, asked by name; False for one that it does not know."""
    return _core._plugin_has_feature(name, feature)


def resolvers():
    """{class name: class} of the resolvers of installed packages."""
    from .base import BaseResolver

    out = {}
    for point in entry_points(*RESOLVER_GROUPS):
        cls = _import(point)
        if cls is None:
            continue
        if not (isinstance(cls, type) and issubclass(cls, BaseResolver)):
            warnings.warn(f"'{point.name}' of {point.group} ({point.value}) is no resolver: it does not derive from BaseModel, "
                          "BaseSolver or BaseOptimizer", stacklevel=3)
            continue
        out[cls.__name__] = cls
    return out


def callbacks():
    """Objects of the callbacks of installed packages, for Pipeline.register_callback."""
    made = []
    for point in entry_points("mlsysim.callbacks"):
        target = _import(point)
        if target is not None:
            made.append(target() if isinstance(target, type) else target)
    return made


def check(distribution):
    """What is wrong with the entry points of a package: a list of sentences, empty when all is well."""
    from .base import BaseResolver
    from .results import SolverResult

    problems, found = [], 0
    for point in entry_points():
        if _distribution(point) != distribution:
            continue
        found += 1
        try:
            target = point.load()
        except Exception as error:
            problems.append(f"{point.group} {point.name}: {type(error).__name__}: {error}")
            continue
        if point.group not in RESOLVER_GROUPS:
            continue
        if not (isinstance(target, type) and issubclass(target, BaseResolver)):
            problems.append(f"{point.group} {point.name}: it does not derive from BaseModel, BaseSolver or BaseOptimizer")
            continue
        if target.__name__ != point.name:
            problems.append(f"{point.group} {point.name}: the class is called {target.__name__}")
        if not (target.__doc__ or "").strip():
            problems.append(f"{point.group} {point.name}: it has no docstring")
        if not (isinstance(target.produces, type) and issubclass(target.produces, SolverResult)):
            problems.append(f"{point.group} {point.name}: 'produces' is no SolverResult")
        try:
            from .pipelines import _Stage

            _Stage(target())
        except Exception as error:
            problems.append(f"{point.group} {point.name}: {type(error).__name__}: {error}")
    if not found:
        raise _input_error(f"the package '{distribution}' has no entry points of mlsysim", key=distribution, found="none",
                           expected=f"one in {', '.join(GROUPS)}", hint="pip install it", kind=PluginError, id="mlsysim.python.190")
    return problems


def _main(words):
    if len(words) == 2 and words[0] == "check":
        try:
            problems = check(words[1])
        except PluginError as error:
            print(error)
            return 3
        print("\n".join(problems) if problems else f"{words[1]}: all checks passed")
        return 1 if problems else 0
    if words == ["list"]:
        for row in list_plugins():
            provides = ", ".join(f"{kind} {name}" for kind, name in row["provides"])
            why = row["failure"]["message"] if row["failure"] else row["note"]
            print(f"{row['name']} {row['version']}  {row['state']}  {row['source']}  {provides}  {why}".rstrip())
        return 0
    print("usage: python3 -m mlsysim.plugins list | check DISTRIBUTION")
    return 2


if __name__ == "__main__":
    import sys

    sys.exit(_main(sys.argv[1:]))
