"""What limits a pass or a step, in a word: the longest of the times that the answer is made of; of equal ones
the first. One rule for both fidelities and all modes. A burst has no prompts of others between two tokens."""


def longest(**parts):
    """compute, memory, network, overhead, bubble in this order."""
    return max(parts, key=lambda name: parts[name])


def of_pass(whole, dispatch):
    """A serving pass: kernels by their slower side, collectives, or launches and dispatch."""
    return longest(
        compute=whole.compute_bound,
        memory=whole.memory_bound,
        network=whole.network + whole.host,
        overhead=whole.overhead + dispatch,
    )


def of_textbook_prompt(compute, dispatch):
    """The prompt of a sequence is arithmetic, and a dispatch."""
    return longest(compute=compute, overhead=dispatch)


def of_textbook_token(memory, overhead):
    """A step of decoding reads weights and cache, and pays the framework for each layer."""
    return longest(memory=memory, overhead=overhead)


def of_step(compute, memory, exposed, overhead, bubble, fits):
    """A training step. Nothing of it matters where it does not fit. Filling and draining the pipeline is a
    part of its own."""
    if not fits:
        return "capacity"
    return longest(compute=compute, memory=memory, network=exposed, overhead=overhead, bubble=bubble)


def of_batch(a, fits):
    """One batch on one device, where no network takes part."""
    if not fits:
        return "capacity"
    return longest(compute=a.compute, memory=a.memory_bound, overhead=a.overhead)
