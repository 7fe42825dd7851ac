"""A model of one's own: arithmetic rate per watt."""

from mlsysim import BaseModel, Hardware, HardwareNode, Q_, Quantity, SolverResult


class PowerEfficiencyResult(SolverResult):
    flops_per_watt: Quantity
    is_efficient: bool


class PowerEfficiencyModel(BaseModel):
    """Arithmetic rate per watt of a device."""

    requires = ("hardware",)
    produces = PowerEfficiencyResult

    def solve(self, hardware: HardwareNode) -> PowerEfficiencyResult:
        if hardware.tdp is None:
            raise ValueError(f"{hardware.name} has no TDP")
        rate = (hardware.compute.peak_flops / hardware.tdp).to("TFLOP/s/W")
        return PowerEfficiencyResult(flops_per_watt=rate, is_efficient=rate > Q_("1 TFLOP/s/W"))


for device in (Hardware.V100, Hardware.A100, Hardware.H100):
    result = PowerEfficiencyModel().solve(hardware=device)
    print(f"{device.name}: {result.flops_per_watt:.2f}, efficient: {result.is_efficient}")
