"""Energy of a generated token on a device that reads all weights in each pass [J/token]."""
from mlsysim import BaseModel, HardwareNode, Quantity, SolverResult, Workload


class DecodeEnergyResult(SolverResult):
    pass_time: Quantity
    energy_per_token: Quantity


class DecodeEnergy(BaseModel):
    """Energy of a generated token."""

    requires = ("workload", "hardware")
    produces = DecodeEnergyResult

    def solve(self, workload: Workload, hardware: HardwareNode, batch_size: int = 1) -> DecodeEnergyResult:
        # Yours. workload.size_in_bytes() are the bytes of the weights; hardware.memory.bandwidth and hardware.tdp may be None.
        raise NotImplementedError("not written yet: DecodeEnergy")
