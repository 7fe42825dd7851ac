"""Plugins: libraries with a C interface, and installed Python packages with entry points.

>>> mlsysim.plugins.load("build/mlsysim-plugin-acme.so")                                # doctest: +SKIP
'acme'
>>> mlsysim.plugins.load("acme", isolated=True, limits={"timeout": "2 s", "memory": "1 GiB"})  # doctest: +SKIP
'acme'

A loaded library adds its resolvers, units and zoo entries. Entry-point groups are mlsysim.models, mlsysim.solvers and
mlsysim.optimizers (resolvers of any tier), mlsysim.callbacks, and mlsysim.plugins (the path of a library, or a function that returns
it). Packages are imported when they are first used. MLSYSIM_PLUGINS=none turns all plugins off.
"""

import os
import re
import warnings

from . import _mlsysim as _core
from ._mlsysim import Quantity
from .errors import PluginError, _input_error
from .files import _read_bytes

__all__ = ["list_plugins", "load", "load_all", "unload", "reload", "has_feature", "describe", "support", "converters", "import_text", "export_text",
           "entry_points", "callbacks", "check"]

RESOLVER_GROUPS = ("mlsysim.models", "mlsysim.solvers", "mlsysim.optimizers")
GROUPS = (*RESOLVER_GROUPS, "mlsysim.callbacks", "mlsysim.plugins")


