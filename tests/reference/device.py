"""A device and its links as numbers: what the zoo says, and where it says nothing what the device's class says."""

import math
from types import SimpleNamespace

import zoo
from recurrences import recurrences
from zoo import BYTES, ZOO, default, entry, get, of

NO_SPLIT = 1e9  # depth that no product has: kernels for narrow formats do not split the depth


def precision_of(hardware, precision):
    return precision or get(hardware, "compute.default_precision", "fp16")


def rate_at(hardware, precision):
    """Dense peak of the matrix engine [FLOP/s]."""
    return hardware["compute"]["dense"][precision]


def capacity_of(hardware):
    """Main memory that programs can use: with ECC on, less than what is soldered on."""
    return get(hardware, "memory.usable_capacity", get(hardware, "memory.capacity"))


def memory_level(hardware, weights):
    """Memory that a model of `weights` bytes works from: SRAM where it fits, else flash where there is one,
    else main."""
    m = hardware.get("memory", {})
    capacity = capacity_of(hardware)
    if capacity is None:
        capacity = m.get("sram_capacity", m.get("flash_capacity", 0))
    sram, flash, main = m.get("sram_bandwidth"), m.get("flash_bandwidth"), m.get("bandwidth")
    if sram and "sram_capacity" in m and weights <= m["sram_capacity"] and (weights > 0 or not main):
        return SimpleNamespace(bandwidth=sram, capacity=capacity)
    if flash and (not main or weights > 0):
        return SimpleNamespace(bandwidth=flash, capacity=capacity)
    return SimpleNamespace(bandwidth=main, capacity=capacity)


def peak_of(hardware):
    return rate_at(hardware, precision_of(hardware, None))


def has_matrix_engine(hardware):
    """A device that multiplies in fp32 about as fast as in narrower formats does so on its vector units."""
    fp32 = get(hardware, "compute.dense.fp32")
    return fp32 is None or fp32 < 0.5 * peak_of(hardware)


def vector_rate(hardware):
    """Rate outside the matrix engine: the zoo's vector rate, else dense fp32, else a share of the peak."""
    for precision in ("fp32", "fp16", "int8"):
        if get(hardware, "compute.vector." + precision):
            return get(hardware, "compute.vector." + precision)
    return get(hardware, "compute.dense.fp32") or peak_of(hardware) * of(hardware, "compute.vector_ratio")


def cache_ratio(hardware, precision, kv_precision):
    """Rate of attention's products over that of the others. Below 8 bits the cache has 16."""
    wide = "bf16" if get(hardware, "compute.dense.bf16") else "fp16"
    cached = kv_precision or (wide if BYTES[precision] < 1 else precision)
    if BYTES[cached] == 2:
        cached = wide
    if cached not in (wide, "fp8") or BYTES[cached] == BYTES[precision]:
        return 1.0
    rate = get(hardware, "compute.dense." + cached)
    return rate / rate_at(hardware, precision) if rate else 1.0


