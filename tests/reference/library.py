"""The same scenarios asked of the library, through its Python package; answers in base units under the names
of scenario.py. This is the one file of the folder that knows the library."""

import math

import device
import mlsysim
from mlsysim import Fleet, NetworkFabric, Node, Q_
from mlsysim.systems.types import LinkLevel
from zoo import ZOO, entry

UNITS = [
    "s",
    "B",
    "token",
    "token/s",
    "sample/s",
    "FLOP/B",
    "J",
    "USD",
    "gCO2e",
    "L",
    "USD/token",
    "J/token",
    "gCO2e/token",
    "request/s",
]

RENAMED = {
    "pipeline_bubble_latency": "pipeline_bubble",
    "effective_throughput": "fleet_throughput",
    "dp_communication_latency": "dp_communication",
    "tp_communication_latency": "tp_communication",
    "ep_communication_latency": "ep_communication",
    "cp_communication_latency": "cp_communication",
    "pp_communication_latency": "pp_communication",
    "communication_latency": "communication",
    "exposed_communication_latency": "exposed_communication",
    "host_transfer_latency": "host_transfer",
    "carbon_footprint": "macro.carbon",
    "energy": "macro.energy",
    "water": "macro.water",
}
MACRO = [
    "tco",
    "capex",
    "energy_cost",
    "maintenance",
    "pue",
    "cost_per_token",
    "energy_per_token",
    "carbon_per_token",
]


def number(value):
    """A quantity in base units; numbers, flags and words as they are."""
    if isinstance(value, bool) or isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, mlsysim.Quantity):
        for unit in UNITS:
            try:
                return value.m_as(unit)
            except mlsysim.Error:
                continue
        raise ValueError(f"no base unit for {value}")
    return value if isinstance(value, str) else None


def zoo_names(asked):
    """Names of the zoo become its entries."""
    options = dict(asked)
    options["workload"] = mlsysim.Models[options.pop("model")]
    if options.get("hardware"):
        options["hardware"] = mlsysim.Hardware[options["hardware"]]
    if options.get("fleet"):
        options["fleet"] = machine_of(options["fleet"])
    for name, unit in (
        ("intra_node_bw", "B/s"),
        ("fabric_bandwidth", "B/s"),
        ("host_memory_bandwidth", "B/s"),
        ("kwh_price", "USD/J"),
        ("power_cap", "W"),
        ("host_power", "W"),
        ("network_power", "W"),
        ("unit_cost", "USD"),
    ):
        if options.get(name) is not None:
            options[name] = Q_(options[name], unit)
    if options.get("draft_model"):
        options["draft_model"] = mlsysim.Models[options["draft_model"]]
    if options.get("grid"):
        options["grid"] = mlsysim.Infrastructure.Grids[options["grid"]]
    if options.get("datacenter"):
        options["datacenter"] = mlsysim.Infrastructure.Datacenters[options["datacenter"]]
    return options


def machine_of(name):
    """A cluster or node of the zoo, or a pod: its hosts, or one node whose levels are the axes of a torus."""
    if name in ZOO["node"]:
        return Fleet(name=name, node=mlsysim.Systems.Nodes[name], count=1, fabric=NetworkFabric(name="fabric"))
    if name not in ZOO["pod"]:
        return mlsysim.Systems.Clusters[name]
    pod = mlsysim.Systems.Pods[name]
    hosts = [n for n in mlsysim.Systems.Nodes if n.reference and n.accelerator.name == pod.accelerator.name]
    if hosts:
        count = pod.chips / hosts[0].accelerators_per_node
        return Fleet(name=name, node=hosts[0], count=count, fabric=NetworkFabric(name="fabric"))
    axes = [LinkLevel(name=f"axis {i}", peers=side, topology="torus") for i, side in enumerate(pod.axes)]
    node = Node(name=name, accelerator=pod.accelerator, accelerators_per_node=pod.chips, levels=axes)
    return Fleet(name=name, node=node, count=1, fabric=NetworkFabric(name="fabric"))


def node_of(asked, options, devices):
    """The node that is described, or the one in which the device ships."""
    name = options["hardware"].name
    shipped = [n for n in mlsysim.Systems.Nodes if n.reference and n.accelerator.name == name]
    slice_of = [] if shipped else device.shipped_node(entry("hardware", name), devices).get("levels", [])
    if asked.get("accelerators_per_node") or devices == 1 or not shipped:
        per_node = asked.get("accelerators_per_node") or min(devices, 8)
        if slice_of and not asked.get("accelerators_per_node"):
            per_node = devices
        axes = [LinkLevel(name="axis", peers=axis["peers"], topology="torus") for axis in slice_of]
        node = Node(name="node", accelerator=options["hardware"], accelerators_per_node=per_node, levels=axes)
    else:
        some, cards = device.shipped_node(entry("hardware", name), devices), shipped[0].nics_per_node
        part = some["accelerators_per_node"]
        cards = {"nics_per_node": cards * part / shipped[0].accelerators_per_node} if cards else {}
        node = shipped[0].replace(accelerators_per_node=part, **cards)
    if options.get("intra_node_bw") is not None:
        node = node.replace(intra_node_bandwidth=options["intra_node_bw"])
    return node


def fleet_of(asked, options):
    if options.get("fleet") is not None:
        return options["fleet"]
    devices = asked.get("accelerators") or asked.get("accelerators_per_node") or 1
    node = node_of(asked, options, devices)
    fleet = {"name": "fleet", "node": node, "count": devices / node.accelerators_per_node}
    # A fleet made by hand must name a network; where the scenario says nothing it has the default rate.
    stated = options.get("fabric_bandwidth")
    fleet["fabric"] = NetworkFabric(name="fabric", **({"bandwidth": stated} if stated else {}))
    return Fleet(**fleet)


