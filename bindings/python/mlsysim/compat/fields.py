"""Attributes of results: class -> {old name: path of ours | (path, unit of the bare number) | function of the result}."""

from functools import reduce
from types import SimpleNamespace

_TOKENS = "token/s"


def _given(name):
    """An input that the other package repeats in its result."""
    return lambda result: result.inputs[name]


def _trace(result):
    """What was checked, in words: memory where the result has it, then the warnings."""
    memory = getattr(result, "memory", None)
    held = [] if memory is None else [
        f"Memory: {'passed' if getattr(result, 'feasible', True) else 'failed'}, {memory.total} of {memory.capacity}"]
    return [*held, *result.warnings]


def _summary(result):
    from ..results import _flat, _shown

    def lines():
        return "\n".join(f"{name.replace('_', ' ').capitalize()}: {value if isinstance(value, str) else _shown(value)}"
                         for name, value in _flat(result))

    return lines


def _dump(result):
    """The fields, and those that have another name or form in the other package under that name too."""
    from ..results import _jsonable

    def model_dump(**_):
        out = result.to_dict()
        for cls in type(result).__mro__:
            for name, entry in FIELDS.get(cls.__name__, {}).items():
                if name not in out and not callable(entry):
                    path, unit = entry if isinstance(entry, tuple) else (entry, None)
                    value = reduce(lambda owner, part: getattr(owner, part, None), path.split("."), result)
                    out[name] = _jsonable(value if unit is None or value is None else value.m_as(unit))
        return out

    return model_dump


def _dump_json(result):
    import json

    return lambda **options: json.dumps(_dump(result)(), indent=options.get("indent"))


def _degrees(result):
    """Widths of the parallel plan; of an input where the result does not repeat it."""
    inputs = result.inputs
    return {short: int(getattr(result, name, None) or inputs.get(name) or 1)
            for short, name in (("dp", "dp_size"), ("tp", "tp_size"), ("pp", "pp_size"), ("ep", "ep_size"))}


def _node_profile(result):
    """The step without exchanges and bubbles."""
    return SimpleNamespace(
        latency=max(result.latency_compute, result.latency_memory) + result.latency_overhead,
        latency_compute=result.latency_compute, latency_memory=result.latency_memory, latency_overhead=result.latency_overhead,
        bottleneck=result.bottleneck, mfu=result.mfu, hfu=result.hfu, feasible=result.feasible,
        memory_footprint=result.memory_footprint)


def _best(*names):
    return lambda result: {name: getattr(result, name) for name in names}


_SEARCH = {
    "objective_value": "search.objective_value",
    "total_searched": "search.total_searched",
    "search_space_size": "search.total_searched",
    "is_feasible": lambda result: True,
}
_ENERGY = {
    "it_energy_kwh": "it_energy",
    "total_energy_kwh": "total_energy",
    "carbon_footprint_kg": ("carbon_footprint", "kgCO2e"),
    "water_usage_liters": ("water_usage", "L"),
}

def _profile(card):
    """What Engine.sweep of the other package gave for a point: the PerformanceProfile of one batch on its device."""
    from ..engine import Engine

    taken = ("workload", "hardware", "batch_size", "precision", "efficiency", "seq_len", "zero_stage", "optimizer", "power_cap", "clock_limit",
             "execution", "fidelity", "conventions")
    asked = {name: card._asked[name] for name in taken if name in card._asked}
    return Engine.solve(asked.pop("workload"), asked.pop("hardware"), **asked)


def _of_profile(name):
    def read(card):
        if "hardware" not in card._asked:
            raise AttributeError(f"'SystemEvaluation' object has no attribute '{name}'")
        return getattr(_profile(card), name)

    return read


