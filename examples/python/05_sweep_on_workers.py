"""A sweep, a search and a front on workers: the answer of one worker, and what is done when one is lost.

Any concurrent.futures.Executor, the Client of Dask, or the module ray can stand in the place of the pool. Shards come back as small
states or as columns, so that nothing depends on who computed them.
"""

import concurrent.futures

import mlsysim

chat = mlsysim.ask(mlsysim.Models.Llama3_70B, mlsysim.Hardware.H100, accelerators=8)
axes = {"batch_size": "1..64", "tp_size": [4, 8], "precision": ["bf16", "fp8"]}

done = []
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    rows = chat.sweep(axes, ["itl", "ttft"], executor=pool, shards=7, progress=lambda *where: done.append(where))
    best = chat.optimize(axes, minimize="cost_per_token", subject_to=["itl <= 15 ms"], executor=pool)
    front = chat.pareto(axes, minimize=["itl", "cost_per_token"], executor=pool)

alone = chat.sweep(axes, ["itl", "ttft"])
same = all(rows.columns[name].tobytes() == alone.columns[name].tobytes() for name in rows.columns)
print(f"{len(rows)} points in {len(done)} shards, the bytes of one worker: {same}")
print("cheapest within 15 ms:", ", ".join(f"{axis} {label}" for axis, label in best.best[0].labels.items()))
print(f"{len(front.front)} points that nothing beats")


class Breaks(concurrent.futures.ThreadPoolExecutor):
    """A pool that breaks after two shards, as one does whose process was killed."""

    left = 2

    def submit(self, *call, **how):
        if self.left == 0:
            raise concurrent.futures.BrokenExecutor("a worker was killed")
        self.left -= 1
        return super().submit(*call, **how)


with Breaks(2) as pool:
    again = chat.sweep(axes, ["itl", "ttft"], executor=pool, shards=7)
print("the same after a worker was killed:", again.columns["itl"].tobytes() == alone.columns["itl"].tobytes())
