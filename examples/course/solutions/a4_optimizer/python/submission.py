"""The batch that serves most within a latency and a memory."""
from mlsysim import BaseOptimizer, Infeasible, OptimizerResult, Quantity


class BestBatchResult(OptimizerResult):
    best_batch: int
    token_rate: Quantity


class BestBatch(BaseOptimizer):
    """Batch that serves most within a latency and a memory."""

    requires = ("weights", "cache", "bandwidth", "capacity", "target_latency", "most")
    produces = BestBatchResult

    def solve(self, weights: Quantity, cache: Quantity, bandwidth: Quantity, capacity: Quantity, target_latency: Quantity,
              most: int) -> BestBatchResult:
        best, rate = 0, Quantity("0 token/s")
        for batch in range(1, most + 1):
            held = weights + batch * cache
            time = held / bandwidth
            if time <= target_latency and held <= capacity and batch * Quantity("1 token") / time > rate:
                best, rate = batch, batch * Quantity("1 token") / time
        if not best:
            return Infeasible(resolver="BestBatch", reason="no batch meets the latency and the capacity", smallest_change="a later target")
        return BestBatchResult(objective_value=rate, best_config={"batch": best}, total_searched=most, best_batch=best,
                               token_rate=rate.to("token/s"))