def _normal(name):
    """The name of a package as PEP 503 compares it: my_power, My.Power and my-power are one."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _allowed(distribution):
    """Whether MLSYSIM_PLUGINS lets a package take part."""
    names = os.environ.get("MLSYSIM_PLUGINS", "all")
    return names in ("", "all") or _normal(distribution) in map(_normal, names.split(","))


def _distribution(point):
    found = getattr(point, "dist", None)
    return found.metadata["Name"] if found is not None else ""


def entry_points(*groups):
    """List the entry points of installed packages.

    Parameters
    ----------
    *groups : str
        Groups; all of `GROUPS` without any.

    Returns
    -------
    list of importlib.metadata.EntryPoint
        In order of group and name. MLSYSIM_PLUGINS can exclude packages.

    Examples
    --------
    >>> isinstance(entry_points("mlsysim.callbacks"), list)
    True
    """
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
    """List every plugin that is found. Libraries are not opened and packages are not imported.

    Returns
    -------
    list of dict
        name, version, state, source, provides, and the failure if there is one.

    Examples
    --------
    >>> isinstance(list_plugins(), list)
    True
    """
    by_package = {}
    for point in entry_points():
        by_package.setdefault(_distribution(point), []).append(point)
    rows = _without_packages(_core._plugin_records())
    for name, points in by_package.items():
        dist = getattr(points[0], "dist", None)
        rows.append({"name": name, "version": dist.version if dist else "", "summary": (dist.metadata["Summary"] or "") if dist else "",
                     "license": (dist.metadata["License"] or "") if dist else "", "library": "", "manifest": "", "source": "python",
                     "state": "found", "isolated": False, "provides": [(p.group.split(".")[1].rstrip("s"), p.name) for p in points],
                     "note": "", "failure": None})
    return rows


def _without_packages(rows):
    """MLSYSIM_PLUGINS names libraries and packages alike, and the host of libraries knows no packages."""
    packages = {_normal(_distribution(point)) for point in entry_points()}
    return [row for row in rows if row["source"] != "MLSYSIM_PLUGINS" or _normal(row["name"]) not in packages]


def _how(isolated, limits):
    """(whether all are isolated, names of those that are, time limit in ms or None, memory in bytes or None)."""
    everything, names = (bool(isolated), []) if isinstance(isolated, bool) else (False, list(isolated))
    if isinstance(isolated, str):
        raise TypeError(f"isolated='{isolated}': expected True, False or a list of names")
    if limits is None:
        return everything, names, None, None
    odd = sorted(set(limits) - {"timeout", "memory"})
    if odd or not (everything or names):
        raise _input_error("the limits cannot be kept", key="limits", found=f"'{odd[0]}'" if odd else "a plugin in this process",
                           expected="timeout and memory" if odd else "a plugin in a process of its own",
                           hint="" if odd else "isolated=True; in this process nothing can stop a call", id="mlsysim.python.191")

    def amount(name, unit):
        value = limits.get(name)
        if value is None:
            return None
        number = Quantity(value).to(unit).magnitude if isinstance(value, str) else value.to(unit).magnitude
        if not 1 <= number < 2**62:
            raise _input_error(f"the limit of {name} cannot be kept", key=name, found=str(value), expected=f"at least 1 {unit}", id="mlsysim.python.196")
        return int(number)

    return everything, names, amount("timeout", "ms"), amount("memory", "B")


def _changed():
    """Reads anew what depends on the libraries that are loaded."""
    from .registries import _read_again
    from .resolvers import _classes

    for known in [k for k in _classes if "/" in k]:
        del _classes[known]
    _read_again()


def _tell(notes):
    for name, note in notes:
        warnings.warn(f"the plugin '{name}': {note}", stacklevel=3)


def load(name_or_path, isolated=False, limits=None):
    """Load a library. A library that is loaded already stays as it is.

    Parameters
    ----------
    name_or_path : str or path
        Name from `list_plugins`, a library, or its manifest.
    isolated : bool, default False
        Whether the library runs in its own process, where a crash does no harm.
    limits : dict, optional
        {"timeout": "10 s", "memory": "2 GiB"}: limits of a call and of its process; only for isolated libraries.

    Returns
    -------
    str
        Name of the plugin.

    Raises
    ------
    PluginError
        The library cannot be loaded.
    InputError
        The limits cannot be kept.

    Examples
    --------
    >>> load("build/mlsysim-plugin-acme.so")                                                # doctest: +SKIP
    'acme'
    """
    if not isinstance(isolated, bool):
        raise TypeError(f"isolated={isolated!r}: expected True or False")
    name, notes = _core._plugin_load(os.fspath(name_or_path), *_how(isolated, limits))
    _changed()
    _tell(notes)
    return name


def load_all(isolated=False, limits=None, strict=False):
    """Load every library that is found or named by a package. A library that fails is a warning.

    Parameters
    ----------
    isolated : bool or list of str, default False
        Whether the libraries run in their own processes, or the names of those that do.
    limits : dict, optional
        As in `load`.
    strict : bool, default False
        Whether failures raise PluginError, after all others are loaded.

    Returns
    -------
    list of str
        Names of the loaded plugins.

    Raises
    ------
    PluginError
        A library in `isolated` is missing, or one failed and `strict` is set.

    Examples
    --------
    >>> load_all()                                                                          # doctest: +SKIP
    ['acme']
    """
    how = _how(isolated, limits)
    complaints, wanted = [], {_normal(name): name for name in how[1]}
    for point in entry_points("mlsysim.plugins"):
        target = _import(point)
        if target is None:
            complaints.append(f"the entry point '{point.name}' of the package '{_distribution(point)}' cannot be loaded")
            continue
        try:
            path = os.fspath(target() if callable(target) else target)
            _tell(_core._plugin_load(path, *how)[1])
        except PluginError as error:
            complaints.append(f"the plugin '{point.name}' of the package '{_distribution(point)}' is left out: {error}")
            warnings.warn(complaints[-1], stacklevel=2)
    loaded, failed, notes = _core._plugin_load_all(*how)
    _changed()
    _tell(notes)
    for row in _without_packages(failed):
        complaints.append(f"the plugin '{row['name']}' is left out: {row['failure']['stage']}: {row['failure']['message']}")
        warnings.warn(complaints[-1], stacklevel=2)
    there = {_normal(row["name"]) for row in _core._plugin_records() if row["state"] == "initialised" and row["isolated"]}
    missing = [name for normal, name in wanted.items() if normal not in there]
    if missing:
        raise _input_error(f"the plugin '{missing[0]}' cannot be run in a process of its own", key="isolated", found="no such plugin, or one that failed",
                           expected="a name that list_plugins() shows", kind=PluginError, id="mlsysim.python.192")
    if strict and complaints:
        raise _input_error("a plugin failed", key="strict", found="; ".join(complaints), expected="plugins that load",
                           hint="list_plugins() shows all of them", kind=PluginError, id="mlsysim.python.193")
    return loaded


def unload(name):
    """Withdraw everything that a library registered. Running calls keep its code.

    Parameters
    ----------
    name : str
        Name of the plugin.

    Raises
    ------
    LookupError
        The library is not loaded.

    Examples
    --------
    >>> unload("acme")                                                                      # doctest: +SKIP
    """
    _core._plugin_unload(name)
    _changed()


def reload(name):
    """Load the file of a library again.

    Parameters
    ----------
    name : str
        Name of the plugin.

    Returns
    -------
    dict
        old_version, new_version, same_interface and old_code (what becomes of the old code).

    Raises
    ------
    LookupError
        The library is not loaded.
    PluginError
        Its file cannot be loaded.

    Examples
    --------
    >>> reload("acme")                                                                      # doctest: +SKIP
    """
    report = _core._plugin_reload(name)
    _changed()
    return report


def has_feature(name, feature):
    """Check whether a loaded library has a feature.

    Parameters
    ----------
    name : str
        Name of the plugin.
    feature : str
        Name of the feature.

    Returns
    -------
    bool
        False for features that the library does not know.

    Raises
    ------
    LookupError
        The library is not loaded.

    Examples
    --------
    >>> has_feature("acme", "batch")                                                        # doctest: +SKIP
    True
    """
    return _core._plugin_has_feature(name, feature)


def describe(name):
    """Describe a loaded library.

    Parameters
    ----------
    name : str
        Name of the plugin.

    Returns
    -------
    dict
        Resolvers, options with the source of each value, attributes, backends, converters and interface versions.

    Raises
    ------
    LookupError
        The library is not loaded.

    Examples
    --------
    >>> describe("acme")["resolvers"]                                                       # doctest: +SKIP
    """
    return _core._plugin_describe(name)


def support(backend, workload, hardware, effort=2, mode="conservative"):
    """Check whether a backend of a plugin runs a model on one of its devices, without access to the device.

    Parameters
    ----------
    backend : str
        Name of the backend.
    workload : Workload
        The model.
    hardware : HardwareNode
        The device.
    effort : int, default 2
        Depth of the check, 0 to 4: names, attributes, types and shapes, context, trial rewrite.
    mode : {"conservative", "aggressive"}, default "conservative"
        What an uncertain answer becomes.

    Returns
    -------
    dict
        verdict ("yes", "no" or "maybe"), reasons (code, op, count, location, hint), effort, mode and seconds [s].

    Raises
    ------
    LookupError
        There is no such backend.

    Examples
    --------
    >>> support("acme/npu", mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100)["verdict"]     # doctest: +SKIP
    'no'
    """
    return _core._plugin_support(backend, workload, hardware, effort, mode)


def converters():
    """List the importers and exporters of loaded libraries.

    Returns
    -------
    list
        name, direction ("import" or "export") and format of each.

    Examples
    --------
    >>> isinstance(converters(), list)
    True
    """
    return _core._plugin_converters()


def import_text(importer, path):
    """Convert a file to a zoo file with an importer.

    Parameters
    ----------
    importer : str
        Name of the importer.
    path : path
        The file.

    Returns
    -------
    str
        Text of a zoo file, which was checked as a file of the user.

    Raises
    ------
    LookupError
        There is no such importer.
    PluginError, ErrorList
        The importer failed, or its text has errors.

    Examples
    --------
    >>> import_text("acme/toml", "chip.toml")                                               # doctest: +SKIP
    """
    return _core._plugin_import(importer, os.fspath(path), _read_bytes(path, "a file for the importer"))


def export_text(exporter, entry):
    """Convert a spec with an exporter.

    Parameters
    ----------
    exporter : str
        Name of the exporter.
    entry : spec
        An object such as Hardware.H100.

    Returns
    -------
    str

    Raises
    ------
    LookupError
        There is no such exporter.
    PluginError
        The exporter failed.

    Examples
    --------
    >>> export_text("acme/toml", mlsysim.Hardware.H100)                                     # doctest: +SKIP
    """
    return _core._plugin_export(exporter, entry)


def resolvers():
    """List the resolvers of installed packages.

    Returns
    -------
    dict
        {class name: class}.

    Examples
    --------
    >>> isinstance(resolvers(), dict)
    True
    """
    return {name: cls for name, (cls, _) in _package_resolvers().items()}


def _package_resolvers():
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
        dist = getattr(point, "dist", None)
        out[cls.__name__] = (cls, f"{_distribution(point)} {dist.version}" if dist else "")
    return out


def callbacks():
    """Create the callbacks of installed packages, for `Pipeline.register_callback`.

    Returns
    -------
    list

    Examples
    --------
    >>> isinstance(callbacks(), list)
    True
    """
    made = []
    for point in entry_points("mlsysim.callbacks"):
        target = _import(point)
        if target is not None:
            made.append(target() if isinstance(target, type) else target)
    return made


def check(distribution):
    """Check the entry points of a package.

    Parameters
    ----------
    distribution : str
        Name of the package.

    Returns
    -------
    list of str
        Problems, as sentences; empty if there are none.

    Raises
    ------
    PluginError
        The package has no entry points of mlsysim.

    Examples
    --------
    >>> check("acme-mlsysim")                                                               # doctest: +SKIP
    []
    """
    from .base import BaseResolver
    from .results import SolverResult

    problems, found = [], 0
    for point in entry_points():
        if _normal(_distribution(point)) != _normal(distribution):
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
            from .stages import Stage

            Stage(target())
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
