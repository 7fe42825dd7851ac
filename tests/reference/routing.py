"""Where a router's rows go when every choice of experts is as likely as any other."""

import itertools
import math


def fullest_rank(experts, top_k, tokens, ranks):
    """Rows of the fullest of `ranks` over the mean: nearly normal counts with the variance of draws without
    replacement, the mean of the largest of them by blom1958statistical, chapter 6, and the quantile of
    abramowitz1964handbook, eq. 26.2.23."""
    if ranks <= 1:
        return 1.0
    t = math.sqrt(-2 * math.log(0.625 / (ranks + 0.25)))
    largest = t - (2.515517 + 0.802853 * t + 0.010328 * t**2) / (
        1 + 1.432788 * t + 0.189269 * t**2 + 0.001308 * t**3
    )
    mean = tokens * top_k / ranks
    spread = max(experts - top_k, 0) / max(experts - 1, 1)
    return min(1 + largest * math.sqrt(spread / mean), ranks)


def touched_share(experts, top_k, tokens, spread):
    """Experts that a batch touches, over all, where an expert of popularity w sees as many choices as one of mean
    popularity among w tokens' worth. w is lognormal; its mean over the normal density by the five points of Gauss and
    Hermite (abramowitz1964handbook, eq. 25.4.46), as the roots of x^5 - 10 x^3 + 15 x give them."""
    points = [0.0]
    for square in (5 - math.sqrt(10), 5 + math.sqrt(10)):
        points += [math.sqrt(square), -math.sqrt(square)]
    # Weights of a rule for polynomials of degree 9: 4! / (5 H4(x)^2), with H4 = x^4 - 6 x^2 + 3.
    weights = [math.factorial(5) / (5 * (x**4 - 6 * x**2 + 3)) ** 2 for x in points]
    popularity = [math.exp(spread * x) for x in points]
    mean = sum(w * p for w, p in zip(weights, popularity))
    chance = min(top_k / experts, 1.0)
    idle = sum(w * (1 - chance) ** (p / mean * tokens) for w, p in zip(weights, popularity))
    return max(1 - idle, chance)


def none_of(draws, others, all_of_them):
    """Probability that `draws` without replacement all come from the `others` among `all_of_them`."""
    p = 1.0
    for i in range(int(draws)):
        p *= max(others - i, 0) / max(all_of_them - i, 1)
    return p


def distinct_parts(routed, parts):
    """Ranks or nodes that a token visits, in the mean: all choices of groups are gone through one by one, and
    the experts are then drawn from the chosen ones (feller1968probability, section II.6)."""
    experts, top_k, groups, limited = routed
    size, own = experts / groups, experts / parts
    here = math.ceil(groups / parts)  # groups of which a part has some experts
    each = own / here
    missed, ways = 0.0, 0
    for chosen in itertools.combinations(range(int(groups)), int(limited)):
        open_here = each * sum(group < here for group in chosen)
        missed += none_of(top_k, limited * size - open_here, limited * size)
        ways += 1
    return parts * (1 - missed / ways)
