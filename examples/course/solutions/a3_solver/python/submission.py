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
        compute = 2 * batch_size * Quantity("1 FLOP/param") * workload.parameters / hardware.compute.peak_flops
        if compute > target_latency:
            return Infeasible(resolver="BandwidthForLatency", reason=f"the arithmetic alone takes {compute.to('ms')}, longer than {target_latency}",
                              smallest_change="a smaller batch, or a device with a higher peak rate")
        return BandwidthForLatencyResult(required_bw=((workload.size_in_bytes() + batch_size * cache) / target_latency).to("GB/s"))
