"""Inputs of resolvers and constructors: {old name: entry}, and the order in which values without a name stood.

An entry is our name, (our name, unit of a bare number), or a function of the value and of all values that gives inputs.
"""

from .. import _mlsysim as _core
from .._mlsysim import Quantity

_RATE = "request/s"


def _recomputation(value, _):
    return {"recomputation": "full" if value else "none"}


def _overlap(value, given):
    """True lets exchanges overlap as far as `overlap_efficiency` or the default says; False lets nothing overlap."""
    return {} if value else {"overlap_efficiency": 0.0}


def _only(default):
    """An input that is understood at its default alone; everything else keeps the refusal."""

    def convert(value, _):
        if value != default:
            raise LookupError
        return {}

    return convert


def _lora(value, given):
    """Adapters of rank 16 at the four projections of every layer, as the other package counts them."""
    model = given.get("workload")
    if value and isinstance(model, str):
        from ..registries import Models

        model = Models[model]
    return {"trainable_fraction": min(2 * 16 * model.hidden_dim * 4 * model.layers / model.parameters.m_as("param"), 1.0)} if value else {}


def _stored(value, _):
    """Four bits that a device does not compute in are a format of the weights."""
    return {"weight_format": value} if value == "int4" else {"precision": value}


def _facility(value, _):
    """A grid where a facility is due: the facility that the zoo has on it, which brings its PUE and water along."""
    from .members import facility_of

    if type(value).__name__ != "GridProfile":
        return {"datacenter": value}
    facility = facility_of(value)
    return {"grid": value} if facility is None else {"datacenter": facility}



INPUTS = {
    "SingleNodeModel": {"activation_recomputation": _recomputation, "is_lora": _lora, "raise_errors": None,
                        "precision": _stored},
    "ServingModel": {"precision": _stored},
    "TrainingMemoryModel": {"activation_checkpointing": "recomputation"},
    "DistributedModel": {
        "topology_override": _only(None), "is_lora": _lora, "activation_recomputation": _recomputation, "overlap_comm": _overlap,
        "moe_routing_imbalance_factor": _only(1.0),
    },
    "SustainabilityModel": {"datacenter": _facility},
    "EconomicsModel": {"datacenter": _facility, "kwh_price": ("kwh_price", "USD/kWh")},
    "ContinuousBatchingModel": {"page_size": "page_tokens"},
    "TailLatencyModel": {"arrival_rate_qps": ("arrival_rate", _RATE), "service_latency_ms": ("service_latency", "ms")},
    "ServingCapacityModel": {"qps": ("arrival_rate", _RATE), "target_p99_latency_ms": ("target_p99_latency", "ms")},
    "DataModel": {"workload_data_rate": "data_rate"},
    "TransformationModel": {"sample_size_bytes": ("sample_size", "B")},
    "ReliabilityModel": {"job_duration_hours": ("job_duration", "h"), "checkpoint_time_s": ("checkpoint_time", "s"),
                         "avg_recovery_time_s": ("recovery_time", "s")},
    "OrchestrationModel": {"avg_job_duration_days": ("avg_job_duration", "d")},
    "CheckpointModel": {"checkpoint_interval_hours": ("checkpoint_interval", "h"), "n_writers": "writers",
                        "filesystem_limit_gbs": ("shared_limit", "GB/s")},
    "ParallelismOptimizer": {"overlap_comm": _overlap, "activation_recomputation": _recomputation},
    "BatchingOptimizer": {"sla_latency_ms": ("target_latency", "ms"), "arrival_rate_qps": ("arrival_rate", _RATE)},
    "PlacementOptimizer": {"regions": lambda value, _: {"regions": value if isinstance(value, str) else ",".join(value)},
                           "carbon_tax_per_ton": ("carbon_price", "USD/tCO2e")},
    "SensitivitySolver": {"perturbation_pct": lambda value, _: {"perturbation": value / 100}},
}

