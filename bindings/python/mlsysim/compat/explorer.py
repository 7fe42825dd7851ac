"""Four made-up deployments against their limits, by the iron law T = volume / bandwidth + operations / rate + overhead.

Qualities are shares of an easy and a difficult group of inputs. None of the numbers was measured: see `compat.teaching`.
"""

from .teaching import CANDIDATES, INTERVENTIONS, choice, number

__all__ = ["TRACKS", "compare", "evaluate", "margins", "population_compare", "speedup", "stress_compare"]

_KEYS = ("display", "difficult_share", "quality_floor_pct", "memory_limit_mb", "latency_limit_ms", "energy_limit_mj", "balanced_memory_mb",
         "movement_volume_mb", "bandwidth_mb_per_ms", "ops_mflop", "effective_rate_mflop_per_ms", "overhead_ms", "energy_per_ms")
TRACKS = {name: {**dict(zip(_KEYS, row)), "budget": 1.0} for name, row in {
    "tinyml": ("TinyML", 0.30, 82.0, 2.5, 20.0, 1.5, 1.2, 0.11, 0.01, 3.0, 1.0, 2.0, (0.04, 0.08, 0.02)),
    "mobile": ("Mobile", 0.32, 85.0, 12.0, 30.0, 6.0, 7.0, 40.0, 10.0, 160.0, 20.0, 15.0, (0.055, 0.15, 0.035)),
    "edge": ("Edge", 0.35, 85.0, 128.0, 35.0, 12.0, 70.0, 56.0, 10.0, 440.0, 20.0, 3.0, (0.07, 0.28, 0.05)),
    "cloud": ("Cloud", 0.38, 84.0, 1000.0, 35.0, 30.0, 600.0, 180.0, 10.0, 320.0, 40.0, 3.0, (0.1, 0.75, 0.08)),
}.items()}
_PROVENANCE = "made-up figures of a textbook; no device was measured"
_LIMITS = {"quality": ("quality_pct", "quality_floor_pct"), "memory": ("memory_mb", "memory_limit_mb"),
           "latency": ("latency_ms", "latency_limit_ms"), "energy": ("energy_mj", "energy_limit_mj"), "budget": ("intervention_cost", "budget")}
# What an intervention changes: quality of the difficult group, steps of the candidate, compute time, energy of computing.
_EFFECT = {"none": (0.0, 0, 1.0, 1.0), "data": (7.0, 0, 1.0, 1.0), "model": (0.0, 1, 1.0, 1.0), "machine": (0.0, 0, 0.6, 2.0)}
_SCALES = ("compute", "movement", "overhead", "demand", "budget")


def _rounded(values):
    return {key: round(x, 4) if isinstance(x, float) else x for key, x in values.items()}


