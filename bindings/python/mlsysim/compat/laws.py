"""calc_* functions as our laws.

A row is a law, its arguments as "old name = input : unit of a bare number [= default]", and the result with its unit. Formulas
that are no law here, because nothing needs them, stand below the table as what they are.
"""

from .._mlsysim import Quantity

_KV = "n_layers=layers n_heads=kv_heads head_dim=head_dim seq_len=seq_len batch_size=batch_size bytes_per_elem=element_bytes:B=2"
_LINK = "message_bytes=message:B n_gpus=ranks bandwidth_bytes_s=bandwidth:B/s latency_s=alpha:s"

_LAWS = {
    "calc_ring_allreduce_time": ("RingAllReduce", _LINK, "time:s"),
    "calc_tree_allreduce_time": ("TreeAllReduce", _LINK, "time:s"),
    "calc_double_binary_tree_allreduce_time": (
        "DoubleBinaryTreeAllReduce", _LINK + " latency_factor=latency_factor=1.2 bandwidth_factor=bandwidth_factor=1.05", "time:s"),
    "calc_all_to_all_time": ("AllToAll", _LINK, "time:s"),
    "calc_hierarchical_allreduce_time": (
        "HierarchicalAllReduce", "message_bytes=message:B n_nodes=nodes gpus_per_node=ranks_per_node intra_node_bw=bandwidth_intra:B/s "
        "inter_node_bw=bandwidth_inter:B/s intra_node_lat=alpha_intra:s=5e-7 inter_node_lat=alpha_inter:s=5e-6", "time:s"),
    "calc_point_to_point_time": ("PointToPoint", "message_bytes=message:B alpha_s=alpha:s bandwidth_bytes_s=bandwidth:B/s", "time:s"),
    "calc_pipeline_bubble": ("BubbleFraction", "n_stages=pp_size n_microbatches=microbatch_count v_stages=v_stages=1", "bubble_fraction"),
    "calc_kv_cache_size": ("KvCache", _KV, "kv_cache_size:B"),
    "calc_mla_cache_size": (
        "MlaKvCache", "n_layers=layers kv_lora_rank=kv_lora_rank qk_rope_head_dim=rope_head_dim seq_len=seq_len batch_size=batch_size "
        "bytes_per_elem=element_bytes:B=2", "kv_cache_size:B"),
    "calc_young_daly_interval": ("YoungInterval", "checkpoint_cost_s=checkpoint_time:s mtbf_s=mtbf:s", "interval:s"),
    "calc_mtbf_cluster": ("ClusterMtbf", "component_mtbf_hours=part_mtbf:h n_components=parts", "mtbf:h"),
    "calc_mtbf_node": ("NodeMtbf", "gpu_mtbf_h=accelerator_mtbf:h n_gpus=accelerators nic_mtbf_h=nic_mtbf:h n_nics=nics psu_mtbf_h=psu_mtbf:h "
                       "n_psus=psus other_rate=other_rate:Hz=0", "mtbf:h"),
    "calc_failure_probability": ("FailureProbability", "mtbf=mtbf:h job_duration=time:h", "probability"),
    "calc_transformer_training_flops": ("TrainingWork", "n_params=params:param n_tokens=tokens:token", "work:FLOP"),
    "calc_transformer_decode_flops": ("DecodeWork", "n_params=params:param n_tokens=tokens:token=1", "work:FLOP"),
    "calc_speculative_expected_tokens": (
        "ExpectedAcceptedTokens", "acceptance=draft_acceptance_rate draft_length=draft_tokens", "expected_tokens"),
}


def calc_bottleneck(ops, model_bytes, device_flops, device_bw):
    """Which side of the roofline binds: compute_ms, memory_ms, bottleneck, ratio, intensity."""
    from ..choices import Choice

    times = _solve("Roofline", {"work": _in(ops, "FLOP"), "traffic": _in(model_bytes, "B"), "peak": _in(device_flops, "FLOP/s"),
                                "bandwidth": _in(device_bw, "B/s")})
    compute, memory = times.compute.m_as("ms"), times.memory.m_as("ms")
    longer, shorter = max(compute, memory), min(compute, memory)
    return {"compute_ms": compute, "memory_ms": memory, "bottleneck": Choice("memory" if memory > compute else "compute"),
            "ratio": longer / shorter if shorter else float("inf") if longer else 1.0,
            "intensity": (_in(ops, "FLOP") / _in(model_bytes, "B")).m_as("FLOP/B")}


def calc_activation_memory(n_layers, seq_len, batch_size, hidden_dim, n_heads=None, precision_bytes=2, strategy="selective"):
    """Activations that `n_layers` layers keep for the backward pass, under a strategy of recomputation."""
    if strategy not in ("none", "selective", "full"):
        raise ValueError(f"unknown strategy {strategy!r}; expected 'none', 'selective' or 'full'")
    if strategy == "none" and n_heads is None:
        raise ValueError("without recomputation the scores of attention count, so n_heads is needed")
    one = _solve("TransformerActivations", {"seq_len": seq_len, "batch_size": batch_size, "hidden": hidden_dim, "heads": n_heads or 1,
                                            "element_bytes": _in(precision_bytes, "B")})
    return (n_layers * getattr(one, strategy)).to("B")


