"""The bill of a job, in three stages."""
from mlsysim import BaseModel, HardwareNode, Infeasible, Quantity, SolverResult


class JobPowerResult(SolverResult):
    power: Quantity


class JobPower(BaseModel):
    """Power of the devices of a job at their limit."""

    requires = ("hardware", "devices")
    produces = JobPowerResult

    def solve(self, hardware: HardwareNode, devices: int) -> JobPowerResult:
        # Yours: an Infeasible where hardware.tdp is None.
        return Infeasible(resolver="JobPower", reason="not written yet")


class JobEnergyResult(SolverResult):
    facility_energy: Quantity


class JobEnergy(BaseModel):
    """Energy that the facility draws for a job."""

    requires = ("power", "duration")
    produces = JobEnergyResult

    def solve(self, power: Quantity, duration: Quantity, pue: float = 1.1) -> JobEnergyResult:
        return JobEnergyResult(facility_energy=0 * power * duration)  # yours


class JobBillResult(SolverResult):
    bill: Quantity


class JobBill(BaseModel):
    """What the electricity of a job costs."""

    requires = ("facility_energy", "kwh_price")
    produces = JobBillResult

    def solve(self, facility_energy: Quantity, kwh_price: Quantity) -> JobBillResult:
        return JobBillResult(bill=0 * facility_energy * kwh_price)  # yours
