"""Import paths: module of the other package -> modules of ours, in which its names are looked up in this order.

A name in `_PATHS` of a module that exists here adds to it; everything else is a module of its own.
"""

from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

_SOLVERS = ("resolvers", "base", "core.solver")
_UNITS = ("compat.units", "units")
_SEARCH = ("compat.search",)
_LAWS = ("compat.laws",)
_SCENARIOS = ("compat.scenarios",)

_PATHS = {
    "": ("compat.units", "compat.laws", "compat.scenarios", "compat.text", "compat.plots", "compat.figures", "compat.workloads"),
    "solvers": _SOLVERS,
    "physics": _LAWS,
    **{f"physics.{part}": _LAWS for part in "communication economics memory performance reliability scaling serving transformer".split()},
    "physics.constants": _UNITS,
    "fmt": ("compat.text",),
    **{f"fmt.{part}": ("compat.text",) for part in "core domains quantities ranges".split()},
    "calibration": ("compat.figures.calibration",),
    "viz": ("compat.plots",),
    "viz.plots": ("compat.plots",),
    "literature": (),
    "literature.registry": ("compat.figures",),
    "platforms": (),
    "platforms.registry": ("compat.figures",),
    "engine": ("factory", "pipelines", "results", *_SCENARIOS, *_SEARCH, "compat.walls"),
    "engine.engine": ("engine", "results"),
    "engine.evaluation": ("engine",),
    "engine.pipeline": ("pipelines",),
    "engine.results": ("results",),
    "engine.resolver_factory": ("factory",),
    "engine.solvers": _SOLVERS,
    **{f"engine.solvers.{part}": _SOLVERS for part in "base compression data distributed economics operations orchestration parallelism "
       "performance reliability serving sustainability training".split()},
    "engine.walls": ("compat.walls",),
    "engine.constraint_explorer": ("compat.explorer",),
    "engine.dse": _SEARCH,
    "engine.explainers": _SEARCH,
    "engine.scenarios": _SCENARIOS,
    "engine.calibration": ("compat.figures.calibration",),
    "cli": (),
    "cli.schemas": ("compat.plan",),
    "cli.main": ("compat.plan",),
    "core.units": _UNITS,
    "core.constants": _UNITS,
    "core.defaults": ("compat.figures.calibration",),
    "core.formulas": _LAWS,
    "core.walls": ("compat.walls",),
    "core.dse": _SEARCH,
    "core.explainers": _SEARCH,
    "core.scenarios": _SCENARIOS,
    "core.exceptions": ("compat.errors",),
    "core.provenance": ("compat.provenance",),
    "show": ("compat.show",),
    "labs": ("compat.teaching",),
    "labs.state": ("compat.teaching",),
    "labs.experiments": (),
    "labs.experiments.v1_02_experiments": ("compat.placement",),
    "datasets": ("compat.figures",),
    "datasets.registry": ("compat.figures",),
    "ops": ("compat.figures",),
    "ops.registry": ("compat.figures",),
    "core.registry": ("registries",),
    "core.types": (*_UNITS, "compat.members", "compat.provenance"),
    "systems.reliability": (),
    "models.types": ("compat.workloads",),
    "models.importer": ("compat.importer",),
    "hardware.tech": ("compat.figures",),
    "infra": (),
    "infra.registry": ("infrastructure.registry",),
    "infra.types": ("infrastructure.types",),
}
# Single names that live in another place: (module, name) -> path of attributes from the package.
_NAMES = {
    ("", "Infra"): "Infrastructure",
    ("", "Applications"): "compat.scenarios.Scenarios",
    ("core.scenarios", "Applications"): "compat.scenarios.Scenarios",
    ("", "Tiers"): "compat.figures.Platforms",
    ("systems.registry", "Tiers"): "compat.figures.Platforms",
    ("", "PerformanceProfile"): "results.PerformanceProfile",
    ("core.engine", "PerformanceProfile"): "results.PerformanceProfile",
    ("core.exceptions", "MLSysError"): "errors.Error",
    ("core.pipeline", "CompositionError"): "errors.PipelineBuildError",
    ("engine.pipeline", "CompositionError"): "errors.PipelineBuildError",
    ("", "Scenario"): "compat.scenarios.Scenario",
    **{("engine.results", f"{kind}OptimizerResult"): f"results.{kind}Result" for kind in ("Parallelism", "Batching", "Placement")},
    ("infrastructure.registry", "Grids"): "Infrastructure.Grids",
    ("infrastructure.registry", "Datacenters"): "Infrastructure.Datacenters",
    ("infra.registry", "Infra"): "Infrastructure",
    ("infra.registry", "Grids"): "Infrastructure.Grids",
    ("systems.registry", "Clusters"): "Systems.Clusters",
    ("systems.reliability", "Reliability"): "Systems.Reliability",
    ("systems.registry", "Nodes"): "Systems.Nodes",
    ("systems.registry", "Fabrics"): "Systems.Fabrics",
    **{("systems.registry", group): f"Systems.{group}" for group in ("Pods", "Racks", "Storage")},
    ("infrastructure.registry", "FacilityCooling"): "Infrastructure.Cooling",
    **{("models.registry", f"{group}Models"): f"Models.{group}" for group in (
        "Language", "Vision", "Tiny", "Recommendation", "StateSpace", "GenerativeVision", "Embodied")},
    **{("hardware.registry", f"{group}Hardware"): f"Hardware.{group}" for group in ("Cloud", "Workstation", "Mobile", "Edge", "Tiny")},
}
# Packages whose modules may be named before they are imported.
_PACKAGES = ("core", "hardware", "models", "systems", "infrastructure", "literature", "platforms", "cli", "infra")
# Branches of registries: (registry, name) -> name in the package.
REGISTRIES = {("Hardware", "Tech"): "Tech"}


