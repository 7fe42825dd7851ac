"""All-reduce by recursive halving and doubling [s]."""
import mlsysim
from mlsysim import log2  # noqa: F401: you will need it


@mlsysim.law(name="HalvingDoubling",
             inputs={"message": {"unit": "GB", "low": 0}, "bandwidth": {"unit": "GB/s", "above": 0},
                     "alpha": {"unit": "us", "low": 0}, "ranks": {"unit": "", "low": 1}},
             results={"time": "ms", "startup": "us", "transfer": "ms"})
def halving_doubling(message, bandwidth, alpha, ranks):
    """Time until every device has the sum: 2 log2(ranks) alpha + 2 (1 - 1/ranks) message / bandwidth."""
    # Yours: the equation. `if` on a value cannot be recorded; mlsysim.where does the same.
    return {"time": 0 * alpha, "startup": 0 * alpha, "transfer": 0 * alpha}
