"""Time of collectives. `message` is the whole vector of a rank before a reduce or after a gather; one rank
costs nothing."""

import math
from types import SimpleNamespace

import routing

# --- the alpha-beta model, for links between nodes and for the textbook -------------------------------------


def ring_gather(message, ranks, bandwidth, alpha):
    """ranks - 1 steps, each of which passes on one part (thakur2005collectives, section 4.1). Also a
    reduce-scatter."""
    time = 0.0
    for _ in range(int(ranks) - 1):
        time += alpha + message / ranks / bandwidth
    return time


def ring_all_reduce(message, ranks, bandwidth, alpha):
    """Reduce-scatter, then all-gather (patarasuk2009allreduce)."""
    return 2 * ring_gather(message, ranks, bandwidth, alpha)


def double_tree_all_reduce(message, ranks, bandwidth, alpha):
    """Two trees that carry half of the message each; 1.2 and 1.05 are what pipelining adds
    (sanders2009twotree; the two factors are conventions of MLSys-im)."""
    levels = math.ceil(math.log2(ranks))
    return 1.2 * 2 * levels * alpha + 1.05 * 2 * (1 - 1 / ranks) * message / bandwidth


def all_to_all(message, ranks, bandwidth, alpha):
    """Pairwise exchange: ranks - 1 partners in turn (thakur2005collectives)."""
    time = 0.0
    for _ in range(int(ranks) - 1):
        time += alpha + message / ranks / bandwidth
    return time


def hierarchical_all_reduce(message, spread, links):
    """Reduce inside each node, ring between the nodes with one part each, spread inside
    (thakur2005collectives)."""
    link = links.levels[0]
    inside = ring_gather(message, spread.inner, links.inside, link.latency)
    between = ring_all_reduce(message / spread.inner, spread.nodes, spread.way, spread.step)
    return inside + between + inside


# --- inside a node, as libraries run them (hu2025nccl, section IV) ------------------------------------------


def group_bandwidth(ranks, l):
    """Behind a switch all of a device's links; in a full mesh the links to the others of the group."""
    return l.levels[0].bandwidth * min(max(ranks - 1, 1), l.mesh) / l.mesh


def protocol_ring(message, ranks, passes, l):
    """Low-latency protocol (short steps, a small share of the link) or bulk protocol (synchronise once, then
    stream; a gather also copies its own share); passes is 2 for an all-reduce."""
    if ranks <= 1:
        return 0.0
    bandwidth = group_bandwidth(ranks, l)
    bus = passes * (1 - 1 / ranks) * message
    low = passes * (ranks - 1) * l.hop + bus / (l.low_latency_share * bandwidth)
    bulk = l.sync + bus / (l.levels[0].share * bandwidth) + (2 - passes) * message / (ranks * l.copy_ratio * bandwidth)
    return l.launch + min(low, bulk)


def switch_all_reduce(message, ranks, l):
    """The switch adds up: a rank sends once and receives the sum, its own share twice (hu2025nccl, III-D)."""
    return (
        l.launch + l.switch_start + (1 + 1 / ranks) * message / (l.switch_share * group_bandwidth(ranks, l))
    )


def direct_all_reduce(message, rows, ranks, l):
    """A serving engine's own kernel: everybody reads everything, or adds up a share and reads the others'
    sums (vllm-custom-allreduce, one-stage and two-stage kernels). TensorRT-LLM's does the first for all messages
    of few rows (trtllm-allreduce-fusion)."""
    wire = message / (l.direct_share * group_bandwidth(ranks, l))
    once = (ranks - 1) * (l.direct_hop + wire)
    twice = l.direct_second + 2 * (ranks - 1) * l.direct_hop + 2 * (1 - 1 / ranks) * wire
    return l.direct_start + (once if 0 < rows <= l.direct_rows else min(once, twice))


def all_reduce_inside(message, rows, ranks, l):
    """The fastest of what there is, but for messages that an engine keeps to its own kernel."""
    if ranks <= 1:
        return 0.0
    if l.direct and 0 < rows <= l.direct_rows:
        return direct_all_reduce(message, rows, ranks, l)
    ways = [protocol_ring(message, ranks, 2, l)]
    if l.switch_share > 0:
        ways.append(switch_all_reduce(message, ranks, l))
    if l.direct:
        ways.append(direct_all_reduce(message, rows, ranks, l))
    return min(ways)


def all_to_all_inside(message, ranks, l):
    """All pairs at once: a handshake on one peer's channel, or half a synchronisation and bulk."""
    if ranks <= 1:
        return 0.0
    bandwidth = group_bandwidth(ranks, l)
    low = 2 * l.hop + message / (ranks * l.pair_share * bandwidth)
    bulk = (
        0.5 * l.sync
        + (1 - 1 / ranks) * message / (l.levels[0].share * bandwidth)
        + message / (ranks * l.copy_ratio * bandwidth)
    )
    return (l.launch + min(low, bulk)) * min(ranks - 1, 1)


