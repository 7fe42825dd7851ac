"""What limits a pass or a step, in a word: the part that takes longest; of equal ones the first."""


def longest(**parts):
    """compute, memory, network, overhead in this order."""
    return max(parts, key=lambda name: parts[name])


def of_pass(whole, dispatch):
    """A serving pass: kernels by their slower side, collectives, or launches and dispatch."""
    return longest(
        compute=whole.compute_bound,
        memory=whole.memory_bound,
        network=whole.network,
        overhead=whole.overhead + dispatch,
    )


def of_step(a, fits):
    """A training step; filling and draining the pipeline is overhead."""
    if not fits:
        return "capacity"
    return longest(
        compute=a.compute, memory=a.memory_bound, network=a.exposed, overhead=max(a.overhead, a.bubble)
    )


def of_textbook_step(a, exposed, fits):
    if not fits:
        return "capacity"
    if exposed > a.node.latency:
        return "network"
    if a.node.overhead > a.node.latency / 2:
        return "overhead"
    return "memory" if a.node.memory > a.node.compute else "compute"


def of_batch(a, textbook, fits):
    """One batch on one device; the textbook knows two sides."""
    if not textbook and not fits:
        return "capacity"
    if not textbook and a.overhead > max(a.compute, a.plain_memory_bound):
        return "overhead"
    if textbook:
        return "memory" if a.memory_bound > a.compute else "compute"
    return "memory" if a.plain_memory_bound > a.compute else "compute"
