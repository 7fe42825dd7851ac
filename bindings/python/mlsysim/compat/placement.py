"""Where one request runs: on the spot, or at the other end of a link. Inputs are made up: see `compat.teaching`.

    remote = preparation + upload + round trip in fiber + execution + response
"""

from .teaching import choice, number

__all__ = ["FILTERING_ALTERNATIVES", "TRACKS", "compare_placements", "placement_accounting", "sustained_operation", "workload_feasibility"]

_KEYS = ("display", "payload_mb", "connection_mbps", "distance_km", "response_kb", "local_execution_ms", "remote_execution_ms", "deadline_ms",
         "workload_memory_mb", "memory_capacity_mb", "active_power_w", "idle_power_w", "average_power_budget_w", "baseline_duty_cycle",
         "minimum_observation_fraction", "upload_limit_mb", "minimum_retained_information_pct")
TRACKS = {name: dict(zip(_KEYS, row)) for name, row in {
    "tinyml": ("TinyML", 0.8, 2.0, 1000.0, 2.0, 8.0, 8.0, 100.0, 0.36, 0.512, 0.4, 1e-5, 0.05, 0.02, 0.01, 0.1, 90.0),
    "mobile": ("Mobile", 8.0, 40.0, 2000.0, 20.0, 24.0, 14.0, 100.0, 520.0, 768.0, 5.0, 0.4, 2.0, 0.15, 0.1, 1.0, 92.0),
    "edge": ("Edge", 12.0, 100.0, 300.0, 8.0, 16.0, 11.0, 50.0, 4500.0, 8000.0, 25.0, 4.0, 15.0, 0.35, 0.25, 2.0, 92.0),
    "cloud": ("Cloud", 2.0, 200.0, 800.0, 20.0, 80.0, 8.0, 120.0, 18000.0, 24000.0, 350.0, 80.0, 250.0, 0.5, 0.3, 1.0, 94.0),
}.items()}
# Share that is sent, time of preparing it, power meanwhile and information kept, by track.
FILTERING_ALTERNATIVES = {name: {"upload_fraction": share, "preprocess_ms": time, "preprocess_power_w": dict(zip(TRACKS, power)),
                                 "retained_information_pct": dict(zip(TRACKS, kept))} for name, share, time, power, kept in (
    ("raw", 1.0, 0.0, (0.0,) * 4, (100.0,) * 4),
    ("event_filter", 0.02, 3.0, (0.2, 2.0, 8.0, 100.0), (94.0, 95.0, 96.0, 97.0)),
    ("feature_summary", 0.005, 8.0, (0.35, 3.5, 15.0, 180.0), (86.0, 88.0, 89.0, 91.0)))}


def _rounded(values):
    return {key: round(x, 6) if isinstance(x, float) else x for key, x in values.items()}


def _broken(**limits):
    return [name for name, good in limits.items() if not good]


def placement_accounting(track_id, *, payload_mb=None, connection_mbps=None, distance_km=None, connectivity_available=True, filter_id="raw"):
    """One request at the other end of the link, with what the link, the deadline and the filter allow."""
    from .laws import calc_network_latency_ms

    track = TRACKS[choice("track_id", track_id, TRACKS)]
    sieve = FILTERING_ALTERNATIVES[choice("filter_id", filter_id, FILTERING_ALTERNATIVES)]
    given = {"payload_mb": payload_mb, "connection_mbps": connection_mbps, "distance_km": distance_km}
    own = {key: number(key, track[key] if x is None else x, above=key != "distance_km") for key, x in given.items()}
    rate = own["connection_mbps"] / 8e3  # [MB/ms], both ways
    sent = own["payload_mb"] * sieve["upload_fraction"]
    parts = {"filter_preprocess_ms": sieve["preprocess_ms"], "request_upload_ms": sent / rate,
             "propagation_rtt_ms": float(calc_network_latency_ms(own["distance_km"])), "remote_execution_ms": track["remote_execution_ms"],
             "response_download_ms": track["response_kb"] / 1e3 / rate}
    total, kept = sum(parts.values()), sieve["retained_information_pct"][track_id]
    spare = track["deadline_ms"] - total + parts["request_upload_ms"]
    linked = bool(connectivity_available)
    broken = _broken(connectivity=linked, deadline=not linked or total <= track["deadline_ms"], upload=sent <= track["upload_limit_mb"],
                     retained_information=kept >= track["minimum_retained_information_pct"])
    power = sieve["preprocess_power_w"][track_id]
    return _rounded({
        "track_id": track_id, "filter_id": filter_id, "connectivity_available": linked, "local_latency_ms": track["local_execution_ms"],
        "remote_latency_ms": total if linked else None, "deadline_ms": track["deadline_ms"],
        "local_deadline_met": track["local_execution_ms"] <= track["deadline_ms"], "remote_feasible": not broken,
        "remote_violations": broken, "feasible": not broken, "violations": broken, "raw_payload_mb": own["payload_mb"],
        "uploaded_payload_mb": sent, "connection_mbps": own["connection_mbps"], "distance_km": own["distance_km"], **parts,
        "filter_preprocess_power_w": power, "filter_preprocess_energy_mj": power * sieve["preprocess_ms"], "retained_information_pct": kept,
        "minimum_retained_information_pct": track["minimum_retained_information_pct"], "upload_limit_mb": track["upload_limit_mb"],
        "deadline_boundary_payload_mb": spare * rate / sieve["upload_fraction"] if linked and spare >= 0 else None,
        "inputs": {"track_id": track_id, **own, "connectivity_available": linked, "filter_id": filter_id},
    })


