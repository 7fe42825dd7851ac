"""Devices, systems, models and grids as Python objects.

All are immutable. `replace` makes a changed copy, which is not an entry of the zoo.

>>> mlsysim.Hardware.H100.replace(tdp="500 W").tdp == mlsysim.q("500 W")
True
"""

from . import _mlsysim as _core, compat
from ._mlsysim import (
    ActionShape, ChainLaunch, CollectiveTimes, CompilerHost, ComputeCore, ConvLayer, Conventions, ConvolutionRates, CoolingProfile, Datacenter,
    DenseFeedForward, DeviceClass, DiffusionShape, ExpertChoice, ExpertRates, Experts, FeedForward, FigureRule, Fleet, GenerationConstants,
    GridProfile, FrameworkHost, GroupedAttention, HardwareNode, IOInterconnect, InferenceTotals, KernelFamily, KernelRate, KernelTimes,
    LatentAttention, LaunchPart, Layer,
    LayerRun, LinearAttention, LinkLevel, ListedOperator, Lookup, EngineMemoryRule, MemoryHierarchy, MemoryKept, MemoryStep,
    Mixer, NetworkFabric, Node, Outline, PartitionProfile,
    Pod, PowerDraw, PowerEnvelope, ProductRates, Rack, Reach, RecommendationShape, RecurrenceChain, RecurrenceRates, Recurrent, Residual, ScalarFigure, SecondMemoryTier,
    Selection, ServingEngine, Stack, StackInput, StackOutput, StateSpace, StorageHierarchy, StorageTier,
    StoredFormat, SustainedShare, Tiles, TrainingTotals, TunedShapes, UsualRuntimes, Workload,
)
from .errors import InputError

__all__ = [
    "ActionShape", "ChainLaunch", "CollectiveTimes", "CompilerHost", "ComputeCore", "ConvLayer", "Conventions",
    "ConvolutionRates", "CoolingProfile", "Datacenter",
    "DenseFeedForward", "DeviceClass", "DiffusionShape", "EngineMemoryRule", "ExpertChoice", "ExpertRates", "Experts", "FeedForward", "FigureRule", "Fleet", "FrameworkHost",
    "GenerationConstants", "GridProfile", "GroupedAttention", "HardwareNode", "IOInterconnect", "InferenceTotals", "KernelFamily",
    "KernelRate", "KernelTimes", "LatentAttention", "LaunchPart", "Layer", "LayerRun", "LinearAttention", "LinkLevel", "ListedOperator", "Lookup",
    "MemoryHierarchy", "MemoryKept", "MemoryStep", "Mixer",
    "NetworkFabric", "Node", "Outline", "PartitionProfile", "Pod", "PowerDraw", "PowerEnvelope", "ProductRates", "Provenance", "Rack",
    "Reach", "RecommendationShape", "RecurrenceChain", "RecurrenceRates", "Recurrent", "Residual", "ScalarFigure", "SecondMemoryTier", "Selection",
    "ServingEngine", "Stack", "StackInput", "StackOutput", "StateSpace", "StorageHierarchy", "StorageTier",
    "StoredFormat", "SustainedShare", "Tiles", "TrainingTotals", "TunedShapes", "UsualRuntimes", "Workload",
]

_PARTS = (
    ChainLaunch, RecurrenceChain, RecurrenceRates, CompilerHost, ConvolutionRates, ExpertChoice, ExpertRates, TunedShapes, FrameworkHost, ProductRates, KernelRate, LaunchPart, ComputeCore, SecondMemoryTier, MemoryHierarchy, StorageHierarchy, IOInterconnect, PowerEnvelope, SustainedShare,
    KernelTimes, PowerDraw, Tiles, CollectiveTimes, PartitionProfile, FigureRule, ActionShape, DenseFeedForward, Experts, FeedForward,
    GroupedAttention, LatentAttention, Layer, LayerRun, LinearAttention, LinkLevel, Lookup, Mixer, Outline, Reach, Recurrent,
    Residual, Selection, Stack, StackInput, StackOutput, StateSpace, StoredFormat, DiffusionShape,
    RecommendationShape, ConvLayer, ListedOperator, InferenceTotals, TrainingTotals, Conventions,
    EngineMemoryRule, MemoryKept, MemoryStep, UsualRuntimes,
)
# Type name of the zoo for each class that has entries.
_ZOO_TYPES = {
    DeviceClass: "device_class", HardwareNode: "hardware", Workload: "workload", Node: "node", NetworkFabric: "fabric", Fleet: "fleet", Pod: "pod",
    Rack: "rack", StorageTier: "storage", GridProfile: "grid", CoolingProfile: "cooling", Datacenter: "datacenter",
    ServingEngine: "engine", KernelFamily: "kernel_family", ScalarFigure: "figure",
}
_OF_TYPE = {name: cls for cls, name in _ZOO_TYPES.items()}


class Provenance:
    """Source of a parameter.

    Attributes
    ----------
    entry, figure : str
        The zoo entry and its parameter.
    authored : str
        The value as the source states it.
    kind : str
        Kind of the source, such as "datasheet".
    ref, citation, url : str or None
        Key, text and address of the source.
    verified, recorded : str or None
        Dates.
    note, formula, same_die, spread, where
        Remarks, derivation, related device, range, and place in the zoo.

    Examples
    --------
    >>> mlsysim.Hardware.H100.provenance("memory.bandwidth").authored
    '3.35 TB/s'
    """

    __slots__ = ("entry", "figure", "authored", "kind", "ref", "citation", "url", "verified", "recorded", "note", "formula",
                 "same_die", "spread", "where")

    def __init__(self, parts):
        for name in self.__slots__:
            setattr(self, name, parts.get(name))
        cited = _core._reference(self.ref) if self.ref else None
        self.citation, self.url = (cited[0], cited[1] or None) if cited else (None, None)

    def __repr__(self):
        parts = (f"{n}={getattr(self, n)!r}" for n in self.__slots__ if getattr(self, n) is not None)
        return f"Provenance({', '.join(parts)})"

    def __str__(self):
        said = f" = {self.authored}" if self.authored else ""
        name = f"{self.entry}.{self.figure}" if self.figure else f"{self.entry}"
        date = f", read {self.verified}" if self.verified else f", entered {self.recorded}" if self.recorded else ""
        return f"{name}{said} ({self.kind}: {self.citation or self.ref}{date})"


