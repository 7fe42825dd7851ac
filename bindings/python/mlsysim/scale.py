"""Sweeps and searches on the engines people have: executors of the standard library, Dask, Ray.

An engine only runs shards: the subject goes to a worker once, small answers come back and are joined in the order of the
space, and what a lost worker had is computed again. Points are computed alone, so that the answer does not hang on any of this.
"""

import concurrent.futures
import pickle
import time

from .errors import _input_error

__all__ = ["refuse_strategy", "run"]

_SHARDS_PER_WORKER = 4  # so that a slow worker does not hold up the rest
_subjects = {}  # of a worker: by their bytes


def refuse_strategy(strategy, part, parts):
    """Executors look at every point: bounds are shared only between the threads of one process."""
    if strategy not in ("automatic", "exhaustive") or parts != 1:
        raise _input_error("an executor runs the exhaustive strategy on all shards", key="strategy",
                           found=f"strategy={strategy!r}, shard=({part}, {parts})", expected="strategy='exhaustive', and no shard",
                           hint="leave executor out", id="mlsysim.python.250")


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
    answer = subject._core.search(question_of, *asked, "exhaustive", 1, part, parts, 100, 1, None)
    return answer[3]  # the state; see Exploration


class _Futures:
    """Any concurrent.futures.Executor. A pool that broke is done without: what is missing is computed here."""

    def __init__(self, pool):
        self.pool = pool
        self.workers = getattr(pool, "_max_workers", None) or 8

    def run(self, subject, kind, question, parts):
        data = pickle.dumps(subject)
        waiting, missing = {}, []
        for part in range(1, parts + 1):
            try:
                waiting[self.pool.submit(_work, data, kind, question, part, parts)] = part
            except concurrent.futures.BrokenExecutor:
                missing.append(part)
        try:
            for future in concurrent.futures.as_completed(waiting):
                try:
                    yield waiting[future], future.result()
                except (concurrent.futures.BrokenExecutor, concurrent.futures.CancelledError):
                    missing.append(waiting[future])
        finally:
            for future in waiting:
                future.cancel()
        for part in missing:
            yield part, _answer(subject, kind, question, part, parts)


class _Dask:
    """A Client of Dask: the subject is scattered to every worker, and Dask computes again what a lost worker had."""

    def __init__(self, client):
        self.client = client
        self.workers = max(sum(client.nthreads().values()), 1)

    def run(self, subject, kind, question, parts):
        from distributed import as_completed

        data = self.client.scatter(pickle.dumps(subject), broadcast=True)
        futures = {self.client.submit(_work, data, kind, question, part, parts, pure=False, retries=3,
                                      key=f"mlsysim-{kind}-{part}-of-{parts}-{id(data):x}"): part for part in range(1, parts + 1)}
        try:
            for future, answer in as_completed(list(futures), with_results=True):
                yield futures[future], answer
        finally:
            self.client.cancel(list(futures))


class _Ray:
    """The module ray, initialised. The subject is put into its store once; lost tasks run again."""

    def __init__(self, ray):
        self.ray = ray
        self.workers = max(int(ray.cluster_resources().get("CPU", 1)), 1)

    def run(self, subject, kind, question, parts):
        data = self.ray.put(pickle.dumps(subject))
        task = self.ray.remote(num_cpus=1, max_retries=3)(_work)
        waiting = {task.remote(data, kind, question, part, parts): part for part in range(1, parts + 1)}
        while waiting:
            ready, _ = self.ray.wait(list(waiting))
            yield waiting.pop(ready[0]), self.ray.get(ready[0])


def _engine(executor):
    if hasattr(executor, "scatter") and hasattr(executor, "nthreads"):
        return _Dask(executor)
    if hasattr(executor, "remote") and hasattr(executor, "cluster_resources"):
        return _Ray(executor)
    if hasattr(executor, "submit"):
        return _Futures(executor)
    raise _input_error("this is no executor", key="executor", found=type(executor).__name__,
                       expected="a concurrent.futures.Executor, the Client of Dask, or the module ray after ray.init()", id="mlsysim.python.251")


def run(executor, subject, kind, question, shards=None, progress=None):
    """The answers of all shards of a question, in the order of the space. `kind` is "rows" or "state"."""
    engine = _engine(executor)
    points = subject._core.points(question[0] if kind == "rows" else question[1][0])
    parts = max(1, min(points, shards or engine.workers * _SHARDS_PER_WORKER))
    answers, began = {}, time.monotonic()
    for part, answer in engine.run(subject, kind, question, parts):
        answers[part] = answer
        if progress is not None:
            done = points * len(answers) / parts
            seconds = time.monotonic() - began
            rate = done / seconds if seconds > 0 else 0.0
            progress(done, points, rate, (points - done) / rate if rate else 0.0)
    return [answers[part] for part in range(1, parts + 1)]