def device_view(hardware, precision, phase, kv_precision=None, execution=None):
    """One device at one precision. `phase`: prefill, decode, inference or training. Attention multiplies in the
    format of the cache, 16 bits or fp8, on a device that can; queries are cast. `execution`: eager or graph."""
    narrow, training = BYTES[precision] <= 1, phase == "training"
    d = SimpleNamespace()
    # Rates and the shares of them that kernels sustain.
    d.matrix_rate = rate_at(hardware, precision)
    d.vector_rate = vector_rate(hardware)
    if narrow:
        d.matrix_share = of(hardware, "efficiency.matrix_narrow")
        four = BYTES[precision] < 1
        d.product_stream = of(hardware, "efficiency.product_stream_" + ("four" if four else "narrow"))
    else:
        d.matrix_share = of(hardware, "efficiency.matrix")
        d.product_stream = of(hardware, "efficiency.product_stream")
    d.wide_ratio = 1.0  # products that stay at 16 bits in narrow training, over the others
    d.memory_share = of(hardware, "efficiency.memory")
    d.attention_share = of(hardware, "efficiency.attention")
    d.grouped = of(hardware, "efficiency.grouped")
    d.attention_stream = of(hardware, "efficiency.attention_stream")
    d.latent_stream = of(hardware, "efficiency.latent_stream")
    d.cache_ratio = cache_ratio(hardware, precision, kv_precision) if phase != "training" else 1.0
    d.vector_share = of(hardware, "efficiency.vector")
    d.softmax_work = of(hardware, "tiles.softmax_work")
    # Memory. The context of a framework never takes more than a twentieth of a small device.
    level = memory_level(hardware, 0)
    d.memory_bandwidth = get(hardware, "memory.bandwidth", level.bandwidth)
    d.memory_capacity = level.capacity
    d.reserve = min(default("memory_reserve"), 0.05 * d.memory_capacity)
    d.fragmentation = default("memory_fragmentation")
    # Tiles. A device without a unit count, or without a matrix engine, has none.
    d.units = of(hardware, "compute.units")
    tiled = ("part" in hardware or get(hardware, "compute.units") is not None) and has_matrix_engine(hardware)
    d.matrix_rows = of(hardware, "compute.matrix_rows") if tiled else 1
    d.tile_m = of(hardware, "tiles.tile_m") if tiled else 1
    d.tile_n = of(hardware, "tiles.tile_n") if tiled else 1
    d.wave = of(hardware, "kernels.wave") if tiled else 0.0
    if BYTES[precision] < 1 and tiled:
        wider = of(hardware, "tiles.four_bit_tile")
        d.matrix_rows, d.tile_m, d.tile_n = (max(x, wider) for x in (d.matrix_rows, d.tile_m, d.tile_n))
    d.split_depth = NO_SPLIT if narrow else of(hardware, "tiles.split_depth")
    d.attention_tile = of(hardware, "tiles.attention_tile")
    d.prompt_tile = of(hardware, "tiles.prompt_tile")
    d.prompt_group = of(hardware, "tiles.prompt_group")
    # Fixed times of kernels.
    d.launch = of(hardware, "kernels.launch")
    d.split = of(hardware, "kernels.split")
    d.attention_launch = of(hardware, "kernels.attention_launch")
    d.attention_block = of(hardware, "kernels.attention_block")
    d.attention_rows = of(hardware, "kernels.attention_rows")
    d.attention_step = of(hardware, "kernels.attention_step")
    d.prompt_block = of(hardware, "kernels.prompt_block")
    d.prompt_rows = of(hardware, "kernels.prompt_rows")
    d.attention_split = of(hardware, "kernels.attention_split")
    d.latent_block = of(hardware, "kernels.latent_block")
    d.latent_split = of(hardware, "kernels.latent_split")
    d.chosen_block = of(hardware, "kernels.chosen_block")
    d.chosen_step = of(hardware, "kernels.chosen_step")
    d.search = of(hardware, "kernels.search")
    # Training launches kernels one by one and lasts longer than any burst; serving replays a captured graph.
    execution = execution or ("eager" if training else "graph")
    d.issue = of(hardware, "kernels.issue") if execution == "eager" else 0.0
    d.burst = 0.0 if training else of(hardware, "efficiency.burst")
    d.burst_time = of(hardware, "efficiency.burst_time")
    d.attention_backward = of(hardware, "efficiency.attention_backward") if training else 1.0
    d.dispatch = of(hardware, "dispatch_overhead")
    d.host_bandwidth = of(hardware, "host_link.bandwidth")
    # Power: what the full rates draw, and what is limited.
    d.work_draw, d.traffic_draw, d.resident_draw = (of(hardware, "draw." + name) for name in ("work", "traffic", "resident"))
    d.limits = None
    d.layer_issue = 0.0  # host time of a layer of a pass that is no captured graph
    d.runtime = None  # that does not fuse kernels, see kernels.py
    d.experts = None  # kernels of a family, see experts.py
    d.recurrences = recurrences(hardware)
    return d


def figure(hardware, path, convention):
    """The device's or its class's figure, or what stands in for both."""
    known = of(hardware, path)
    return default(convention) if known is None else known


def set_efficiency(device, efficiency):
    """What the caller says of the sustained share replaces the device's figure, burst included."""
    if efficiency is not None:
        device.matrix_share, device.burst = efficiency, 0.0


def fleet_of(hardware, devices=1, per_node=None, intra_bandwidth=None, fabric_bandwidth=None):
    """Devices of one kind: in nodes of so many, or where nothing is said in the machine in which they ship."""
    node = {"accelerators_per_node": per_node} if per_node else shipped_node(hardware, devices)
    per_node = node["accelerators_per_node"]
    if intra_bandwidth:
        node["intra_node_bandwidth"] = intra_bandwidth
    fabric = {"bandwidth": fabric_bandwidth} if fabric_bandwidth else None
    return SimpleNamespace(
        hardware=hardware, node=node, nodes=devices / per_node, devices=devices, fabric=fabric, levels=[]
    )


