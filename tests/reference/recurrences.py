"""The kernels of linear attention that a runtime names, and their constants on a device (zoo/kernels/recurrences.yaml)."""

from types import SimpleNamespace

from experts import classes
from zoo import entry, of

ARRAYS = ("keys", "wide_keys", "values", "squares", "cells")


def chain_of(name, hardware, rule, decoding):
    """Of the nearest family along `extends` that has constants for the device's generation, and these."""
    while name:
        family = entry("kernel_family", name)
        for chain in family.get("recurrences", []):
            if (chain["rule"], chain.get("decoding", False)) != (rule, decoding):
                continue
            for rates in chain["rates"]:
                if rates["generation"] in classes(hardware):
                    return chain, rates
        name = family.get("extends")
    return None


def recurrences(hardware):
    clock, out = of(hardware, "compute.clock"), {}
    for rule in ("convolution", "gated_delta", "kda", "state_space"):
        for decoding in (False, True):
            found = chain_of(hardware.get("recurrences", "usual_recurrences"), hardware, rule, decoding)
            if not found:
                continue
            chain, rates = found
            launches = chain.get("launches", [])
            summed = [
                {a: sum(x.get(a, 0) for x in launches if x.get("in_order", False) == order) for a in ARRAYS}
                for order in (False, True)
            ]
            out[rule, decoding] = SimpleNamespace(
                listed=bool(launches),
                launches=len(launches) or 1,
                chunk=chain.get("chunk", 1),
                columns=chain.get("columns", 128),
                aside=summed[0],
                in_order=summed[1],
                states=rates.get("states", 0),
                stream=rates.get("stream", 1),
                **{name: rates.get(name, 0) / clock for name in ("launch", "row", "step")},
            )
    return out
