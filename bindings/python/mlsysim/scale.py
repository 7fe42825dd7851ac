"""Sweeps and searches on the engines people have: executors of the standard library, Dask, Ray.

An engine only runs shards: the subject goes to a worker once, small answers come back and are joined in the order of the
space, and what a lost worker had is computed again. Points are computed alone, so that the answer does not hang on any of this.
"""

import concurrent.futures
import math
import pickle
import time

from .errors import _input_error

__all__ = ["bounded", "refuse_strategy", "run"]

_SHARDS_PER_WORKER = 4  # so that a slow worker does not hold up the rest
_subjects = {}  # of a worker: by their bytes


def refuse_strategy(strategy, part, parts):
    """Executors look at every point, or bound boxes; the heuristic strategies are of one process."""
    if strategy not in ("automatic", "exhaustive", "branch-and-bound") or parts != 1:
        raise _input_error("an executor runs the exhaustive strategy or branch and bound, on all shards", key="strategy",
                           found=f"strategy={strategy!r}, shard=({part}, {parts})",
                           expected="strategy='exhaustive' or 'branch-and-bound', and no shard", hint="leave executor out",
                           id="mlsysim.python.250")


def _work(subject, kind, question, part, parts):
    """A shard, on a worker. `subject` is its pickle, which is opened once."""
    known = _subjects.get(subject)
    if known is None:
        known = pickle.loads(subject)
        _subjects.clear()
        _subjects[subject] = known
    return _answer(known, kind, question, part, parts)


def _answer(subject, kind, question, part, parts):
    if kind == "rows":
        return subject._core.rows(*question, part, parts)
    question_of, asked = question
    if kind == "bounds":
        return subject._core.bounded(*asked, part, parts, question_of)
    answer = subject._core.search(question_of, *asked, "exhaustive", 1, part, parts, 100, 1, None)
    return answer[3]  # the state; see Exploration


class _Futures:
    """Any concurrent.futures.Executor. A pool that broke is done without: what is missing is computed here."""

    def __init__(self, pool):
        self.pool = pool
        self.workers = getattr(pool, "_max_workers", None) or 8

    def put(self, data):
        return data

    def start(self, *shard):
        return self.pool.submit(_work, *shard)

    def first(self, futures):
        return next(iter(concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_COMPLETED).done))

    def result(self, future):
        return future.result()

    def cancel(self, futures):
        for future in futures:
            future.cancel()


class _Dask(_Futures):
    """A Client of Dask: the subject is scattered to every worker, and Dask computes again what a lost worker had."""

    def __init__(self, client):
        self.client = client
        self.workers = max(sum(client.nthreads().values()), 1)

    def put(self, data):
        return self.client.scatter(data, broadcast=True)

    def start(self, data, kind, question, part, parts):
        return self.client.submit(_work, data, kind, question, part, parts, pure=False, retries=3,
                                  key=f"mlsysim-{kind}-{part}-of-{parts}-{id(data):x}")

    def first(self, futures):
        from distributed import wait

        return next(iter(wait(futures, return_when="FIRST_COMPLETED").done))

    def cancel(self, futures):
        self.client.cancel(futures)


class _Ray(_Futures):
    """The module ray, initialised. The subject is put into its store once; lost tasks run again."""

    def __init__(self, ray):
        self.ray = ray
        self.workers = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        self.task = ray.remote(num_cpus=1, max_retries=3)(_work)

    def put(self, data):
        return self.ray.put(data)

    def start(self, *shard):
        return self.task.remote(*shard)

    def first(self, futures):
        return self.ray.wait(futures)[0][0]

    def result(self, future):
        return self.ray.get(future)

    def cancel(self, futures):
        for future in futures:
            self.ray.cancel(future)


def _engine(executor):
    if hasattr(executor, "scatter") and hasattr(executor, "nthreads"):
        return _Dask(executor)
    if hasattr(executor, "remote") and hasattr(executor, "cluster_resources"):
        return _Ray(executor)
    if hasattr(executor, "submit"):
        return _Futures(executor)
    raise _input_error("this is no executor", key="executor", found=type(executor).__name__,
                       expected="a concurrent.futures.Executor, the Client of Dask, or the module ray after ray.init()", id="mlsysim.python.251")


def _shards(engine, subject, kind, ask, parts, at_once):
    """(part, answer) of all shards as they come back. `ask` gives the question when a shard is sent, at most `at_once` are out."""
    data = engine.put(pickle.dumps(subject))
    left, out, missing = list(range(parts, 0, -1)), {}, []
    try:
        while left or out:
            while left and len(out) < at_once:
                part = left.pop()
                try:
                    out[engine.start(data, kind, ask(), part, parts)] = part
                except concurrent.futures.BrokenExecutor:
                    missing.append(part)
            if not out:
                continue
            future = engine.first(list(out))
            part = out.pop(future)
            try:
                answer = engine.result(future)
            except (concurrent.futures.BrokenExecutor, concurrent.futures.CancelledError):
                missing.append(part)
                continue
            yield part, answer
    finally:
        engine.cancel(list(out))
    for part in missing:
        yield part, _answer(subject, kind, ask(), part, parts)


def _answers(executor, subject, kind, ask, axes, shards, progress, spread, take):
    """Hands the answer of every shard to `take`. `spread`: all shards are sent at once, else one for each worker."""
    engine = _engine(executor)
    points = subject._core.points(axes)
    parts = max(1, min(points, shards or engine.workers * _SHARDS_PER_WORKER))
    done, began = 0, time.monotonic()
    for part, answer in _shards(engine, subject, kind, ask, parts, parts if spread else engine.workers):
        take(part, answer)
        done += 1
        if progress is not None:
            covered, seconds = points * done / parts, time.monotonic() - began
            rate = covered / seconds if seconds > 0 else 0.0
            progress(covered, points, rate, (points - covered) / rate if rate else 0.0)


def run(executor, subject, kind, question, shards=None, progress=None):
    """The answers of all shards of a question, in the order of the space. `kind` is "rows" or "state"."""
    answers = {}
    axes = question[0] if kind == "rows" else question[1][0]
    _answers(executor, subject, kind, lambda: question, axes, shards, progress, True, answers.__setitem__)
    return [answers[part] for part in sorted(answers)]


def bounded(executor, subject, question, shards=None, progress=None):
    """Branch and bound: the best (value, index) of all shards, and the boxes and points that all of them looked at.

    A shard is told the best value that is known when it is sent: no worker has to reach another, and of what cannot be better it looks at
    nothing. Which point is the best does not hang on it; how much is looked at does.
    """
    best, looked = (math.inf, 0), [0.0, 0.0]

    def take(part, found):
        nonlocal best
        best = min(best, tuple(found[:2]))
        looked[0] += found[2]
        looked[1] += found[3]

    _answers(executor, subject, "bounds", lambda: (best[0], question), question[0], shards, progress, False, take)
    return best, tuple(looked)
