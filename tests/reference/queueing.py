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


def share_within(target, at):
    """Share of the requests whose time, a rising function of the share, is at most `target`."""
    low, high = 0.0, 1 - 1e-12
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle) <= target else (low, middle)
    return low


def wait_quantile(line, share):
    """The waits of those who wait are exponential (gross2008queueing, section 3.3)."""
    return line.wait_given * max(0.0, math.log(line.waits / (1 - share)))


def arrivals_of(s, engine, steady, step, rate, running):
    """How a request meets the passes of a lane: the pass under way, its own, and what the prompts of others add."""
    rate, busy = rate / s.ep_size, min(1.0, running) if s.arrival_rate else min(max(running - 1, 0.0), 1.0)
    two = step.mean_pass * (1 + step.pass_cv**2)  # the pass around a random moment, of two kinds
    if not s.arrival_rate or s.prefill_replicas:
        crowd = (1 - step.prompt_passes) * min(1.0, rate * two) if busy > 0 else 0.0  # others must be there
        own = step.mixed_step_time * steady.chunks
        return SimpleNamespace(busy=busy, two=two, own=own, each=step.mixed_step_time, crowd=crowd, among=crowd, wait=0.0, queued=0.0,
                               rest=0.5 * busy * two)
    # Prompts that came in a pass join the next one, so that long passes follow long ones: second moment of
    # t = fixed + N prompt, where N has the mean rate t (M/D/1 with vacations where a pass takes one).
    together, arrived = steady.together, step.prompts * s.scheduler_steps
    further = max(0.0, steady.mixed_step_time(2, step.lanes) - steady.mixed_step_time(1, step.lanes))
    alone = max(further, step.one_pass - further * (min(max(arrived, 1), together) - 1))
    each = (further + (alone - further) / together**2) * steady.chunks
    fixed = (alone - further) * (1 - 1 / together**2)
    # A load above 0.95 is held there: one of shorter passes, of both kinds in the same shares.
    load, mean, alike = rate * each, step.mean_pass, two
    if load > 0.95:
        mean = max(mean * (1 - load) / 0.05, min(step.block, step.mixed_step_time))
        load, odds = 0.95, (1 - step.prompt_passes) / max(step.prompt_passes, 1e-12)
        alike = mean * (1 + odds * (1 - step.block / mean) ** 2)
    work = 1 / s.balanced_replicas + steady.prompts.cv**2  # a compound process (kleinrock1975queueing, section 5.7)
    square = load * each * work + 2 * load * fixed + (1 - load) * (step.block + fixed)
    longer = max(0.0, max(0.0, square - step.block * fixed / mean) / (1 - load**2) - alike)
    # Passes that are full: what arrives over what the budget leaves beside the running requests.
    room = steady.chunk - (step.requests if engine["mixed"] else 0)
    taken = step.lanes / s.pp_size  # queues that are not empty
    share = min(0.95, arrived * taken * steady.fresh / max(room, steady.fresh))
    full = (1 - 1 / together**2) * share**3 * step.mean_pass / (2 * together * (1 - share))
    beside = rate * (1 - 0.5 / together)
    return SimpleNamespace(
        busy=busy,
        two=two,
        own=fixed + each,
        each=each,
        crowd=beside * two,
        among=beside * step.mixed_step_time,
        wait=full + longer * (0.5 * busy + beside * each),
        queued=min(0.95, max(1e-12, taken * step.prompt_passes * step.mixed_step_time / step.mean_pass)),
        rest=(0.5 * busy + each * beside / together) * (two + longer) + full,
    )


def first_token_by(t, step, a, late):
    """Share of the requests that have their first token by `t`. Those that come in a pass with prompts, which is long, and
    all others wait for the rest of theirs (residual life, kleinrock1975queueing, section 5.2). The others that share the own
    pass are a fixed number and k, Poisson with a mean of at most 1; after a long pass they are more."""
    in_pass, share = a.busy / step.mean_pass, step.prompt_passes
    among = in_pass * share * step.mixed_step_time
    others = max(0.0, (a.crowd - among * a.among) / max(1 - among, 1e-12))
    total = 0.0
    for part, rate, length, crowd in (
        (among, in_pass * share, step.mixed_step_time, a.among),
        (1 - among, in_pass * (1 - share), step.block, others),
    ):
        random = min(1.0, crowd)
        weight = math.exp(-random)
        for k in range(60):
            left = t - late - a.own - a.each * (crowd - random + k)
            total += weight * (part - rate * max(0.0, length - left)) if left >= 0 else 0.0
            weight *= random / (k + 1)
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


def running_at(rate, steady, most):
    """The fewest requests with running = rate steps itl(running) (Little's law): from none, as many as begin in the time
    of one answer, again and again; where that hardly adds any, the first of numbers close together that is enough."""
    begun = lambda n: rate * steady.steps * steady.step(n, n).itl  # noqa: E731
    low, more = 0.0, begun(0.0)
    while more > low * 1.001 and more < most:
        low, more = more, begun(more)
    high = max(low, min(more, most))
    while begun(high) > high and high < most:
        low, high = high, min(high * 1.001, most)
    while high - low > 1e-13 * high and low < (low + high) / 2 < high:
        middle = (low + high) / 2
        if begun(middle) > middle:
            low = middle
        else:
            high = middle
    return high


