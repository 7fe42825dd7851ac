"""A device and its links as numbers: what the zoo says, and where it says nothing what the device's class says."""

from types import SimpleNamespace

from zoo import BYTES, default, entry, get, of

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


def device_view(hardware, precision, phase):
    """One device at one precision. `phase`: prefill, decode, inference or training."""
    narrow, training = BYTES[precision] <= 1, phase == "training"
    d = SimpleNamespace()
    # Rates and the shares of them that kernels sustain.
    d.matrix_rate = rate_at(hardware, precision)
    d.vector_rate = vector_rate(hardware)
    if narrow:
        d.matrix_share = of(hardware, "efficiency.matrix_narrow")
    else:
        d.matrix_share = of(hardware, "efficiency.matrix")
    d.wide_ratio = 1.0  # products that stay at 16 bits in narrow training, over the others
    d.memory_share = of(hardware, "efficiency.memory")
    d.attention_share = of(hardware, "efficiency.attention")
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
    d.split_depth = NO_SPLIT if narrow else of(hardware, "tiles.split_depth")
    d.attention_tile = of(hardware, "tiles.attention_tile")
    # Fixed times of kernels.
    d.launch = of(hardware, "kernels.launch")
    d.split = of(hardware, "kernels.split")
    d.attention_launch = of(hardware, "kernels.attention_launch")
    d.attention_block = of(hardware, "kernels.attention_block")
    d.attention_rows = of(hardware, "kernels.attention_rows")
    d.attention_split = of(hardware, "kernels.attention_split")
    # Training launches kernels one by one and lasts longer than any burst; serving replays a captured graph.
    d.issue = of(hardware, "kernels.issue") if training else 0.0
    d.burst = 0.0 if training else of(hardware, "efficiency.burst")
    d.burst_time = of(hardware, "efficiency.burst_time")
    d.attention_backward = of(hardware, "efficiency.attention_backward") if training else 1.0
    d.dispatch = of(hardware, "dispatch_overhead")
    d.host_bandwidth = of(hardware, "host_link.bandwidth")
    return d


def set_efficiency(device, efficiency):
    """What the caller says of the sustained share replaces the device's figure, burst included."""
    if efficiency is not None:
        device.matrix_share, device.burst = efficiency, 0.0


def fleet_of(hardware, devices=1, per_node=None, intra_bandwidth=None, fabric_bandwidth=None):
    """Devices of one kind in nodes; up to 8 share a node where nothing is said."""
    per_node = per_node or min(devices, 8)
    node = {"accelerator": hardware, "accelerators_per_node": per_node}
    if intra_bandwidth:
        node["intra_node_bandwidth"] = intra_bandwidth
    fabric = {"bandwidth": fabric_bandwidth} if fabric_bandwidth else None
    return SimpleNamespace(
        hardware=hardware, node=node, nodes=devices / per_node, devices=devices, fabric=fabric
    )


def cluster(name):
    """A fleet of the zoo."""
    c = entry("cluster", name)
    node = entry("node", c["node"])
    devices = c["node_count"] * node["accelerators_per_node"]
    return SimpleNamespace(
        hardware=entry("hardware", node["accelerator"]),
        node=node,
        nodes=c["node_count"],
        devices=devices,
        fabric=entry("fabric", c["fabric"]),
    )


def links_view(fleet, phase):
    """The two levels of network of a device; bandwidths are one way, per device."""
    hardware, node, fabric = fleet.hardware, fleet.node, fleet.fabric or {}
    l = SimpleNamespace(per_node=node["accelerators_per_node"])
    l.intra_bandwidth = (
        node.get("intra_node_bandwidth")
        or of(hardware, "device_link.bandwidth")
        or of(hardware, "host_link.bandwidth")
    )
    l.intra_latency = get(hardware, "device_link.latency", default("intra_latency"))
    # Between nodes: the slower of adapter and port, of which a device has its share.
    port = fabric.get("bandwidth", default("fabric_bandwidth"))
    adapter = min(node.get("nic_bandwidth", port), port)
    l.inter_bandwidth = (
        adapter * (node.get("nics_per_node", l.per_node) / l.per_node) / fabric.get("oversubscription", 1)
    )
    l.inter_latency = fabric.get("latency", default("inter_latency"))
    set_collectives(l, hardware, phase)
    return l


def set_collectives(l, hardware, phase):
    """Constants of the collectives inside a node. Serving engines bring all-reduce kernels of their own
    ("direct")."""

    def of(name, convention):
        return get(hardware, "collectives." + name, default(convention))

    l.share = get(hardware, "efficiency.link", default("link_share"))
    l.peers = get(hardware, "device_link.peers", 1)
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