def level_rate(level):
    """What is on its way holds its buffer for a start-up there and one back (little1961proof)."""
    rate = level.bandwidth * level.share
    return min(rate, level.in_flight / (2 * level.latency)) if level.latency else rate


# --- over the levels of a machine ---------------------------------------------------------------------------


def spread(ranks, stride, l):
    """Where the devices of a group lie: for each level the part that each rank is in. Of the first levels one
    is the node; a torus counts as one."""
    first = max(l.axes, 1)
    below, sizes = 1, []
    for level in l.levels:
        below *= level.peers
        sizes.append(min(max(math.floor(below / stride), sizes[-1] if sizes else 1), ranks))
    sizes[-1] = ranks
    s = SimpleNamespace(ranks=ranks, stride=stride, inner=sizes[first - 1])
    node_of = [rank // s.inner for rank in range(ranks)]
    s.nodes = node_of[-1] + 1
    # Which level joins two neighbouring nodes, and node 0 with each of the others.
    size = [math.ceil(n / s.inner) for n in sizes]

    def joins(one, other):
        return next(i for i in range(first, len(l.levels)) if one // size[i] == other // size[i])

    neighbours = [joins(node, node + 1) for node in range(s.nodes - 1)]
    s.step = sum(l.levels[i].latency for i in neighbours) / max(len(neighbours), 1)
    s.messages = sum(l.levels[joins(0, node)].latency for node in range(1, s.nodes))
    # Up a tree: halve the parts of every level in turn.
    s.rounds, climb = 0, 0.0
    for i in range(first, len(l.levels)):
        parts = math.ceil(sizes[i] / sizes[i - 1])
        while parts > 1:
            parts, climb = math.ceil(parts / 2), climb + l.levels[i].latency
    parts = s.nodes
    while parts > 1:
        parts, s.rounds = math.ceil(parts / 2), s.rounds + 1
    s.climb = climb / max(s.rounds, 1)
    # What leaves a part leaves it over every level on its way. A ring leaves each part once, with the ways out
    # of all its devices; if all talk to all, a device has its own.
    s.way, s.exchange, s.rings, own = math.inf, 0.0, [], math.inf
    for i in range(first, len(l.levels)):
        own = min(own, level_rate(l.levels[i]))
        s.rings.append((math.ceil(sizes[i] / sizes[i - 1]), sizes[i - 1], own, l.levels[i].latency))
        parts = math.ceil(s.nodes * s.inner / sizes[i - 1]) if i > first else s.nodes
        if i == first or parts > 1 and sizes[i] > sizes[i - 1]:
            s.way = min(s.way, own * sizes[i - 1] / s.inner)
        s.exchange = max(s.exchange, (1 - 1 / parts) / own)  # time for each byte of a message
    return s


def torus(ranks, stride, l):
    """For each axis: ranks on it, links that a device of the group has on it (two on a closed axis, an axis of
    less than four is open, and groups that lie between each other share), and the axis."""
    parts, below, before = [], 1, 1
    for axis in l.levels[: l.axes]:
        on = math.ceil(min(max(math.floor(below * axis.peers / stride), before), ranks) / before)
        gap = min(max(stride / below, 1), axis.peers)
        closed = on * gap >= axis.peers >= 4
        parts.append((on, (2 if closed else 1) / gap, axis))
        below, before = below * axis.peers, before * on
    return parts


def inside_rate(s, l):
    if not l.axes:
        return group_bandwidth(s.inner, l) * l.levels[0].share
    return sum(ways * axis.bandwidth * axis.share for on, ways, axis in torus(s.inner, s.stride, l) if on > 1)


def torus_ring(message, passes, s, l):
    """A ring on every axis, each with its part of the message."""
    if s.inner <= 1:
        return 0.0
    hops = sum(axis.latency * (on - 1) for on, _, axis in torus(s.inner, s.stride, l))
    return l.launch + passes * (hops + (1 - 1 / s.inner) * message / inside_rate(s, l))


def torus_all_to_all(message, s, l):
    """Every device to every other by the shorter way round; the most loaded axis counts (dallytowles2004,
    section 5.2)."""
    time = 0.0
    for on, ways, axis in torus(s.inner, s.stride, l):
        hops = sum(min(d, on - d) for d in range(on)) / on
        time = max(time, message * hops / (ways * axis.bandwidth * axis.share))
    return time + (l.launch if s.inner > 1 else 0.0)


def protocols(l):
    """Start and share of the links of the bulk protocol, and of the one that sends flags with the data and needs
    no synchronisation (hu2025nccl, table I)."""
    return [(l.launch + l.sync, 1.0), (l.launch, min(l.low_latency_share / l.levels[0].share, 1.0))]


def nested_rings(message, passes, s):
    """Level after level: a ring of the parts of each level, with what the levels below left a device."""
    return sum(passes * ring_gather(message / below, parts, way, alpha) for parts, below, way, alpha in s.rings)


def chosen(l, nested, flat, usual):
    """What the asked algorithm leaves."""
    ways = {"nested": [nested], "flat": [flat], "fastest": [nested, flat]}
    return min(ways[usual if l.algorithm == "usual" else l.algorithm])


def ring_through(message, s, l, passes=2):
    """A ring through all devices, twice round (hu2025nccl, ring). Of 2 (ranks - 1) steps in a row as many leave
    a node as the ring leaves nodes."""
    ways = []
    for start, share in protocols(l):
        time = start
        for _ in range(passes):
            leaving = min(s.nodes, s.ranks - 1)
            time += leaving * s.step + (s.ranks - 1 - leaving) * l.hop
            for _ in range(s.ranks - 1):  # the slowest edge sets the pace
                time += message / s.ranks / (share * min(inside_rate(s, l), s.way * s.inner))
        ways.append(time)
    return min(ways)


def tree_through(message, s, l):
    """Chains inside the nodes, two trees between them; 1.05 is a convention of MLSys-im (hu2025nccl, tree)."""
    climb = s.rounds * s.climb + (s.inner - 1) * l.hop
    inside = min(s.inner - 1, 2) * message / inside_rate(s, l)
    between = min(s.nodes - 1, 2) * message / (s.way * s.inner)
    return min(start + 2 * climb + 1.05 * max(inside, between) / share for start, share in protocols(l))


def switch_through(message, s, l):
    """The switch of each node adds up, a tree joins the nodes (hu2025nccl, III-D)."""
    inside = (1 + 1 / s.inner) * message / (l.switch_share * l.levels[0].bandwidth)
    between = min(s.nodes - 1, 1 if l.reduces else 2) * message / (s.way * s.inner)
    return l.launch + l.switch_start + 2 * s.rounds * s.climb + max(inside, between)


def all_reduce(message, rows, s, l):
    inside = torus_ring(message, 2, s, l) if l.axes else all_reduce_inside(message, rows, s.inner, l)
    if s.nodes == 1:
        return inside
    part = message / s.inner
    between = [
        ring_all_reduce(part, s.nodes, s.way, s.step),
        double_tree_all_reduce(part, s.nodes, s.way, s.climb),
    ]
    if len(s.rings) > 1 and l.algorithm != "usual":
        between.append(nested_rings(message, 2, s))
    if l.reduces:
        between.append(2 * s.rounds * s.climb + part / s.way)
    flat = [ring_through(message, s, l), tree_through(message, s, l)]
    if l.switch_share > 0:
        flat.append(switch_through(message, s, l))
    return chosen(l, inside + min(between), min(flat), "fastest")


def gather(message, s, l):
    inside = torus_ring(message, 1, s, l) if l.axes else protocol_ring(message, s.inner, 1, l)
    if s.nodes == 1:
        return inside
    between = [ring_gather(message / s.inner, s.nodes, s.way, s.step)]
    if len(s.rings) > 1 and l.algorithm != "usual":
        between.append(nested_rings(message, 1, s))
    return chosen(l, inside + min(between), ring_through(message, s, l, 1), "nested")


def point_to_point(message, stride, l):
    """Over the narrowest level on the way to the device `stride` away."""
    bandwidth, alpha = group_bandwidth(2, l) * l.levels[0].share, l.hop
    first, below, way = max(l.axes, 1), 1, math.inf
    for i, level in enumerate(l.levels):
        if i >= first:
            way = min(way, level_rate(level))
            if stride >= below:
                bandwidth, alpha = way, level.latency
        below *= level.peers
    return l.launch + alpha + message / bandwidth


def collective_time(op, l):
    """A group of `ranks` devices, `stride` apart."""
    if op.ranks <= 1:
        return 0.0
    if op.pattern == "point_to_point":
        return point_to_point(op.message, op.stride, l)
    s = spread(int(op.ranks), op.stride, l)
    if op.pattern == "all_reduce":
        return all_reduce(op.message, op.m, s, l)
    if op.pattern in ("all_gather", "reduce_scatter"):
        return gather(op.message, s, l)
    assert op.pattern == "all_to_all", op.pattern
    # The part for the own node and the part for the others leave over different links at once.
    stays, leaves = op.message / s.nodes, op.message
    if op.one_copy:  # one copy a node, which passes on one to each rank
        of_each = op.message / op.routed[1]
        stays = of_each * routing.distinct_parts(op.routed, op.ranks)
        leaves = of_each * routing.distinct_parts(op.routed, s.nodes)
    inside = torus_all_to_all(stays, s, l) if l.axes else all_to_all_inside(stays, s.inner, l)
    return max(inside, leaves * s.exchange + s.messages)
