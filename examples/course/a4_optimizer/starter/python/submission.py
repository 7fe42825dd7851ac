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
        # Yours: look at every batch, keep the best that meets both limits, and count.
        return Infeasible(resolver="BestBatch", reason="not written yet")
