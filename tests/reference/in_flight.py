"""A replica that batches in flight: requests join and leave a running batch between two passes; steady state.

With pp pipeline stages the running requests are divided over m = min(pp, running) lanes, one on each stage. A
lane is a batch of its own, a micro-batch, that goes round all stages: a step of it has running / m requests and
brings its own prompts. Mean numbers of requests need not be whole: work and cache are linear in them.
"""

import math
from types import SimpleNamespace

import device
import formats
import launches
import macro
import model
import queueing
import serving
from lane_passes import OperatorPasses, TextbookPasses
from lengths import Lengths
from plan import EXCHANGE
from zoo import entry

NO_ENGINE = {"host_step": 0.0, "host_request": 0.0, "request_time": 0.0, "mixed": True}


class Steady:
    """A request in the terms of the laws."""

    def __init__(self, s, engine, passes, workers=None):
        self.s, self.engine, self.passes = s, engine, passes
        self.chunk = launches.pass_tokens(s.device, engine, s.prefill_chunk_tokens)
        self.prompt_ranks = s.prefill_ep_size or s.ep_size
        self.workers = workers or passes
        # What a pass must have room for: tokens that are not cached, or what an encoder reads at once.
        self.fresh = s.encoded or s.seq_len - s.cached_prefix_len
        self.chunks = 1 if s.encoded else math.ceil(self.fresh / self.chunk)
        self.together = max(1, math.floor(self.chunk / self.fresh))  # prompts of one pass
        self.prompts = Lengths(s.seq_len_cv, s.seq_len_law)
        self.answers = Lengths(s.output_tokens_cv, s.output_tokens_law)
        # Token i of n sees the prompt and i tokens. At a random moment an answer of n tokens is met n times as often as
        # one of a single token: the mean of n^2 over the mean of n.
        met = s.output_tokens * (1 + self.answers.cv**2)
        self.context = s.seq_len + (met + 1) / 2
        # The first token comes with the prompt; who ends within a block of steps stays to its end.
        self.steps = max(1, s.output_tokens - 1) + (s.scheduler_steps - 1) / 2

    def lanes(self, running):
        return max(1.0, min(self.s.pp_size, running))

    def host(self, requests):
        """Host work of a pass: scheduling, sampling, bookkeeping."""
        return self.engine["host_step"] + self.engine["host_request"] * requests

    def with_host(self, time, requests):
        """The host works before the pass, or beside it."""
        host = self.host(requests)
        return math.hypot(time, host) if self.engine.get("beside") else time + host

    def decode_step_time(self, requests, lanes):
        """A token for each request of a lane, while every lane goes round: as in serving a cycle of the
        pipeline, in which the slowest stage works on each lane once."""
        return serving.between_tokens(self.passes.decode(max(requests, 1), self.context), lanes)

    def mixed_step_time(self, prompts, lanes):
        """Device time of a pass of `prompts` prompts a rank: of a chunk of them where they are longer than
        that. Every lane has such a pass, so that it is a cycle too."""
        total = 0.0
        for new, held in serving.chunks_of(self.s.seq_len, self.s.cached_prefix_len, self.chunk):
            one = self.workers.prefill(prompts * self.prompt_ranks, new, held)
            total += serving.between_tokens(one, lanes)
        return total / self.chunks

    def mixed_pass(self, prompts, running, lanes):
        """A pass of prompts in which the running requests take a step: one list of products, norms and exchanges over
        all its tokens; the attention of the prompts and that of the requests are kernels of their own."""
        others = max(running - prompts * self.s.ep_size, 0)  # those whose prompt it is not
        step = self.passes.decode(max(others, 1), self.context).whole.sequence_mixing * min(others, 1)
        total = 0.0
        for new, held in serving.chunks_of(self.s.seq_len, self.s.cached_prefix_len, self.chunk):
            own = self.passes.prefill(prompts * self.s.ep_size, new, held).whole.sequence_mixing
            brought = prompts * self.s.ep_size
            share = {"read": brought / (brought + others / new)} if self.s.encoded else {}
            one = self.passes.prefill(brought + others / new, new, held, **share)
            one = self.passes.with_mixing(one, own + step)
            total += max(one.total, lanes * one.slowest)
        return total / self.chunks

    def busy_of_prompts(self, brought, joined):
        """What the prompts that begin in the time of a step add to it; a mixed pass reads the weights once where it takes
        the place of a step."""
        if brought <= 0 or self.s.prefill_replicas:
            return 0.0
        often = brought * self.chunks
        prompts = min(max(brought, 1), self.together)
        busy = 0.0
        for new, held in serving.chunks_of(self.s.seq_len, self.s.cached_prefix_len, self.chunk):
            busy += self.passes.prefill(prompts * self.s.ep_size, new, held).busy
        busy *= max(1.0, often / self.together) / self.chunks
        if self.engine["mixed"]:
            busy = max(busy - joined * self.passes.decode(self.s.ep_size, self.context).busy, 0.0)
        return min(1.0, often) * busy

    def draw(self, t, rate, running, own):
        """Time at full power in the time of a step: each request that ends has drawn for its prompt and for its part of
        each of its steps. A mean of less than one request is one that is there for that share of the time, and no request
        decodes while its own prompt is processed."""
        lane = max(running / t.lanes, 1.0)
        begun = rate * t.itl
        decoding = min(1.0, begun * self.steps / max(running, 1.0))
        joined = min(1.0, begun * self.steps * (1 - own) / self.s.pp_size)
        step = self.passes.decode(lane, self.context).busy
        step += self.engine.get("sampling", 0.0) * lane * self.passes.device.resident_draw
        return t.lanes * (decoding * step + self.busy_of_prompts(begun / t.lanes / self.s.ep_size, joined))

    def step(self, running, others):
        """Mean step with `running` requests of which `others` bring a prompt every `steps` steps (yu2022orca,
        section 4).

        One token for every running request while a lane goes round: its own step, in which the host schedules
        its requests. With fewer requests than stages a lane has one request, which still has all stages
        before it.
        """
        lanes, ranks = self.lanes(running), self.s.ep_size
        running, others = running / lanes, others / lanes
        mixed = 1 if self.engine["mixed"] else 0
        t = SimpleNamespace(device=self.decode_step_time(running, lanes), lanes=lanes, requests=running / ranks)
        t.prompts = 0.0 if self.s.prefill_replicas else others / ranks / self.steps
        if self.in_step() and not mixed and not self.s.prefill_replicas:
            # All start together: those whose prompt came first wait for the passes of the others.
            t.prompts = max(0.0, others + 1 - min(self.together, others + 1)) / (2 * self.steps)
        block = self.s.scheduler_steps  # steps that the host schedules at once; prompts come between them
        often = t.prompts * self.chunks * block
        share = min(1.0, often)  # of the blocks, those that have prompts
        # What a step brings in more prompts or chunks than one pass takes, further passes take.
        prompts = min(max(t.prompts * block, 1), self.together)
        count = max(1.0, often / self.together)
        prompt = one = self.mixed_step_time(prompts, lanes)
        if mixed and (self.s.fidelity == "textbook" or self.s.prefill_replicas):
            # Totals read the weights once; the running requests add what they add to a step.
            one += max(t.device - self.decode_step_time(ranks, lanes), 0.0)
        elif mixed:  # the running requests take their step in one of the passes
            one = self.mixed_pass(prompts, running, lanes)
        prompt = one + prompt * (count - 1)
        t.one_pass = self.with_host(one, running / ranks)
        t.decode_step_time = self.with_host(t.device, running / ranks)
        t.mixed_step_time = self.with_host(prompt, running / ranks)
        t.block = t.decode_step_time * block
        t.itl = t.decode_step_time + max(t.mixed_step_time - t.decode_step_time * mixed, 0.0) * share / block
        t.prompt_passes = share / (1 + (1 - mixed) * share)
        t.prompt_share = share * t.mixed_step_time / t.itl / block
        t.mean_pass = t.block * (1 - t.prompt_passes) + t.mixed_step_time * t.prompt_passes
        spread = math.sqrt(t.prompt_passes * (1 - t.prompt_passes))
        t.pass_cv = spread * abs(t.mixed_step_time - t.block) / t.mean_pass
        return t

    def prompt_slot(self):
        """Time between two prompts that follow each other through the stages of a worker: what the slowest one
        needs for all chunks."""
        slot = 0.0
        for new, held in serving.chunks_of(self.s.seq_len, self.s.cached_prefix_len, self.chunk):
            slot += self.workers.prefill(self.prompt_ranks, new, held).slowest
        return self.with_host(slot / self.chunks, 1) * self.chunks

    def alone(self, requests):
        """The passes of a prompt that nobody else is there for: their kernels, and what the host has of them. The
        host keeps the books of at most one request."""
        total = launches = 0.0
        for new, held in serving.chunks_of(self.s.seq_len, self.s.cached_prefix_len, self.chunk):
            one = self.workers.prefill(self.prompt_ranks, new, held)
            total, launches = total + one.total, launches + one.total * one.host_share
        mean = total / self.chunks
        host = (self.with_host(mean, min(1.0, requests)) - mean) * self.chunks
        return SimpleNamespace(kernels=total - launches, host=launches + host)

    def prompt_work(self):
        """Arithmetic of a prompt a rank that takes it, and its time at full power, over all stages."""
        work = busy = 0.0
        for new, held in serving.chunks_of(self.s.seq_len, self.s.cached_prefix_len, self.chunk):
            one = self.workers.prefill(self.prompt_ranks, new, held)
            work, busy = work + one.whole.work, busy + one.busy
        return work, busy

    def shares(self, step, rate, running, devices, busy, most_busy):
        """Shares of the peak and of full power, over all devices that there are. Arithmetic is conserved: who ends had
        a prompt, and in each of its steps a part of the work of its lane.

        `busy`: share of full power of the devices that decode; `most_busy`: what a power cap leaves of it"""
        s, stages = self.s, self.s.pp_size
        peak = self.passes.device.matrix_rate * stages
        work, prompt_busy = self.prompt_work()
        lane = max(running / step.lanes, 1.0)
        # Steps a second that all lanes take together: no more than follow each other without a pause.
        steps = min(rate * self.steps / lane, step.lanes * max(1.0, 1 / max(running, 1.0)) / step.itl)
        arithmetic = steps * self.passes.decode(lane, self.context).whole.work
        alone = self.alone(1)
        out = {"prefill_mfu": min(1.0, work / (peak * (alone.kernels + alone.host)))}
        if not s.prefill_replicas:
            return out | {"mfu": min(1.0, (arithmetic + rate / s.ep_size * work) / peak), "utilization": busy}
        own = s.tp_size * stages * s.ep_size / devices
        taken = rate / (s.prefill_replicas * self.prompt_ranks * stages)  # prompts a second, for each rank of a worker
        # A rank has the arithmetic of its stage.
        prompts = min(1.0, taken * work / self.passes.device.matrix_rate)
        out["mfu"] = min(1.0, arithmetic / peak) * own + prompts * (1 - own)
        out["utilization"] = busy * own + min(most_busy, taken * prompt_busy) * (1 - own)
        return out

    def with_own(self, mean, quantile, share):
        return self.prompts.with_own(mean, quantile, share, lambda factor: self.one_pass(self.s.seq_len * factor))

    def one_pass(self, length):
        """A prompt of another length in one pass of its own."""
        new = max(1, math.ceil(length) - self.s.cached_prefix_len)
        return self.workers.prefill(self.prompt_ranks, new, self.s.cached_prefix_len + new).total

    def in_step(self):
        """A closed loop of equal requests keeps its order."""
        return self.s.equal_lengths and not self.s.arrival_rate