FIELDS = {
    "SolverResult": {
        "summary": _summary,
        "model_dump": _dump,
        "model_dump_json": _dump_json,
        "constraint_trace": _trace,
    },
    "PerformanceProfile": {
        "energy_per_inference": "energy",
        "overhead_dominated": lambda result: result.bottleneck == "overhead",
    },
    "ServingCapacityResult": {
        "qps_target": _given("arrival_rate"),
        "qps_capacity": ("capacity", "request/s"),
        "per_replica_qps_capacity": ("per_replica_capacity", "request/s"),
        "utilization": "queue_utilization",
        "target_p99_latency": _given("target_p99_latency"),
        "bottleneck": "limit",
    },
    "ContinuousBatchingResult": {
        "throughput_tokens_per_sec": ("token_throughput", _TOKENS),
        "static_throughput_tokens_per_sec": ("static_token_throughput", _TOKENS),
    },
    "WeightStreamingResult": {
        "throughput_tokens_per_sec": ("token_throughput", _TOKENS),
        "wafer_memory_utilization": "memory_utilization",
    },
    "TrainingMemoryResult": {
        "weights": "memory.weights",
        "gradients": "memory.gradients",
        "optimizer_state": "memory.optimizer_states",
        "activations": "memory.activations",
        "communication_buffers": "memory.communication_buffers",
        "precision": _given("precision"),
        "optimizer": _given("optimizer"),
        "activation_checkpointing": _given("recomputation"),
        "parallelism": _degrees,
    },
    "DistributedResult": {"node_profile": _node_profile, "parallelism": _degrees, "step_latency_total": "step_latency"},
    "NetworkRooflineResult": {"latency_memory": "latency_network", "hfu": "mfu"},
    "MoERoutingResult": {"token_dispatch_bytes": "token_dispatch_size"},
    "InferenceScalingResult": {"serving_detail": lambda result: result},
    "EfficiencyResult": {
        "workload_type": _given("workload_type"),
        "use_flash_attention": _given("use_flash_attention"),
        "overhead_breakdown": lambda result: {"occupancy_loss": result.kernel_loss, "memory_stall": result.memory_stall,
                                              "launch_loss": result.launch_loss},
    },
    "CompressionResult": {
        "original_size_gb": "original_size",
        "compressed_size_gb": "compressed_size",
        "memory_savings_pct": lambda result: 100 * result.memory_savings,
    },
    "ScalingResult": {"compute_budget_flops": "compute_budget"},
    "ResponsibleEngineeringResult": {
        "epsilon": _given("epsilon"),
        "delta": _given("delta"),
        "min_subgroup_prevalence": _given("min_subgroup_prevalence"),
        "privacy_cost_ratio": "dp_slowdown_factor",
        "fairness_data_ratio": "additional_data_requirement",
    },
    "SynthesisResult": {"target_latency": _given("target_latency")},
    "SensitivityResult": {
        "sensitivities": _best("peak_flops", "memory_bandwidth", "memory_capacity", "overhead", "interconnect"),
        "perturbation_pct": lambda result: 100 * result.perturbation,
        "feasible": lambda result: True,
    },
    "DataResult": {"utilization": "ingest_utilization", "demand_bw": "demand", "supply_bw": "supply", "bottleneck": "limit"},
    "TopologyResult": {
        "effective_bw": "effective_bandwidth",
        "bisection_bw": "bisection_bandwidth",
        "bisection_bw_fraction": "bisection_fraction",
    },
    "OrchestrationResult": {"avg_wait_time_days": "avg_wait_time"},
    "CheckpointResult": {
        "write_time_seconds": "write_time",
        "max_bandwidth_required": "write_bandwidth",
        "mfu_penalty_pct": "mfu_penalty",  # a share there as well, whatever its name says
    },
    "SustainabilityResult": {**_ENERGY, "embodied_carbon_kg": ("embodied_carbon", "kgCO2e")},
    "EconomicsResult": {
        **_ENERGY,
        **{f"{name}_usd": (name, "USD") for name in ("capex", "opex_energy", "opex_maintenance", "total_opex", "tco")},
    },
    "ParallelismResult": {**_SEARCH, "best_config": _best("tp_size", "pp_size", "dp_size", "ep_size")},
    "BatchingResult": {**_SEARCH, "best_config": lambda result: {"max_batch_size": result.best_batch_size}},
    "PlacementResult": {**_SEARCH, "best_config": _best("best_region"), "lowest_tco": ("tco", "USD")},
    "SystemEvaluation": {
        "model_dump": lambda card: lambda **_: card.to_dict(),
        **{name: _of_profile(name) for name in (
            "latency", "latency_compute", "latency_memory", "latency_overhead", "throughput", "bottleneck", "arithmetic_intensity", "energy",
            "energy_per_inference", "memory_footprint", "offload_spill_bytes", "peak_flops_actual", "peak_bw_actual", "mfu", "hfu",
            "feasible", "overhead_dominated", "constraint_trace", "summary")},
    },
}