def evaluate(track_id, candidate="balanced", shift_pct=0, compute_scale=1, movement_scale=1, overhead_scale=1, intervention="none",
             demand_scale=1, budget_scale=1):
    """One deployment: its times, energy, memory and quality, and which limits they break.

    A scale of 2 is twice the rate of computing, moving or starting; `demand_scale` is work one after the other; `budget_scale`
    stretches all limits but the quality's.
    """
    track = TRACKS[choice("track_id", track_id, TRACKS)]
    choice("candidate", candidate, CANDIDATES), choice("intervention", intervention, INTERVENTIONS)
    given = dict(zip(_SCALES, (compute_scale, movement_scale, overhead_scale, demand_scale, budget_scale)))
    scale = {name: number(f"{name}_scale", x, above=True) for name, x in given.items()}
    shift = number("shift_pct", shift_pct, -100.0, 100.0)
    difficult = number("difficult share", track["difficult_share"] + shift / 100, 0.0, 1.0)
    gain, steps, compute_time, compute_energy = _EFFECT[intervention]
    names = list(CANDIDATES)
    own = names[min(names.index(candidate) + steps, len(names) - 1)]
    work, easy, hard = CANDIDATES[own]
    volume, operations = (track[key] * work * scale["demand"] for key in ("movement_volume_mb", "ops_mflop"))
    bandwidth, rate = track["bandwidth_mb_per_ms"] * scale["movement"], track["effective_rate_mflop_per_ms"] * scale["compute"] / compute_time
    times = {"movement": volume / bandwidth, "compute": operations / rate, "overhead": track["overhead_ms"] * scale["demand"] / scale["overhead"]}
    energies = [t * e for t, e in zip(times.values(), track["energy_per_ms"])]
    out = {
        "quality_pct": (1 - difficult) * easy + difficult * (hard + gain), "quality_floor_pct": track["quality_floor_pct"],
        "memory_mb": track["balanced_memory_mb"] * work, **{f"{name}_ms": t for name, t in times.items()}, "latency_ms": sum(times.values()),
        "energy_mj": energies[0] + energies[1] * compute_energy + energies[2],
        **{f"{key}": track[key] * scale["budget"] for key in ("memory_limit_mb", "latency_limit_ms", "energy_limit_mj", "budget")},
        "intervention_cost": 0.0 if intervention == "none" else 1.0,
    }
    broken = [name for name, (have, limit) in _LIMITS.items() if (out[have] < out[limit] if name == "quality" else out[have] > out[limit])]
    operational = [name for name in broken if name != "quality"]
    return _rounded({
        **out, "violations": broken, "operational_violations": operational, "feasible": not broken, "operational_ok": not operational,
        "runtime_feasible": not operational, "dominant_term": max(times, key=times.get), "track_id": track_id, "candidate": candidate,
        "effective_candidate": own, "candidate_scale": work, "shift_pct": shift, "difficult_share_pct": 100 * difficult,
        "easy_share_pct": 100 * (1 - difficult), "easy_quality_pct": easy, "difficult_quality_pct": hard + gain,
        "movement_volume_mb": volume, "bandwidth_mb_per_ms": bandwidth, "ops_mflop": operations, "effective_rate_mflop_per_ms": rate,
        "provenance": _PROVENANCE,
        "inputs": {"track_id": track_id, "candidate": candidate, "shift_pct": shift, "intervention": intervention,
                   **{f"{name}_scale": x for name, x in scale.items()}},
    })


def margins(result):
    """What is left to each limit; below zero where it is broken."""
    sign = {"quality_pct": 1, "memory_mb": -1, "latency_ms": -1, "energy_mj": -1}
    return _rounded({have: sign[have] * (result[have] - result[limit]) for have, limit in list(_LIMITS.values())[:4]})


def speedup(baseline, result):
    """Return the latency of the baseline over that of the result."""
    return round(baseline["latency_ms"] / result["latency_ms"], 4) if result["latency_ms"] else float("inf")


def compare(track_id, *, baseline=None, **options):
    """An action beside the same deployment without one, or beside `baseline`."""
    result = evaluate(track_id, **options)
    baseline = dict(baseline) if baseline is not None else evaluate(track_id, **{**options, "intervention": "none"})
    keys = ("quality_pct", "memory_mb", "movement_ms", "compute_ms", "overhead_ms", "latency_ms", "energy_mj")
    return {"baseline": baseline, "result": result, "delta": _rounded({key: result[key] - baseline[key] for key in keys}),
            "speedup": speedup(baseline, result), "margins": margins(result)}


def stress_compare(track_id, candidate="balanced", shift_pct=0, intervention="none", condition="demand", scale=1, budget_scale=1):
    """One rate, or the demand, against the same deployment as it was."""
    choice("condition", condition, _SCALES[:4])
    same = {"candidate": candidate, "shift_pct": shift_pct, "intervention": intervention, "budget_scale": budget_scale}
    return compare(track_id, baseline=evaluate(track_id, **same), **same, **{f"{condition}_scale": scale})


def population_compare(track_id, candidate="balanced", shift_pct=0, shift_delta_pct=0, intervention="none", budget_scale=1):
    """Another share of difficult inputs, everything else as it was."""
    same = {"candidate": candidate, "intervention": intervention, "budget_scale": budget_scale}
    baseline = evaluate(track_id, shift_pct=shift_pct, **same)
    return {**compare(track_id, baseline=baseline, shift_pct=shift_pct + shift_delta_pct, **same), "shift_delta_pct": float(shift_delta_pct)}
