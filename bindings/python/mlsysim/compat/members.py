"""Attributes of specs and quantities: class -> {old name: path of ours | (path, unit) | function of the object}."""

from types import SimpleNamespace

from ..results import _jsonable
from .provenance import Metadata, Provenance


def facility_of(grid):
    """The facility that the zoo has on a grid of its own, or None."""
    from ..registries import find

    return find("datacenter", f"{grid.name}_Facility")


def _of_facility(name):
    """A figure that the other package keeps with the grid, and that belongs to the buildings on it."""

    def read(grid):
        from ..registries import Technology

        facility = facility_of(grid)
        value = getattr(facility, name, None) if facility else None
        value = Technology[f"default.{name}"].value if value is None else value
        return value.m_as("L/kWh") if name == "wue" and hasattr(value, "m_as") else float(value)

    return read


def _copy(spec):
    return lambda update=None, deep=False: spec.replace(**(update or {}))


# Derived figures that the other package stores.
_STORED = {
    "HardwareNode": ("release_year", "dispatch_tax", "tdp"),
    "ComputeCore": ("peak_flops", "precision_flops"),
    "Workload": ("layers", "hidden_dim", "heads", "kv_heads", "inference_flops"),
    "GridProfile": ("carbon_intensity_g_kwh",),
}


def _dump(spec):
    def model_dump(**_):
        from .. import specs

        out = _jsonable(spec.to_dict())
        for name in _STORED.get(type(spec).__name__, ()):
            out.setdefault(name, _jsonable(_plain(getattr(spec, name))))
        for name in spec._fields:
            part = getattr(spec, name)
            if type(part) in specs._PART_SET and name in out:
                out[name] = _dump(part)()
        return out

    return model_dump


def _plain(value):
    return dict(value) if type(value).__name__ == "mappingproxy" else value


def _dump_json(spec):
    import json

    return lambda **options: json.dumps(_dump(spec)(), indent=options.get("indent"))


def _metadata(spec):
    """Where an entry comes from, in the fields of the other package."""
    own = spec.provenance()
    return Metadata(own and Provenance(kind=own.kind, ref=own.citation or own.ref, url=own.url, verified=own.verified, notes=own.note, id=own.ref))


# Formats by the bytes of a value, as the other package has them.
_WIDTHS = {4: "fp32", 2: "fp16", 1: "fp8", 0.5: "int4"}


def _kv_cache(model):
    def get_kv_cache_size(seq_len, batch_size=1, precision="fp16"):
        """Keys and values of sequences, as serving counts them; what a model costs here does not depend on the device."""
        from ..registries import Hardware
        from ..resolvers import resolver_class

        if hasattr(precision, "m_as"):
            precision = _WIDTHS.get(precision.m_as("B"), precision)

        return resolver_class("ServingModel")._core_solve(
            workload=model, hardware=Hardware.H100, seq_len=seq_len, batch_size=batch_size, kv_precision=precision).kv_cache_size.to("B")

    return get_kv_cache_size


def _lower(model):
    """The scalar summary by which the other package describes a model."""

    def lower(precision_bytes="2 B", precision=None):
        from ..units import Q_

        weights = model.size_in_bytes(precision or Q_(precision_bytes))
        return SimpleNamespace(name=model.name, total_ops=model.inference_flops, parameter_count=model.parameters, weight_bytes=weights,
                               arithmetic_intensity=(model.inference_flops / weights).to("FLOP/B"), layers=model.layers)

    return lower


def _compression_sweep(resolver):
    """Several ways to compress, and which of them no other beats in size, speed and accuracy at once."""

    def sweep(model, hardware, candidates, **shared):
        found = [resolver.solve(workload=model, hardware=hardware, **{**shared, **candidate}) for candidate in candidates]

        def beats(one, other):
            pairs = [(-one.compressed_size, -other.compressed_size), (one.inference_speedup, other.inference_speedup),
                     (one.estimated_accuracy_delta, other.estimated_accuracy_delta)]
            return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)

        front = [one.label for one in found if one.feasible and not any(beats(other, one) for other in found if other.feasible)]
        return SimpleNamespace(candidates=found, frontier_labels=front,
                               dominated_labels=[one.label for one in found if one.feasible and one.label not in front],
                               best_candidate_label=front[0] if front else None)

    return sweep


def _compact(quantity):
    """With the prefix by which its number has one to three digits before the point; as it is where its unit takes none."""

    def to_compact():
        from ..errors import UnitError

        base = quantity.to_base()
        for prefix in ("", "k", "M", "G", "T", "P", "E", "m", "u", "n", "p"):
            try:
                found = quantity.to(f"{prefix}{base.units}")
            except UnitError:
                continue
            if 1 <= abs(found.magnitude) < 1000:
                return found
        return quantity

    return to_compact


_SPEC = {"model_copy": _copy, "model_dump": _dump, "model_dump_json": _dump_json, "copy": _copy, "dict": _dump,
         "model_fields": lambda spec: dict.fromkeys(spec._fields)}
_ENTRY = {**_SPEC, "metadata": _metadata}

MEMBERS = {
    "Workload": {**_ENTRY, "get_kv_cache_size": _kv_cache, "lower": _lower, "context_length": "max_positions",
                 "training_ops": lambda model: None,
                 "state_size": lambda model: model.stacks[0].mixer.state_space.state_size},
    "HardwareNode": {**_ENTRY, "embodied_carbon_kg": ("embodied_carbon", "kgCO2e")},
    **{name: _ENTRY for name in ("Node", "Fleet", "Pod", "Rack", "CoolingProfile")},
    "NetworkFabric": {
        **_ENTRY,
        "bandwidth_gbs": ("bandwidth", "GB/s"),
        "latency_us": lambda fabric: 0.0 if fabric.latency is None else fabric.latency.m_as("us"),
    },
    "GridProfile": {
        **_ENTRY, "pue": _of_facility("pue"), "wue": _of_facility("wue"),
        "renewable_pct": lambda grid: None if grid.renewable_share is None else 100 * grid.renewable_share,
        "carbon_kg": lambda grid: lambda energy_kwh: float(energy_kwh) * grid.carbon_intensity_g_kwh / 1000,
    },
    "Datacenter": {**_ENTRY, "pue_override": "pue"},
    **{name: _SPEC for name in ("ComputeCore", "MemoryHierarchy", "StorageHierarchy", "IOInterconnect", "PowerEnvelope")},
    "CompressionModel": {"sweep": _compression_sweep},
    "Quantity": {
        "dimensionality": lambda q: q.dimension,
        "unitless": lambda q: q.dimensionless,
        "to_reduced_units": lambda q: q.to_base,
        "to_root_units": lambda q: q.to_base,
        "to_compact": _compact,
        "to_tuple": lambda q: lambda: (q.magnitude, q.units),
        "is_compatible_with": lambda q: lambda other: q.check(str(getattr(other, "units", other))),
    },
}
