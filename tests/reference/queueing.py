"""Waiting lines, and distributions of waits."""

import math
from types import SimpleNamespace

FULL = 0.999999  # load above which a line has no steady state


def erlang_c(servers, load):
    """Probability that an arrival finds all servers busy (erlang1917): the loss formula's recursion, then the
    delay."""
    blocked = 1.0
    for k in range(1, int(servers) + 1):
        blocked = load * blocked / (k + load * blocked)
    idle = 1 - load / servers
    return blocked / (1 - (1 - blocked) * (1 - idle))


def line_of(load, servers, service, arrival_cv, service_cv):
    """Equal servers, general arrivals and service: the two-moment interpolation (allencunneen1990, section
    5.4)."""
    line = SimpleNamespace(stable=load / servers <= FULL)
    if line.stable:
        busy = max(load / servers, 1e-9)
        line.waits = erlang_c(servers, busy * servers)
        line.wait_given = service * (arrival_cv**2 + service_cv**2) / 2 / (servers * (1 - busy))
        line.wait_mean = line.waits * line.wait_given
    return line


def wait_quantile(line, share):
    """The waits of those who wait are exponential (gross2008queueing, section 3.3)."""
    return line.wait_given * max(0.0, math.log(line.waits / (1 - share)))


def rest_by(t, step, busy):
    """Share of the arrivals that wait no longer than `t` for the pass under way: residual life of a mixture
    of two kinds of passes (kleinrock1975queueing, section 5.2)."""
    if t < 0:
        return 0.0
    share = step.prompt_passes
    mean = (1 - share) * step.decode_pass + share * step.prompt_pass
    under_way = ((1 - share) * max(0.0, step.decode_pass - t) + share * max(0.0, step.prompt_pass - t)) / mean
    return 1 - busy * under_way


def first_token_by(t, step, crowd, busy, late):
    """Share of the requests that have their first token by `t`: k others share the own pass, Poisson with
    mean `crowd`."""
    total, weight = 0.0, math.exp(-crowd)
    for k in range(60):
        total += weight * rest_by(t - late - step.prompt_pass * (1 + k), step, busy)
        weight *= crowd / (k + 1)
    return min(1.0, total)


def quantile(share_by, share, low, high):
    """Time by which `share` of the requests are served, by bisection to 1e-13."""
    for _ in range(200):
        if share_by(high) >= share:
            break
        high *= 1.5
    for _ in range(100):
        if high - low <= 1e-13 * high:
            break
        middle = (low + high) / 2
        if share_by(middle) < share:
            low = middle
        else:
            high = middle
    return high