def first_token(s, engine, steady, step, rate, running, out, at_once):
    """An arrival at a random moment waits for the rest of the pass under way, E[t^2] / 2 E[t]
    (kleinrock1975queueing, section 5.2), then for its own pass, which it shares with those that came
    meanwhile. Every stage has a queue, of which fewer requests than stages leave some empty."""
    lanes = steady.lanes(running)
    lane, rate, running = running / lanes, rate / s.pp_size, running / s.pp_size
    request_time, lookahead = engine["request_time"], engine.get("lookahead", 0)
    a = queueing.arrivals_of(s, engine, steady, step, rate, running)
    shown = step.decode_step_time * lookahead
    late = shown + request_time
    # All at once: each waits for the passes before its own (agrawal2024sarathi, section 3), which hold as many
    # prompts as there are and fit.
    waiting = max(1.0, at_once / lanes / s.ep_size)
    together = min(steady.together, waiting)
    prompt = steady.with_host(steady.mixed_step_time(together, lanes), together) * steady.chunks / together
    burst = prompt * 0.5 * (waiting + together) + request_time
    mean = a.two * 0.5 * a.busy + a.own + a.each * a.crowd + a.wait + late
    own = steady.alone(lane / s.ep_size)
    if steady.in_step() and at_once / lanes > 1:
        passes = step.mixed_step_time * steady.chunks
        mean = passes * (2 + lookahead) + request_time if engine["mixed"] else burst
        shown = passes * lookahead if engine["mixed"] else 0.0
    else:
        told = lambda t: queueing.first_token_by(t, step, a, late)  # noqa: E731
        longest = late + a.own + a.each * a.crowd + step.mixed_step_time + step.block
        queue_by = lambda q: a.wait / a.queued * max(0.0, math.log(a.queued / (1 - q))) if a.wait > 0 else 0.0  # noqa: E731
        line = lambda q: queueing.quantile(told, q, late, longest) + queue_by(q)  # noqa: E731
        at = lambda q: steady.with_own(mean, line(q), q)  # noqa: E731
        out["p50_ttft"], out["p99_ttft"] = at(0.5), at(0.99)
        if s.target_ttft and a.wait <= 0 and not steady.prompts.differ:
            out["slo_attainment"] = told(s.target_ttft)
        elif s.target_ttft:
            out["slo_attainment"] = queueing.share_within(s.target_ttft, at)
    # Who waits for a slot gets it where a pass ends.
    in_step = steady.in_step() and at_once / lanes > 1
    out["rest"] = 0.0 if in_step else a.rest
    out["ttft"] = mean
    owe(out, own, request_time, shown)
    if s.num_requests and not s.arrival_rate:
        share = min(1.0, at_once / s.num_requests)  # of the requests meet the start of the run
        out["ttft"] = mean * (1 - share) + burst * share
        # In a burst no pass comes between a prompt and its token.
        owe(out, own, request_time, shown * (1 - share))