def closed_loop(steady, requests, slots, before):
    """A loop of `requests`, of which `slots` run at once. By Little's law (little1961) requests = rate (wait + first +
    decoding), and those that run hold their slots from the server to the last token. Requests that decode make the
    step, whose length says how many decode: one secant, from all of them and from what that gives. Those that keep in
    step take their prompts together, and all of them make the steps that follow. `before` gives the time to the first
    token, and the part of it without a slot."""
    most = min(requests, slots)
    # Of requests that are fewer than the slots one does not wait for its own prompt while it decodes.
    own = 0.0 if requests > slots else 1 / max(most, 1.0)

    def at(others):
        loop = SimpleNamespace(own=own, others=others, running=1 + others if own else max(others, 1.0))
        loop.step = steady.step(loop.running, others)
        loop.decoding = loop.step.itl * steady.steps
        loop.first, outside = before(loop.step, loop.running / loop.decoding, loop.running)
        loop.rate = min(requests / (loop.first + loop.decoding), slots / (loop.first - outside + loop.decoding),
                        loop.running / loop.decoding)
        loop.then = loop.rate * loop.decoding * (1 - own)
        return loop

    everyone = max(most - 1.0, 0.0) if own else most
    loop = at(everyone)
    if steady.in_step() and not steady.s.prefill_replicas:
        loop.running = min(loop.running, loop.rate * loop.decoding)
        return loop
    first = loop.then
    second = at(first).then
    fall = max((second - first) - (first - everyone), 1e-12)
    others = min(max(first - (second - first) * (first - everyone) / fall, 0.0), everyone)
    return at(others)


def token_time_deviation(s, steady, step, running):
    """Over requests that arrive at random: steps are a busy period (kleinrock1975queueing, section 5.8), which prompts
    lengthen and in which more of them come: the variance of a first passage is rate E[x^2] / (1 - load)^3 for each second of
    steps. A Poisson number of requests runs beside it, whose mean over a stay has 2/3 of the variance."""
    if not s.arrival_rate:
        return 0.0
    added, by_requests = max(step.itl - step.decode_step_time, 0.0), 0.0
    by_requests = max(step.device - steady.decode_step_time(s.ep_size, steady.lanes(running)), 0.0)
    # Lengths that differ: E[x^2] / E[x]^2 of prompts, E[1 / x] E[x] of answers, both 1 + cv^2 (lognormal).
    varied = (1 + steady.prompts.cv**2) * (1 + steady.answers.cv**2)
    # With rate = prompts / itl, load = added / itl and x = load / rate. Steps that all hold prompts have no such limit.
    free, rate = step.decode_step_time / step.itl, max(step.prompts, 1e-12) / step.itl
    prompts = (added / step.itl) ** 2 / rate * varied * step.decode_step_time / free**3 / steady.steps
    return math.sqrt(prompts + by_requests**2 * 2 / 3 / max(running, 1e-12))


def log_deviation(s, steady, step, running):
    """Of lognormal times between tokens, which are skewed as first passages are (johnson1994univariate, chapters 14, 15)."""
    return math.sqrt(math.log1p((token_time_deviation(s, steady, step, running) / step.itl) ** 2))


def token_time_by(s, steady, step, running, deviate):
    """Time between tokens that a share of the requests keeps."""
    log = log_deviation(s, steady, step, running)
    return step.itl * math.exp(deviate * log - log**2 / 2)


def keep_token_time(s, steady, step, running):
    """Share of the requests that keep the target."""
    log = log_deviation(s, steady, step, running)
    if not log:
        return float(step.itl <= s.target_itl)
    return 0.5 * math.erfc(-(math.log(s.target_itl / step.itl) / log + log / 2) / math.sqrt(2))


def rates_and_latencies(s, out, rate, devices, answers):
    out["request_throughput"] = rate
    out["token_throughput"] = rate * s.output_tokens
    out["token_throughput_per_accelerator"] = out["token_throughput"] / devices
    generation = out["itl"] * (s.output_tokens - 1)
    for first, whole in (("ttft", "request_latency"), ("p99_ttft", "p99_request_latency")):
        if first in out:
            out[whole] = out[first] + generation
    if answers.differ and "p99_ttft" in out:  # prompts and answers are independent: what exceeds the means adds in squares
        longest = out["itl"] * (s.output_tokens * answers.factor(0.99) - 1)
        late = max(0.0, out["p99_ttft"] - out["ttft"])
        out["p99_request_latency"] = out["request_latency"] + math.hypot(late, longest - generation)
    if s.target_itl:
        meets = out.pop("keeps_itl")
        out["slo_attainment"] = out.get("slo_attainment", 0.0) * meets if s.target_ttft else meets
    out["goodput"] = rate * out.get("slo_attainment", 1.0) if out["is_stable"] else 0.0
