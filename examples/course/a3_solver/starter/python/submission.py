"""The memory bandwidth that a latency needs [GB/s]."""
from mlsysim import BaseSolver, HardwareNode, Infeasible, Quantity, SolverResult, Workload


class BandwidthForLatencyResult(SolverResult):
    required_bw: Quantity


class BandwidthForLatency(BaseSolver):
    """Memory bandwidth with which a pass takes a given time."""

    requires = ("workload", "hardware", "target_latency")
    produces = BandwidthForLatencyResult

    def solve(self, workload: Workload, hardware: HardwareNode, target_latency: Quantity, batch_size: int = 1,
              cache: Quantity = Quantity("0 B")) -> BandwidthForLatencyResult:
        # Yours. hardware.compute.peak_flops is the peak rate, workload.parameters the count of weights.
        return Infeasible(resolver="BandwidthForLatency", reason="not written yet")
