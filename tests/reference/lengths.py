"""Lengths of requests that differ: quantiles of laws with a mean of 1, by their own equations."""

import math
from statistics import NormalDist


def below_gamma(shape, x):
    """Share of a gamma law of scale 1 below x: x^a e^-x (1 / G(a + 1) + x / G(a + 2) + ...)."""
    term = total = math.exp(shape * math.log(x) - x - math.lgamma(shape + 1))
    n = 1
    while term > 1e-17 * total:
        term *= x / (shape + n)
        total, n = total + term, n + 1
    return total


def bisect(rises, wanted, low, high):
    """Where a rising function reaches a value."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if rises(middle) < wanted else (low, middle)
    return high


def weibull_shape(cv):
    narrow = lambda shape: -(math.gamma(1 + 2 / shape) / math.gamma(1 + 1 / shape) ** 2)  # noqa: E731
    return bisect(narrow, -(1 + cv * cv), 0.1, 100.0)


def quantile(law, cv, share):
    """Length over the mean that this share of the requests stays below."""
    if law == "lognormal":
        log = math.log(1 + cv * cv)
        return math.exp(math.sqrt(log) * NormalDist().inv_cdf(share) - log / 2)
    if law == "exponential":
        return -math.log(1 - share)
    if law == "uniform":
        return 1 + math.sqrt(3) * cv * (2 * share - 1)
    if law == "gamma":
        shape = 1 / cv**2
        return bisect(lambda x: below_gamma(shape, x), share, 1e-9, 600.0) / shape  # above, e^-x is too small
    shape = weibull_shape(cv)
    return (-math.log(1 - share)) ** (1 / shape) / math.gamma(1 + 1 / shape)


class Lengths:
    """Of prompts or of answers, as a question states them; all alike where it does not."""

    def __init__(self, cv, law):
        self.differ = cv is not None or law == "exponential"
        self.law = law or "lognormal"
        self.cv = 1.0 if law == "exponential" else cv or 0.0

    def factor(self, share):
        return quantile(self.law, self.cv, share) if self.differ else 1.0

    def with_own(self, mean, quantile, share, prompt):
        """A quantile of the first token with the own prompt, `prompt` of its factor seconds. It does not depend on the line:
        what exceeds the means adds in squares. What it takes is known at four shares; between them it is linear in the
        logarithm of the share above."""
        if not self.differ:
            return quantile
        known = (0.5, 0.9, 0.95, 0.99)
        beyond = [prompt(self.factor(q)) - prompt(1.0) for q in known]
        at = [-math.log(1 - q) for q in known]
        place = max(at[0], -math.log(1 - share))
        i = max(k for k in range(3) if at[k] <= place)
        own = beyond[i] + (beyond[i + 1] - beyond[i]) * (place - at[i]) / (at[i + 1] - at[i])
        square = sum(x * abs(x) for x in (quantile - mean, own))
        return mean + math.copysign(math.sqrt(abs(square)), square)
