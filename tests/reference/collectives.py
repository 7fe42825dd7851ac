"""Time of collectives. `message` is the whole vector of a rank before a reduce or after a gather; one rank
costs nothing."""

import math

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


def hierarchical_all_reduce(message, per_node, nodes, links):
    """Reduce inside each node, ring between the nodes with one part each, spread inside
    (thakur2005collectives)."""
    inside = ring_gather(message, per_node, links.intra_bandwidth, links.intra_latency)
    between = ring_all_reduce(message / per_node, nodes, links.inter_bandwidth, links.inter_latency)
    return inside + between + inside


# --- inside a node, as libraries run them (hu2025nccl, section IV) ------------------------------------------


def group_bandwidth(ranks, l):
    """Behind a switch all of a device's links; in a full mesh the links to the others of the group."""
    return l.intra_bandwidth * min(max(ranks - 1, 1), l.peers) / l.peers


def protocol_ring(message, ranks, passes, l):
    """Low-latency protocol (short steps, a small share of the link) or bulk protocol (synchronise once, then
    stream; a gather also copies its own share); passes is 2 for an all-reduce."""
    if ranks <= 1:
        return 0.0
    bandwidth = group_bandwidth(ranks, l)
    bus = passes * (1 - 1 / ranks) * message
    low = passes * (ranks - 1) * l.hop + bus / (l.low_latency_share * bandwidth)
    bulk = l.sync + bus / (l.share * bandwidth) + (2 - passes) * message / (ranks * l.copy_ratio * bandwidth)
    return l.launch + min(low, bulk)


def switch_all_reduce(message, ranks, l):
    """The switch adds up: a rank sends once and receives the sum, its own share twice (hu2025nccl, III-D)."""
    return (
        l.launch + l.switch_start + (1 + 1 / ranks) * message / (l.switch_share * group_bandwidth(ranks, l))
    )


def direct_all_reduce(message, ranks, l):
    """A serving engine's own kernel: everybody reads everything, or adds up a share and reads the others'
    sums (vllm-custom-allreduce, one-stage and two-stage kernels)."""
    wire = message / (l.direct_share * group_bandwidth(ranks, l))
    once = (ranks - 1) * (l.direct_hop + wire)
    twice = l.direct_second + 2 * (ranks - 1) * l.direct_hop + 2 * (1 - 1 / ranks) * wire
    return l.direct_start + min(once, twice)


def all_reduce_inside(message, ranks, l):
    """The fastest of what there is."""
    if ranks <= 1:
        return 0.0
    ways = [protocol_ring(message, ranks, 2, l)]
    if l.switch_share > 0:
        ways.append(switch_all_reduce(message, ranks, l))
    if l.direct:
        ways.append(direct_all_reduce(message, ranks, l))
    return min(ways)


def all_to_all_inside(message, ranks, l):
    """All pairs at once: a handshake on one peer's channel, or half a synchronisation and bulk."""
    if ranks <= 1:
        return 0.0
    bandwidth = group_bandwidth(ranks, l)
    low = 2 * l.hop + message / (ranks * l.pair_share * bandwidth)
    bulk = (
        0.5 * l.sync
        + (1 - 1 / ranks) * message / (l.share * bandwidth)
        + message / (ranks * l.copy_ratio * bandwidth)
    )
    return (l.launch + min(low, bulk)) * min(ranks - 1, 1)


# --- over both levels ---------------------------------------------------------------------------------------


def collective_time(op, l):
    """A group of `ranks` devices, `stride` apart: `inner` of them share a node, `nodes` nodes take part."""
    if op.ranks <= 1:
        return 0.0
    inner = min(max(math.floor(l.per_node / op.stride), 1), op.ranks)
    nodes = math.ceil(op.ranks / inner)
    inter = l.inter_bandwidth * l.share
    if op.pattern == "all_reduce":
        part = op.message / inner
        between = min(
            ring_all_reduce(part, nodes, inter, l.inter_latency),
            double_tree_all_reduce(part, nodes, inter, l.inter_latency),
        )
        return all_reduce_inside(op.message, inner, l) + between
    if op.pattern in ("all_gather", "reduce_scatter"):
        return protocol_ring(op.message, inner, 1, l) + ring_gather(
            op.message / inner, nodes, inter, l.inter_latency
        )
    if op.pattern == "all_to_all":
        # The part for the own node and the part for the others leave over different links at once.
        away = 1 - 1 / nodes
        inside = all_to_all_inside(op.message * (1 - away), inner, l)
        return max(inside, op.message * away / inter + l.inter_latency * (nodes - 1))
    assert op.pattern == "point_to_point", op.pattern
    if op.stride >= l.per_node:
        return l.launch + l.inter_latency + op.message / inter
    return l.launch + l.hop + op.message / (group_bandwidth(2, l) * l.share)