def shipped_node(hardware, devices):
    """The zoo's reference node, a part of it where the devices are fewer, or up to 8 devices."""
    for node in ZOO["node"].values():
        if devices > 1 and node.get("reference") and node["accelerator"] == hardware["name"]:
            part = min(node["accelerators_per_node"], devices)
            if "domain_accelerators" in node:
                while devices % part:
                    part -= 1
            if part == node["accelerators_per_node"]:
                return dict(node)
            cards = node.get("nics_per_node", part) * part / node["accelerators_per_node"]
            return {**node, "accelerators_per_node": part, **({"nics_per_node": cards} if "nics_per_node" in node else {})}
    for name, whole in ZOO["pod"].items():
        if devices > 1 and whole["accelerator"] == hardware["name"]:
            sides = whole["axes"] if devices >= whole["chips"] else near_equal(devices, len(whole["axes"]))
            return {
                "accelerators_per_node": min(devices, whole["chips"]),
                "levels": [{"name": "axis", "peers": side, "topology": "torus"} for side in sides],
            }
    return {"accelerators_per_node": min(devices, 8)}


def near_equal(devices, axes):
    """Sides of a torus of so many devices, as near to equal as whole sides can be: those of the least sum."""
    ways = [[]]
    for _ in range(axes - 1):
        ways = [w + [d] for w in ways for d in range(1, int(devices) + 1) if devices % (math.prod(w) * d) == 0]
    ways = [sorted(w + [devices // math.prod(w)]) for w in ways]
    return min(ways, key=lambda sides: (sum(sides), sides))


def torus_of(node, devices):
    """The axes of the torus that joins so many devices of a node or of several; none where a switch does."""
    shape = node.get("intra_node_topology", "")
    if not shape.startswith("torus_"):
        return []
    return [{"name": "axis", "peers": n, "topology": "torus"} for n in near_equal(devices, int(shape[6]))]


def of_replica(fleet):
    """Devices that serve one replica where nothing is said: a node's; of a torus, or of a domain of several
    nodes, as many as eight."""
    own = fleet.node["accelerators_per_node"]
    if fleet.node.get("levels"):
        own = min(own, 8)
    elif fleet.node.get("domain_accelerators", own) > own:
        own = max(own, 8)
    count = min(own, fleet.devices)
    while fleet.devices % count:
        count -= 1
    return count


def fleet_of_node(node, count):
    """So many of one node, with the usual network."""
    return SimpleNamespace(
        hardware=entry("hardware", node["accelerator"]),
        node=node,
        nodes=count,
        devices=count * node["accelerators_per_node"],
        fabric=None,
        levels=[],
    )


def cluster(name):
    """A fleet of the zoo, or one node."""
    if name in ZOO["node"]:
        return fleet_of_node(entry("node", name), 1)
    c = entry("cluster", name)
    node = entry("node", c["node"])
    devices = c["node_count"] * node["accelerators_per_node"]
    return SimpleNamespace(
        hardware=entry("hardware", node["accelerator"]),
        node=node,
        nodes=c["node_count"],
        devices=devices,
        fabric=entry("fabric", c["fabric"]),
        levels=c.get("levels", []),
    )


def pod(name):
    """A pod of the zoo: its hosts, or where none is known one node; either way its devices lie on a torus."""
    p = entry("pod", name)
    for node in ZOO["node"].values():
        if node.get("reference") and node["accelerator"] == p["accelerator"]:
            return fleet_of_node(node, p["chips"] / node["accelerators_per_node"])
    axes = [{"name": "axis", "peers": side, "topology": "torus"} for side in p["axes"]]
    return fleet_of_node({"accelerator": p["accelerator"], "accelerators_per_node": p["chips"], "levels": axes}, 1)


def links_view(fleet, phase, engine=None):
    """The levels of a machine, innermost first; bandwidths are one way, a device's part, or of one link of an
    axis. An engine may bring a family of collectives."""
    hardware, node, fabric = zoo.under(fleet.hardware, engine), fleet.node, fleet.fabric or {}
    per_node = node["accelerators_per_node"]
    l = SimpleNamespace(levels=[], axes=0, algorithm="usual")
    set_collectives(l, hardware, node, phase)
    inside = SimpleNamespace(
        peers=per_node,
        bandwidth=node.get("intra_node_bandwidth")
        or of(hardware, "device_link.bandwidth")
        or of(hardware, "host_link.bandwidth"),
        latency=get(hardware, "device_link.latency", default("intra_latency")),
        share=node.get("link_share") or figure(hardware, "efficiency.link", "link_share"),
        in_flight=math.inf,
    )
    if l.mesh == 1 and node.get("pair_bandwidth"):
        l.mesh = max(1, inside.bandwidth / node["pair_bandwidth"])
    l.inside = inside.bandwidth  # all of a device's links together
    # One inner network may join nodes.
    inside.peers = max(per_node, min(node.get("domain_accelerators", per_node), fleet.devices))
    add_levels(l, node.get("levels") or torus_of(node, inside.peers), inside)
    if not l.levels:
        l.levels.append(inside)
    elif not l.axes and len(l.levels) > 1:
        l.algorithm = "flat"  # libraries take the devices of a node as equal, whatever joins them
    l.joined = math.prod(level.peers for level in l.levels)
    # Between nodes: the slower of adapter and port, of which a device has its share.
    port = fabric.get("bandwidth", default("fabric_bandwidth"))
    adapter = min(node.get("nic_bandwidth", port), port)
    between = SimpleNamespace(
        peers=max(1, fleet.devices / l.joined),
        bandwidth=adapter * node.get("nics_per_node", per_node) / per_node,
        latency=fabric.get("latency", default("inter_latency")),
        share=fabric.get("share", default("network_share")),
        in_flight=fabric.get("in_flight", default("network_in_flight")),
    )
    if fleet.levels:
        add_levels(l, fleet.levels, between, adapter)
    else:
        between.bandwidth /= fabric.get("oversubscription", 1)
        l.levels.append(between)
    l.reduces = fabric.get("reduces", False) or (
        bool(fleet.levels) and all(level.get("reduces", False) for level in fleet.levels)
    )
    return l


def add_levels(l, stated, usual, port=None):
    """Levels as a file lists them; what one does not say is that of `usual`."""
    axes = sum(level.get("topology") == "torus" for level in stated)
    below = math.prod(level.peers for level in l.levels)
    for s in stated:
        level = SimpleNamespace(**vars(usual))
        level.peers = s["peers"]
        level.latency = s.get("latency", usual.latency)
        level.in_flight = s.get("in_flight", usual.in_flight)
        if s.get("topology") == "torus":
            l.axes += 1
            level.bandwidth = usual.bandwidth / (2 * axes)  # there and back on every axis
        if "bandwidth" in s:
            level.bandwidth = s["bandwidth"]
        if "ports" in s:
            level.bandwidth = s.get("bandwidth", port or level.bandwidth) * s["ports"] / below
        level.bandwidth /= s.get("oversubscription", 1)
        l.levels.append(level)
        below *= level.peers


def set_collectives(l, hardware, node, phase):
    """Constants of the collectives inside a node. Serving engines bring all-reduce kernels of their own
    ("direct")."""

    def of(name, convention):
        return node.get("collectives", {}).get(name) or figure(hardware, "collectives." + name, convention)

    l.mesh = get(hardware, "device_link.peers", 1)
    l.launch, l.hop, l.sync = (
        of("launch", "collective_launch"),
        of("hop", "collective_hop"),
        of("sync", "collective_sync"),
    )
    l.low_latency_share, l.copy_ratio = of("low_latency_share", "low_latency_share"), of(
        "copy_ratio", "copy_ratio"
    )
    l.pair_share, l.switch_share = of("pair_share", "pair_share"), of("switch_share", "switch_share")
    l.switch_start = of("switch_start", "switch_start") if l.switch_share > 0 else 0.0
    l.direct = phase in ("prefill", "decode")
    if l.direct:
        l.direct_start, l.direct_hop = of("direct_start", "direct_start"), of("direct_hop", "direct_hop")
        l.direct_second, l.direct_share = of("direct_second", "direct_second"), of(
            "direct_share", "direct_share"
        )
        bus = node.get("intra_node_topology", "" if get(hardware, "device_link.bandwidth") else "pcie") == "pcie"
        stated = node.get("collectives", {}).get("direct_rows") or zoo.of(hardware, "collectives.direct_rows")
        l.direct_rows = 0 if bus else stated or 0