def owe(out, own, request_time, shown):
    """Whatever is not the server's, the own passes' or what follows them is owed to other requests."""
    out.update(ttft_ingress=request_time, ttft_dispatch=own.host, ttft_prefill=own.kernels, ttft_egress=shown)
    fixed = request_time + own.host + own.kernels + shown
    out["ttft_queue"] = max(out["ttft"] - fixed, 0.0)
    for name in ("p50_ttft", "p99_ttft"):
        if name in out and name + "_queue" not in out:  # of the steady state, not of the start of a run
            out[name + "_queue"] = max(out[name] - fixed, 0.0)


def separate_first_token(s, engine, steady, passes, step, rate, running, out, probing=False, begun=None):
    """Prompts on workers of their own: they queue there, their cache moves, and no step is stopped
    (zhong2024distserve, section 3). Returns the rate of requests that come through."""
    # A worker has stages as well: a prompt passes all of them, the next one begins behind it.
    own, slot = steady.alone(1), steady.prompt_slot()
    prompt = own.kernels + own.host
    out["kv_transfer_time"] = passes.cache(s.seq_len) / s.network_bandwidth
    out["matched_prefill_replicas"] = math.ceil(out["capacity"] * slot / steady.prompt_ranks)
    takers = s.prefill_replicas * steady.prompt_ranks  # each rank of a worker takes a prompt at a time
    most = takers / slot
    if probing:
        rate = min(rate, 0.95 * most)
    elif not s.arrival_rate and rate > queueing.FULL * most:
        rate = 0.95 * most
    out["mixed_step_time"] = prompt
    came = rate if s.arrival_rate or probing else min(begun, 0.95 * most)
    line = queueing.line_of(came * slot, takers, slot, 1.0, steady.prompts.cv)
    out["is_stable"] = min(out["is_stable"], float(line.stable))
    if not line.stable:
        return rate
    rest = step.decode_step_time * 0.5 * min(1.0, running)
    beside = step.decode_step_time * engine.get("lookahead", 0) + engine["request_time"]
    fixed = prompt + out["kv_transfer_time"] + rest + beside
    out["ttft"] = fixed + line.wait_mean
    at = lambda q: steady.with_own(fixed + line.wait_mean, fixed + queueing.wait_quantile(line, q), q)  # noqa: E731
    out["p50_ttft"], out["p99_ttft"] = at(0.5), at(0.99)
    shown = step.decode_step_time * engine.get("lookahead", 0)
    owe(out, own, engine["request_time"], out["kv_transfer_time"] + shown)
    if s.target_ttft and steady.prompts.differ:
        out["slo_attainment"] = queueing.share_within(s.target_ttft, at)
    elif s.target_ttft:
        spare = s.target_ttft - fixed
        out["slo_attainment"] = (
            0.0 if spare < 0 else 1 - line.waits * math.exp(-spare / max(line.wait_given, prompt * 1e-9))
        )
    return rate