# Order of the inputs in version 0.3.0, where it differs from ours.
_ORDER = {
    "ServingModel": "workload hardware seq_len batch_size precision efficiency decode_hardware network_bandwidth draft_model",
    "TrainingMemoryModel": "workload hardware batch_size seq_len precision optimizer activation_checkpointing tp_size pp_size dp_size",
    "DistributedModel": "workload fleet batch_size precision efficiency tp_size pp_size ep_size v_stages microbatch_count",
    "SustainabilityModel": "fleet duration_days datacenter mfu embodied_carbon_per_device",
    "EconomicsModel": "fleet duration_days kwh_price datacenter grid mfu amortization_years infrastructure_multiplier",
    "NetworkRooflineModel": "workload fleet precision efficiency",
    "EfficiencyModel": "workload hardware workload_type use_flash_attention precision efficiency",
    "ContinuousBatchingModel": "workload hardware max_seq_len mean_request_tokens max_batch_size page_size precision efficiency",
    "TailLatencyModel": "arrival_rate_qps service_latency_ms num_replicas service_time_cv",
    "ServingCapacityModel": "workload hardware qps target_p99_latency_ms max_seq_len mean_request_tokens output_tokens max_batch_size",
    "TransformationModel": "batch_size sample_size_bytes cpu_throughput accelerator_step_time",
    "TopologyModel": "fabric topology num_nodes",
    "ScalingModel": "compute_budget target_model_size",
    "ReliabilityModel": "fleet job_duration_hours checkpoint_time_s avg_recovery_time_s",
    "OrchestrationModel": "fleet arrival_rate_jobs_per_day avg_job_duration_days",
    "CheckpointModel": "workload hardware optimizer checkpoint_interval_hours n_writers filesystem_limit_gbs",
    "WeightStreamingModel": "workload hardware seq_len batch_size precision efficiency phase",
    "InferenceScalingModel": "workload hardware reasoning_steps context_length precision efficiency",
    "SynthesisSolver": "workload target_latency precision efficiency",
    "ParallelismOptimizer": "workload fleet batch_size precision efficiency max_tp max_pp overlap_comm seq_len",
    "BatchingOptimizer": "workload hardware seq_len sla_latency_ms arrival_rate_qps num_replicas precision efficiency",
    "PlacementOptimizer": "fleet duration_days regions carbon_tax_per_ton mfu",
    "SensitivitySolver": "workload hardware precision perturbation_pct efficiency",
}

SPECS = {
    "Datacenter": {"pue_override": "pue"},
    "HardwareNode": {"embodied_carbon_kg": ("embodied_carbon", "kgCO2e")},
    "GridProfile": {"renewable_pct": lambda value, _: {"renewable_share": value / 100}},
}


def _bare(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _convert(owner, rows, values):
    """(values in our names, whether anything changed); LookupError where a value has no counterpart."""
    from . import note

    out, changed = {}, False
    for name, value in values.items():
        entry = rows.get(name, name)
        if isinstance(entry, str) or isinstance(entry, tuple):
            own, unit = entry if isinstance(entry, tuple) else (entry, None)
            new = {own: Quantity(value, unit) if unit is not None and _bare(value) else value}
        else:
            new = entry(value, values)
        if new != {name: value} or type(new.get(name)) is not type(value):
            changed = True
            if new and name not in new:
                note(f"'{name}' of {owner}", f"'{next(iter(new))}'")
            elif _bare(value):
                note(f"a bare number for '{name}' of {owner}", f"a quantity, e.g. '{new[name]}'")
        out.update(new)
    return out, changed


def _refuse_misfits(result):
    """`raise_errors` of the other package: what does not fit is an error."""
    from .errors import OOMError

    if not getattr(result, "feasible", True):
        raise OOMError("the model does not fit in memory", result.memory_footprint, result.memory.capacity)
    return result


def translated(resolver, args, values):
    """(inputs, whether one was renamed, check of the result or None) of a call in our words; None where nothing changes."""
    if resolver not in INPUTS and resolver not in _ORDER:
        return None
    order = _ORDER.get(resolver, "").split() or [row["name"] for row in _core._resolver(resolver).inputs]
    if len(args) > len(order) or set(order[:len(args)]) & set(values):
        return None
    asked = {**dict(zip(order, args)), **{_core._canonical_key(name): value for name, value in values.items()}}
    check = _refuse_misfits if asked.pop("raise_errors", False) else None
    renamed = "raise_errors" in values
    try:
        inputs, changed = _convert(resolver, INPUTS.get(resolver, {}), asked)
    except LookupError:
        return None
    renamed = renamed or changed
    return (inputs, renamed, check) if renamed or (args and resolver in _ORDER) else None


def pipeline_values(resolvers, values):
    """Values of a pipeline in our names; None where nothing changes."""
    rows = {}
    for name in resolvers:
        rows.update({old: entry for old, entry in INPUTS.get(name, {}).items() if entry is not None})
    try:
        wanted, changed = _convert(" and ".join(resolvers), rows, values)
    except LookupError:
        return None
    return wanted if changed else None


def spec_keywords(cls, values):
    """Keywords of a constructor in our names; None where nothing changes."""
    wanted, changed = _convert(cls, SPECS.get(cls, {}), {k: v for k, v in values.items() if k != "metadata" or v is not None})
    if cls == "Datacenter" and "pue" not in wanted and wanted.get("grid") is not None:
        from .members import facility_of

        own = facility_of(wanted["grid"])
        wanted, changed = {**wanted, "pue": own.pue if own else _default("default.pue")}, True
    return wanted if changed or len(wanted) != len(values) else None


def _default(name):
    from ..registries import Technology

    return Technology[name].value
