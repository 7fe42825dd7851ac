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
        if hardware.tdp is None:
            raise ValueError(f"{hardware.name} has no tdp, its power limit; choose a device that has one")
        pass_time = workload.size_in_bytes() / hardware.memory.bandwidth
        return DecodeEnergyResult(pass_time=pass_time.to("ms"),
                                  energy_per_token=(hardware.tdp * pass_time / (batch_size * Quantity("1 token"))).to("J/token"))