class _Loader:
    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        own = module.__name__[len("mlsysim."):]
        module.__doc__ = f"'{own}' of the Python package of the same name; its names are found in {', '.join(_PATHS[own]) or 'its parts'}."

        def __getattr__(name):
            return look_up(own, name)

        module.__getattr__ = __getattr__


def find(name):
    """The spec of a module of the table."""
    if name not in _PATHS:
        return None
    return ModuleSpec(f"mlsysim.{name}", _Loader, is_package=True)


def look_up(module, name):
    """A name of a module of the other package. AttributeError where we have nothing for it."""
    import mlsysim

    if (module, name) in _NAMES:
        found = mlsysim
        for part in _NAMES[module, name].split("."):
            found = _part(found, part)
        return found
    inner = f"{module}.{name}".lstrip(".")
    if inner in _PATHS:
        return import_module(f"mlsysim.{inner}")
    if module in _PACKAGES and name.islower() and find_spec(f"mlsysim.{inner}"):
        return import_module(f"mlsysim.{inner}")
    if name != "__all__" and name.startswith("__"):
        raise AttributeError(name)
    if name == "__all__":
        return [own for source in _PATHS.get(module, ()) for own in _exported(_module(source))]
    for source in _PATHS.get(module, ()):
        try:
            return getattr(_module(source), name)
        except AttributeError:
            continue
    raise AttributeError(f"module 'mlsysim{'.' if module else ''}{module}' has no attribute '{name}'")


def _exported(source):
    """The names that a module of ours brings with a star."""
    return getattr(source, "__all__", None) or [name for name in dir(source) if not name.startswith("_")]


def _part(owner, name):
    try:
        return getattr(owner, name)
    except AttributeError:
        return import_module(f"{owner.__name__}.{name}")


def _module(path):
    """A module, or an object in one, by its path below the package."""
    try:
        return import_module(f"mlsysim.{path}")
    except ModuleNotFoundError:
        head, _, last = path.rpartition(".")
        return getattr(_module(head), last)
