"""All-reduce by recursive halving and doubling [s]."""
import mlsysim
from mlsysim import log2


@mlsysim.law(name="HalvingDoubling",
             inputs={"message": {"unit": "GB", "low": 0}, "bandwidth": {"unit": "GB/s", "above": 0},
                     "alpha": {"unit": "us", "low": 0}, "ranks": {"unit": "", "low": 1}},
             results={"time": "ms", "startup": "us", "transfer": "ms"})
def halving_doubling(message, bandwidth, alpha, ranks):
    """Time until every device has the sum: 2 log2(ranks) alpha + 2 (1 - 1/ranks) message / bandwidth."""
    startup = 2 * log2(ranks) * alpha
    transfer = 2 * (1 - 1 / ranks) * message / bandwidth
    return {"time": startup + transfer, "startup": startup, "transfer": transfer}
