"""A stage of one's own between two that ship, and an observer."""

import mlsysim
from mlsysim import BaseModel, HardwareNode, Pipeline, Q_, Quantity, SolverResult


class HeatResult(SolverResult):
    heat: Quantity


class HeatModel(BaseModel):
    """Heat that one device gives off in an hour."""

    requires = ("hardware",)
    produces = HeatResult

    def solve(self, hardware: HardwareNode) -> HeatResult:
        return HeatResult(heat=(hardware.tdp * Q_("1 h")).to("kWh"))


class Log:
    def on_stage_end(self, stage_name, result):
        print(f"{stage_name}: {len(result.dict())} fields")


pipeline = Pipeline([mlsysim.DistributedModel(), HeatModel(), mlsysim.EconomicsModel()])
pipeline.register_callback(Log())
results = pipeline.run(model=mlsysim.Models.Llama3_8B, fleet=mlsysim.Systems.Clusters.Frontier_8K, duration_days=30)
print(list(results))
print(results["HeatModel"].heat)
print(results["EconomicsModel"].tco > Q_("1 MUSD"))