REQUEST = dict(
    seq_len=2048,
    output_tokens=128,
    **dict.fromkeys(("seq_len_cv", "seq_len_law", "output_tokens_cv", "output_tokens_law")),
    arrival_rate=None,
    concurrency=None,
    max_batch_size=None,
    num_requests=None,
    equal_lengths=False,
    balanced_replicas=1,
    scheduler_steps=1,
    cached_prefix_len=0,
    page_tokens=16,
    **dict.fromkeys(("engine", "execution", "prefill_chunk_tokens", "kv_share")),
    precision=None,
    weight_format=None,
    kv_precision=None,
    weight_bits=None,
    efficiency=None,
    **dict.fromkeys(("tp_size", "pp_size", "ep_size"), 1),
    **dict.fromkeys(("prefill_replicas", "prefill_tp_size", "prefill_ep_size")),
    network_bandwidth=100e9,
    target_ttft=None,
    target_itl=None,
    power_cap=None,
    clock_limit=1,
    fidelity=None,
    **EXCHANGE,
)


def answer(**asked):
    s = SimpleNamespace(**{**REQUEST, **asked})
    s.workload, s.device = entry("model", s.model), entry("hardware", s.hardware)
    s.fidelity = s.fidelity or ("operator" if model.has_shape(s.workload) else "textbook")
    textbook_only = s.fidelity == "textbook"
    s.stored = formats.served(s.workload, s.device, s.precision, s.weight_format, s.weight_bits, textbook_only)
    s.precision, s.kv_precision = s.stored.precision, s.kv_precision or s.stored.kv
    s.encoded = 0
    if model.encoder_of(s.workload) and s.fidelity == "operator":  # the answer starts from one token
        s.encoded, s.seq_len = s.seq_len, 1
    if s.fidelity == "textbook":
        engine, passes = NO_ENGINE, TextbookPasses(s)
    else:
        engine = entry("engine", s.engine or "generic")
        passes = OperatorPasses(s, engine)
    if s.scheduler_steps > 1:  # prompts come between the blocks
        engine = {**engine, "mixed": False}
    workers, devices = None, s.tp_size * s.pp_size * s.ep_size
    if s.prefill_replicas:  # workers of other degrees, whose devices count
        tp, ep = s.prefill_tp_size or s.tp_size, s.prefill_ep_size or s.ep_size
        own = SimpleNamespace(**{**vars(s), "tp_size": tp, "ep_size": ep})
        workers = TextbookPasses(own) if s.fidelity == "textbook" else OperatorPasses(own, engine)
        devices += s.prefill_replicas * tp * s.pp_size * ep
    steady = Steady(s, engine, passes, workers)
    # Whole pages (kwon2023vllm), of the mean context, or of the last token where the engine reserves them.
    reserves = (engine.get("memory") or {}).get("reserves_whole", False)
    held = math.ceil((s.seq_len + s.output_tokens if reserves else steady.context) / s.page_tokens) * s.page_tokens
    end = math.ceil((s.seq_len + s.output_tokens) / s.page_tokens) * s.page_tokens
    # One alone has to reach its end.
    fits = passes.capacity(end, s.kv_share) >= 1
    out = {"max_active_requests": passes.capacity(held, s.kv_share) if fits else 0}
    out["paged_internal_fragmentation"] = 1 - steady.context / held
    out["feasible"] = float(out["max_active_requests"] >= 1)
    if not out["feasible"]:  # one request, as if it fitted
        one = steady.step(1, 0 if s.concurrency else 1)
        return out | {"itl": one.itl, "decode_step_time": one.decode_step_time, "mixed_step_time": one.mixed_step_time}
    most = min(x for x in (out["max_active_requests"], s.max_batch_size, s.num_requests) if x)

    at_once = min(s.concurrency or most, most)

    def before(step, rate, running):
        told = {"capacity": 0.0, "is_stable": 1.0}
        if s.prefill_replicas:
            separate_first_token(s, engine, steady, passes, step, rate, running, told, probing=True)
            return told["ttft"], told["ttft"]
        alone = SimpleNamespace(**{**vars(s), "num_requests": None, "target_ttft": None})
        first_token(alone, engine, steady, step, rate, running, told, at_once)
        return told["ttft"], engine["request_time"] + told["rest"]

    full = queueing.closed_loop(steady, 1e6 * most, most, before)
    out["capacity"] = full.rate
    loop, out["is_stable"] = full, 1.0
    if s.concurrency:
        loop = queueing.closed_loop(steady, s.concurrency, most, before)
    running, step, rate = loop.running, loop.step, loop.rate
    if s.arrival_rate:
        out["is_stable"] = float(s.arrival_rate <= full.rate)
        running = queueing.running_at(s.arrival_rate, steady, full.running) if out["is_stable"] else full.running
        step, rate = steady.step(running, running), min(s.arrival_rate, full.rate)
    begun = running / (step.itl * steady.steps)  # others arrive as often as those that decode begin
    lane = running / steady.lanes(running)
    out.update(
        running_requests=running,
        itl=step.itl,
        decode_step_time=step.decode_step_time,
        mixed_step_time=step.mixed_step_time,
        host_time=steady.host(lane / s.ep_size),
        prompts_per_step=step.prompts,
        prefill_share=step.prompt_share,
    )
    out["p99_itl"] = queueing.token_time_by(s, steady, step, running, 2.3263478740408408)
    if s.target_itl:
        out["keeps_itl"] = queueing.keep_token_time(s, steady, step, running)
    often = step.prompt_passes > 0.01
    out["p99_token_gap"] = (
        step.mixed_step_time + (0 if engine["mixed"] else step.decode_step_time) if often else step.decode_step_time
    )
    out["kv_cache_size"] = passes.cache(held) * running
    if out["is_stable"]:
        if s.prefill_replicas:
            rate = separate_first_token(s, engine, steady, passes, step, rate, running, out, begun=begun)
        else:
            first_token(s, engine, steady, step, begun, running, out, at_once)
            out.pop("rest")
    elif s.arrival_rate and s.num_requests and not s.prefill_replicas:
        # A run above the capacity has an end: request k of n comes at k / arrivals and is taken at k / capacity.
        first_token(s, engine, steady, step, begun, running, out, at_once)
        out.pop("rest")
        longest = s.num_requests * (1 / full.rate - 1 / s.arrival_rate)
        for name, share in (("ttft", 0.5), ("p50_ttft", 0.5), ("p99_ttft", 0.99)):
            out[name] += share * longest
            out[name + "_queue"] += share * longest
        out.pop("slo_attainment", None)
    # Every stage works on each lane once; each pass keeps to a cap, and so does their mean.
    limits = passes.device.limits
    budget = limits.budget if limits else 1.0
    out["utilization"] = min(budget, steady.draw(step, rate, running, loop.own) / (s.pp_size * step.itl))
    if s.fidelity == "operator":
        shares = steady.shares(step, rate, running, devices, out["utilization"], budget)
        out.update({f"scenario.{name}": value for name, value in shares.items()})
        # Energy hangs on the share of full power, which no scorecard shows.
        fleet = device.fleet_of(s.device, devices)
        beside = macro.host_power(s.device) + macro.network_power(fleet)
        spent = macro.macro(fleet, shares["utilization"], 1, rate * s.output_tokens, beside=beside, fidelity=s.fidelity)
        if spent:
            out["scenario.macro.energy_per_token"] = spent.energy_per_token
    queue = not s.concurrency and not s.arrival_rate
    late = max(0.0, s.concurrency / rate - loop.first - loop.decoding) if s.concurrency else 0.0
    if "ttft" in out:
        out["ttft"] += late  # who finds no slot, or no worker, waits for one (Little's law)
        out["ttft_queue"] += late
    if late <= 5e-3 * (loop.first + loop.decoding):  # what the secant leaves is no wait
        late = 0.0
    if late > 0:
        out["scenario.waiting_requests"] = late * rate
        for name in ("p50_ttft", "p99_ttft"):  # of those that have a slot, behind a wait that all have
            if name in out:
                out["scenario." + name] = out[name] + late
    if queue or late > 0:  # a queue that never empties has no mean wait
        for name in ("p50_ttft", "p99_ttft", "p50_ttft_queue", "p99_ttft_queue", "slo_attainment"):
            out.pop(name, None)
    if queue:
        for name in [name for name in out if name.startswith("ttft")]:
            out.pop(name)
        if s.num_requests and most < s.num_requests:
            # The last requests leave an engine that empties: half of the batch runs in the last generation.
            rounds = s.num_requests / most
            rate *= rounds / (rounds + 0.5)
    queueing.rates_and_latencies(s, out, rate, devices, steady.answers)
    return out