def card_of(asked):
    """The scorecard, flat. The scenarios serve a static batch."""
    options = zoo_names(asked)
    if asked.get("mode") == "serve":
        options.setdefault("load", "burst")
    if "fleet" in options:
        options["fleet_obj"] = options.pop("fleet")
    card = mlsysim.SystemEvaluator.evaluate(
        "reference",
        options.pop("workload"),
        options.pop("hardware", None),
        options.pop("batch_size", 1),
        options.pop("precision", None),
        **options,
    )
    out = {}
    for name, value in card.performance.metrics.items():
        out["energy" if name == "energy" else RENAMED.get(name, name)] = number(value)
    for name, value in card.feasibility.metrics.items():
        out[name] = number(value)
    for name, value in card.memory.items():
        out["memory." + name] = number(value)
    for name, value in card.macro.metrics.items():
        out["macro." + name if name in MACRO else RENAMED.get(name, name)] = number(value)
    out["feasible"] = float(card.feasibility.status == "PASS")
    return card.mode, out


def details_of(mode, asked, card):
    """What the scorecard leaves out, from the resolver behind it."""
    options = zoo_names(asked)
    resolver = {
        "train": mlsysim.DistributedModel,
        "serve": mlsysim.ServingModel,
        "infer": mlsysim.SingleNodeModel,
    }[mode]
    options["fleet"] = fleet_of(asked, options)
    options.setdefault("hardware", options["fleet"].node.accelerator)
    options.setdefault("seq_len", 2048)
    options.setdefault("tp_size", 1)
    if mode != "train":  # these answer for one replica
        options["batch_size"] = math.ceil(asked.get("batch_size", 1) / replicas_of(asked, options["fleet"]))
    taken = input_names(resolver)
    result = resolver.solve(**{name: value for name, value in options.items() if name in taken})
    return {RENAMED.get(name, name): number_or_none(value) for name, value in result.dict().items()}


def replicas_of(asked, fleet):
    devices = fleet.node.accelerators_per_node * fleet.count
    if asked["mode"] == "infer":
        return devices
    return devices / (asked.get("tp_size", 1) * asked.get("pp_size", 1) * asked.get("ep_size", 1))


def input_names(resolver):
    return {field["name"] for field in resolver.schema()["inputs"]}


def number_or_none(value):
    try:
        return number(value)
    except ValueError:
        return None


def in_flight(**asked):
    """A replica that batches in flight; what the library does not know is left out."""
    options = zoo_names(asked)
    for name, unit in (
        ("arrival_rate", "request/s"),
        ("network_bandwidth", "B/s"),
        ("target_ttft", "s"),
        ("target_itl", "s"),
    ):
        if name in options:
            options[name] = Q_(options[name], unit)
    result = mlsysim.InFlightBatchingModel.solve(**options).dict()
    return {name: number(value) for name, value in result.items() if number(value) is not None}


# What a scenario says beside a request of in-flight batching: the same numbers under its names.
STEADY = {"concurrency": "batch_size", "arrival_rate": "arrival_rate"}
NOT_IN_SCENARIOS = {"max_batch_size", "num_requests", "equal_lengths", "balanced_replicas", "scheduler_steps",
                    "page_tokens", "kv_share", "decode_hardware", "target_ttft", "target_itl"}
OF_THE_STEADY_STATE = {"ttft", "itl", "p99_itl", "p50_ttft", "p99_ttft", "ttft_ingress", "ttft_queue", "ttft_dispatch",
                       "ttft_prefill", "ttft_egress", "request_latency", "p99_request_latency", "token_throughput",
                       "request_throughput", "capacity", "running_requests", "max_active_requests", "kv_cache_size",
                       "waiting_requests", "mfu", "prefill_mfu", "macro.energy_per_token"}


def steady(**asked):
    """The same replica as a scenario in steady state; nothing where a scenario cannot say it."""
    if NOT_IN_SCENARIOS & set(asked) or not set(STEADY) & set(asked):
        return {}
    asked = {STEADY.get(name, name): value for name, value in asked.items()}
    asked["load"] = "rate" if "arrival_rate" in asked else "concurrency"
    asked.setdefault("output_tokens", 128)
    degrees = [asked.get(name, 1) for name in ("tp_size", "pp_size", "ep_size")]
    asked["accelerators"] = degrees[0] * degrees[1] * degrees[2]
    asked.setdefault("tp_size", 1)
    asked["mode"] = "serve"
    compared = OF_THE_STEADY_STATE
    if "prefill_replicas" in asked:  # the devices are counted, and the workers bound the capacity of both
        del asked["accelerators"]
        asked["decode_replicas"] = 1
        compared = compared - {"capacity"}
    for name, unit in (("arrival_rate", "request/s"), ("network_bandwidth", "B/s")):
        if name in asked:
            asked[name] = Q_(asked[name], unit)
    _, card = card_of(asked)
    return {name: value for name, value in card.items() if name in compared}


# The scorecard's numbers are those of all replicas; only these are taken from the resolver of one.
OF_REPLICA = ["utilization", "prefill_chunks", "prefill_chunk_time"]


def answer(**asked):
    mode, out = card_of(asked)
    for name, value in details_of(mode, asked, out).items():
        if value is None or name in out or (mode != "train" and name not in OF_REPLICA):
            continue
        out[name] = value
    if mode != "train":  # replicas without a sequence do nothing
        fleet = fleet_of(asked, zoo_names(asked))
        out["utilization"] *= min(1.0, asked.get("batch_size", 1) / replicas_of(asked, fleet))
    return out