def workload_feasibility(track_id, *, memory_scale=1.0, execution_scale=1.0):
    """Whether the model fits into the device, and whether it runs there within the deadline."""
    track = TRACKS[choice("track_id", track_id, TRACKS)]
    memory = track["workload_memory_mb"] * number("memory_scale", memory_scale, above=True)
    time = track["local_execution_ms"] * number("execution_scale", execution_scale, above=True)
    broken = _broken(memory=memory <= track["memory_capacity_mb"], execution_time=time <= track["deadline_ms"])
    return _rounded({
        "track_id": track_id, "required_memory_mb": memory, "memory_capacity_mb": track["memory_capacity_mb"],
        "memory_fits": "memory" not in broken, "memory_utilization_pct": 100 * memory / track["memory_capacity_mb"], "execution_ms": time,
        "deadline_ms": track["deadline_ms"], "execution_fits": "execution_time" not in broken,
        "execution_budget_utilization_pct": 100 * time / track["deadline_ms"], "feasible": not broken, "violations": broken,
        "inputs": {"track_id": track_id, "memory_scale": float(memory_scale), "execution_scale": float(execution_scale)},
    })


def sustained_operation(track_id, *, duty_cycle=None, horizon_hours=24.0):
    """Mean power and energy of a device that works a part of the time."""
    track = TRACKS[choice("track_id", track_id, TRACKS)]
    active = number("duty_cycle", track["baseline_duty_cycle"] if duty_cycle is None else duty_cycle, 0.0, 1.0)
    hours = number("horizon_hours", horizon_hours, above=True)
    power, least = track["active_power_w"] * active + track["idle_power_w"] * (1 - active), track["minimum_observation_fraction"]
    broken = _broken(average_power=power <= track["average_power_budget_w"], observation_time=active >= least)
    return _rounded({
        "track_id": track_id, "duty_cycle": active, "active_power_w": track["active_power_w"], "idle_power_w": track["idle_power_w"],
        "average_power_w": power, "average_power_budget_w": track["average_power_budget_w"], "horizon_hours": hours, "energy_wh": power * hours,
        "active_observation_hours": hours * active, "minimum_observation_fraction": least, "minimum_observation_hours": hours * least,
        "power_requirement_met": "average_power" not in broken, "service_requirement_met": "observation_time" not in broken,
        "sustained_feasible": not broken, "violations": broken,
        "inputs": {"track_id": track_id, "duty_cycle": active, "horizon_hours": hours},
    })


def compare_placements(track_id, **link):
    """The device itself beside every way of sending; keywords are those of `placement_accounting` without the filter."""
    here = workload_feasibility(track_id)
    local = {"design_id": "local", "latency_ms": here["execution_ms"], "uploaded_payload_mb": 0.0, "retained_information_pct": 100.0,
             "feasible": here["feasible"], "violations": here["violations"], "inputs": {"track_id": track_id, "placement": "local"}}
    remote = {}
    for name in FILTERING_ALTERNATIVES:
        far = placement_accounting(track_id, filter_id=name, **link)
        remote[name] = {"design_id": f"remote_{name}", "latency_ms": far["remote_latency_ms"],
                        **{key: far[key] for key in ("uploaded_payload_mb", "retained_information_pct", "feasible", "violations")},
                        "inputs": {**far["inputs"], "placement": "remote"}, "breakdown": far}
    return {"track_id": track_id, "local": local, "remote": remote}
