"""Three resolvers in Python, one of each tier; the same as those of the C++ plugin acme-efficiency."""

from mlsysim.core.constants import Q_
from mlsysim.core.results import OptimizerResult, SolverResult
from mlsysim.core.solver import BaseModel, BaseOptimizer, BaseSolver
from mlsysim.core.types import Quantity
from mlsysim.hardware.registry import Hardware
from mlsysim.hardware.types import HardwareNode
from mlsysim.models.types import Workload


class PowerEfficiencyResult(SolverResult):
    flops_per_watt: Quantity
    is_efficient: bool


class PowerEfficiencyModel(BaseModel):
    """Compute efficiency per watt of an accelerator."""
    requires = ("hardware",)
    produces = PowerEfficiencyResult

    def solve(self, hardware: HardwareNode) -> PowerEfficiencyResult:
        if hardware.tdp is None:
            raise ValueError(f"{hardware.name} has no TDP specified.")
        per_watt = hardware.compute.peak_flops / hardware.tdp
        return PowerEfficiencyResult(flops_per_watt=per_watt, is_efficient=per_watt > Q_("1 TFLOPs/s / W"))


class RequiredBandwidthResult(SolverResult):
    required_bw: Quantity


class RequiredBandwidthSolver(BaseSolver):
    """Memory bandwidth that is needed to hit a latency."""
    requires = ("workload", "target_latency")
    produces = RequiredBandwidthResult

    def solve(self, model: Workload, target_latency: Quantity) -> RequiredBandwidthResult:
        return RequiredBandwidthResult(required_bw=model.size_in_bytes() / target_latency)


class CheapestHardwareResult(OptimizerResult):
    cheapest_cost: Quantity
    hardware_name: str


class CheapestHardwareOptimizer(BaseOptimizer):
    """Cheapest device of the zoo with a given peak rate."""
    requires = ("min_rate",)
    produces = CheapestHardwareResult

    def solve(self, min_rate: Quantity) -> CheapestHardwareResult:
        devices, best = Hardware.list(), None
        for device in devices:
            rate = device.compute.dense.get(device.compute.default_precision)
            if device.unit_cost is None or rate is None or rate < min_rate:
                continue
            # Of equal prices the first name counts, so that the answer does not hang on the order of the zoo.
            if best is None or (device.unit_cost, device.name) < (best.unit_cost, best.name):
                best = device
        if best is None:
            raise ValueError("No hardware meets the requirement.")
        return CheapestHardwareResult(objective_value=best.unit_cost, best_config={"hardware": best.name},
                                      total_searched=len(devices), cheapest_cost=best.unit_cost, hardware_name=best.name)
