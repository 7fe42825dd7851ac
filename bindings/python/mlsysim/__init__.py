"""Predict whether a model fits on hardware, how fast it runs, what limits it and what it costs.

>>> import mlsysim
>>> mlsysim.Engine.solve("Llama3_8B", "H100").bottleneck
'memory'

Estimates are closed-form equations over a zoo of devices, models and prices. `ask` describes a setup to evaluate, vary or optimize.
Names are loaded on first use, so the import takes little time.
"""

from . import compat
from ._mlsysim import Quantity, __version__

compat.install()
Quantity.__getattr__ = compat.member  # only for names that a quantity does not have


def _quantity_html(value):
    from .notebook import quantity

    return quantity(value)


Quantity._repr_html_ = _quantity_html

# Name -> module that has it.
_HOME = {name: module for module, names in {
    "units": "Q_ q Unit",
    "arrays": "QuantityArray",
    "registries": "Hardware Models Systems Infrastructure Technology",
    "specs": "HardwareNode ComputeCore MemoryHierarchy StorageHierarchy IOInterconnect PowerEnvelope Node "
             "NetworkFabric Fleet Workload GridProfile Datacenter CoolingProfile Conventions",
    "zoo": "import_model",
    "programs": "read_program",
    "traffic": "read_traffic RecordedTraffic",
    "base": "BaseResolver BaseModel ForwardModel BaseSolver BaseOptimizer",
    "results": "SolverResult OptimizerResult Infeasible Skipped",
    "factory": "ResolverFactory",
    "pipelines": "Pipeline",
    "engine": "Engine SystemEvaluator SystemEvaluation",
    "explore": "ask Subject",
    "decisions": "size decide claim",
    "recording": "law Law where minimum maximum ceil floor sqrt log log2 exp",
}.items() for name in names.split()}
_ERRORS = (
    "Error", "UnitError", "DimensionError", "InputError", "LookupError", "DomainError", "PipelineError",
    "PipelineBuildError", "SolverError", "PluginError", "ErrorList",
)
_SUBMODULES = ("errors", "units", "arrays", "laws", "resolvers", "zoo", "results", "base", "core", "hardware", "models",
               "systems", "infrastructure", "validation", "plugins", "recording", "compat", "plans", "launches", "compiling", "traffic")
# Modules whose names are found here as well, so that nobody has to know them.
_PARTS = ("choices", "engine", "explore", "factory", "pipelines", "registries", "specs")


def _name_the_other_package():
    """Warns of the package of PyPI that has the same import name: one of the two hides the other."""
    import os
    import sys

    for folder in {os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *(p for p in sys.path if p.endswith("-packages"))}:
        try:
            found = [n for n in os.listdir(folder) if n.startswith("mlsysim-") and n.endswith(".dist-info")]
        except OSError:
            continue
        for name in found:
            import warnings

            warnings.warn(f"{folder} also holds the package {name[:-len('.dist-info')]} of PyPI, which has the same import name; this one "
                          "is mlsysim-cpp. Where both lie in one folder their files are mixed: pip uninstall mlsysim, then install "
                          "the wheel of mlsysim-cpp again", RuntimeWarning, stacklevel=3)


_name_the_other_package()


def __getattr__(name):
    from importlib import import_module

    if name == "__all__":  # what a star brings: no errors, because one of them has the name of a builtin
        from . import resolvers

        return compat.star(["Quantity", *_HOME, *resolvers.__all__])
    if name in _SUBMODULES or name in _PARTS:
        return import_module("." + name, __name__)
    if name in _HOME:
        value = getattr(import_module("." + _HOME[name], __name__), name)
    elif name in _ERRORS:
        value = getattr(import_module(".errors", __name__), name)
    elif name.startswith("__"):
        raise AttributeError(name)
    else:
        from . import resolvers

        try:
            value = getattr(resolvers, name, None) or compat.named("", name)
        except AttributeError:
            from ._mlsysim import _did_you_mean

            hint = _did_you_mean(name, __dir__())
            raise AttributeError(f"module 'mlsysim' has no attribute '{name}'" + (f"; {hint}" if hint else "")) from None
    globals()[name] = value
    return value


def __dir__():
    from . import resolvers

    return sorted({"Quantity", "__version__", *_HOME, *_ERRORS, *_SUBMODULES, *resolvers.__all__})