def _provenance(self, figure=""):
    """Return the source of a parameter.

    Parameters
    ----------
    figure : str, optional
        Dotted name: "memory.bandwidth". Without one, the source of the entry.

    Returns
    -------
    Provenance or None
        None for a spec that is not an entry of the zoo.

    Raises
    ------
    LookupError
        There is no such parameter.

    Examples
    --------
    >>> mlsysim.Hardware.H100.provenance("memory.bandwidth").kind
    'datasheet'
    """
    parts = self._provenance(figure)
    return None if parts is None else Provenance(parts)


_BLANKS = {}


def _blank(cls):
    if cls not in _BLANKS:
        _BLANKS[cls] = cls._blank()
    return _BLANKS[cls]


def _plain(value):
    if type(value) in _PART_SET:
        return value.to_dict()
    if type(value).__name__ == "mappingproxy":
        return dict(value)
    if isinstance(value, tuple):
        return tuple(_plain(v) for v in value)
    return value


def _to_dict(self):
    """Convert to keywords of the class: `type(x)(**x.to_dict()) == x`.

    Returns
    -------
    dict
        Members that differ from their defaults.

    Examples
    --------
    >>> h100 = mlsysim.Hardware.H100
    >>> type(h100)(**h100.to_dict()) == h100
    True
    """
    out = {}
    blank = _blank(type(self))
    for name in self._fields:
        if (type(self), name) == (Fleet, "total_accelerators"):
            continue  # counted from the nodes
        value = getattr(self, name)
        if type(value) in _PART_SET:
            value = value.to_dict()
            if value:
                out[name] = value
        elif value is not None and value != getattr(blank, name):
            out[name] = _plain(value)
    return out


def _replace(self, **changes):
    """Copy with some members changed. The copy is not an entry of the zoo.

    Parameters
    ----------
    **changes
        New values of members.

    Returns
    -------
    spec

    Raises
    ------
    InputError
        A member is not known.
    UnitError, DimensionError
        A quantity cannot be read or has another dimension.

    Examples
    --------
    >>> mlsysim.Hardware.H100.replace(tdp="500 W").tdp == mlsysim.q("500 W")
    True
    """
    return self._replace(changes)


def _repr(self):
    cls = type(self)
    if cls in _ZOO_TYPES and self._entry_name is not None:
        return f"{cls.__name__}({self.name!r})"
    return f"{cls.__name__}({', '.join(f'{k}={v!r}' for k, v in self.to_dict().items())})"


def _repr_html(self):
    from html import escape

    rows = "".join(f"<tr><th style='text-align:left'>{escape(k)}</th><td style='text-align:left'>{escape(_shown(v))}</td></tr>"
                   for k, v in _flat(self.to_dict()))
    return f"<table><caption>{escape(type(self).__name__)} {escape(getattr(self, 'name', ''))}</caption>{rows}</table>"


def _shown(value):
    return value.name if hasattr(value, "name") else str(value)


def _flat(values, prefix=""):
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _eq(self, other):
    if type(self) is not type(other):
        return NotImplemented
    return self is other or self.to_dict() == other.to_dict()


def _hash(self):
    return hash((type(self).__name__, getattr(self, "name", None)))


def _reduce(self):
    cls = type(self)
    if cls in _ZOO_TYPES and self._entry_name is not None and _is_shipped(self):
        return (_from_zoo, (_ZOO_TYPES[cls], self._entry_name))
    return (_from_dict, (cls.__name__, self.to_dict()))


def _is_shipped(spec):
    from .registries import find

    return find(_ZOO_TYPES[type(spec)], spec._entry_name) is spec


def _from_zoo(type_name, name):
    from .registries import find

    spec = find(type_name, name)
    if spec is None:
        from .errors import LookupError, _input_error

        raise _input_error(f"the zoo has no {type_name} '{name}'", key=name, kind=LookupError, id="mlsysim.python.103")
    return spec


def _from_dict(cls, values):
    return getattr(_core, cls)._build(values)


def _member(self, name):
    return compat.member(self, name)


def _init(make):
    """The constructor, which asks for other names of its keywords when it refuses them."""

    def __init__(self, **values):
        try:
            make(self, **values)
        except InputError:
            again = compat.spec_again(type(self).__name__, values)
            if again is None:
                raise
            make(self, **again)

    __init__.__doc__ = make.__doc__
    return __init__


def _itself(self, *_):
    return self


_PART_SET = frozenset(_PARTS)
for _cls in (*_PARTS, *_ZOO_TYPES):
    _cls.__init__ = _init(_cls.__init__)
    _cls.__getattr__ = _member
    _cls.to_dict = _to_dict
    _cls.replace = _replace
    _cls.__repr__ = _repr
    _cls._repr_html_ = _repr_html
    _cls.__eq__ = _eq
    _cls.__hash__ = _hash
    _cls.__reduce__ = _reduce
    _cls.__copy__ = _itself
    _cls.__deepcopy__ = _itself
    if _cls in _ZOO_TYPES:
        _cls.provenance = _provenance
del _cls
