"""What a die costs [USD]."""
from mlsysim import BaseModel, Quantity, SolverResult


class DieCostResult(SolverResult):
    die_yield: float
    die_cost: Quantity


class DieCost(BaseModel):
    """What a die costs."""

    requires = ("wafer_price", "dies", "defects")
    produces = DieCostResult

    def solve(self, wafer_price: Quantity, dies: float, defects: float, complexity: float = 10) -> DieCostResult:
        # Yours.
        raise NotImplementedError("not written yet: DieCost")