def calc_paged_kv_cache_size(n_layers, n_heads, head_dim, seq_len, batch_size, page_size_tokens=16, bytes_per_elem=2):
    """The cache in whole pages, and the share of the last pages that stays empty."""
    padded = -(-seq_len // page_size_tokens) * page_size_tokens
    size = _function("calc_kv_cache_size")(n_layers, n_heads, head_dim, padded, batch_size, bytes_per_elem)
    return size, (padded - seq_len) / padded if padded else 0.0


# Formulas that are no law here. A month has 30 days and a year 365; light in fiber covers 200 km in a millisecond.
_FORMULAS = {
    "calc_amdahls_speedup": lambda p, s: 1 / ((1 - p) + p / s),
    "calc_strong_scaling_speedup": lambda num_devices, communication_fraction: (
        num_devices / (1 + (num_devices - 1) * communication_fraction)),
    "calc_universal_scalability_law": lambda n, sigma, kappa: n / (1 + sigma * (n - 1) + kappa * n * (n - 1)),
    "calc_effective_flops": lambda peak_flops, mfu, scaling_eff, goodput_ratio: (
        (_in(peak_flops, "FLOP/s") * mfu * scaling_eff * goodput_ratio).to("FLOP/s")),
    "calc_availability_stacked": lambda single_availability, n_replicas: 1 - (1 - single_availability) ** n_replicas,
    "calc_all_up_availability": lambda availability, n_components: float(availability) ** n_components,
    "calc_checkpoint_size": lambda n_params, bytes_per_param=14: (
        Quantity(_in(n_params, "param").m_as("param") * bytes_per_param, "B")),
    "calc_ring_allreduce_data_factor": lambda n_gpus: 2 * (n_gpus - 1) / n_gpus,
    "calc_network_latency_ms": lambda distance_km: 2 * distance_km / 200,
    "calc_monthly_egress_cost": lambda bytes_per_sec, cost_per_gb: (
        _in(bytes_per_sec, "B/s").m_as("GB/s") * 30 * 86400 * _in(cost_per_gb, "USD/GB").m_as("USD/GB")),
    "calc_fleet_tco": lambda unit_cost, power_w, quantity, years, kwh_price: quantity * (
        _in(unit_cost, "USD").m_as("USD") + _in(power_w, "W").m_as("kW") * years * 365 * 24 * _in(kwh_price, "USD/kWh").m_as("USD/kWh")),
    "model_memory": lambda params, bytes_per_param, unit="MB": (
        Quantity(_in(params, "param").m_as("param") * _in(bytes_per_param, "B").m_as("B"), "B").m_as(unit)),
    "dTime": lambda total_ops, num_devices, peak_flops_per_device, efficiency_eta: (
        _in(total_ops, "FLOP") / (num_devices * efficiency_eta * _in(peak_flops_per_device, "FLOP/s"))).to("s"),
    "calc_littles_law_occupancy": lambda arrival_rate, time_in_system: arrival_rate * time_in_system,
}

__all__ = [*_LAWS, *_FORMULAS, "calc_bottleneck", "calc_activation_memory", "calc_paged_kv_cache_size"]


def _in(value, unit):
    """A bare number, or a count of the other package, in the unit that it stands for."""
    if unit is None or isinstance(value, str) or (isinstance(value, Quantity) and not value.dimensionless):
        return value
    return Quantity(float(value), unit)


def _solve(law, inputs):
    from ..resolvers import resolver_class

    return resolver_class(law)._core_solve(**inputs)


def _function(name):
    """The function of a row."""
    law, arguments, result = _LAWS[name]
    rows = []
    for text in arguments.split():
        old, target, *default = text.split("=")
        own, _, unit = target.partition(":")
        rows.append((old, own, unit or None, float(default[0]) if default else None))
    field, _, shown = result.partition(":")

    def calc(*args, **values):
        given = {**dict(zip((row[0] for row in rows), args)), **values}
        odd = [key for key in given if key not in {row[0] for row in rows}]
        if odd or len(args) > len(rows):
            raise TypeError(f"{name}() takes {', '.join(row[0] for row in rows)}; found {', '.join(odd) or f'{len(args)} values'}")
        missing = [old for old, _, _, default in rows if default is None and old not in given]
        if missing:
            raise TypeError(f"{name}() misses {', '.join(missing)}")
        out = getattr(_solve(law, {own: _in(given.get(old, default), unit) for old, own, unit, default in rows}), field)
        return out.to(shown) if shown else out

    calc.__name__ = calc.__qualname__ = name
    calc.__doc__ = f"The law {law}: {', '.join(row[0] for row in rows)}."
    return calc


def __getattr__(name):
    if name in _LAWS:
        made = _function(name)
    elif name in _FORMULAS:
        made = _FORMULAS[name]
        made.__name__ = made.__qualname__ = name
    else:
        raise AttributeError(f"module 'mlsysim.compat.laws' has no attribute '{name}'")
    globals()[name] = made
    return made
