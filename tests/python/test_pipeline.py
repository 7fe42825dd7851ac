"""Pipelines that mix stages of C++ and Python."""

import gc
import pickle
import weakref

import pytest
from conftest import make_fleet

import mlsysim
from mlsysim import BaseModel, Infeasible, Pipeline, PipelineBuildError, Q_, Quantity, Skipped, SolverResult
from mlsysim.core.solver import DistributedModel, EconomicsModel, SingleNodeModel
from mlsysim.hardware.types import HardwareNode
from mlsysim.models.types import Workload


class HeatResult(SolverResult):
    heat: Quantity
    is_hot: bool


class Heat(BaseModel):
    """Heat of one device."""

    requires = ("hardware",)
    produces = HeatResult

    def solve(self, hardware: HardwareNode) -> HeatResult:
        if hardware.tdp is None:
            raise ValueError(f"{hardware.name} has no TDP")
        return HeatResult(heat=hardware.tdp * Q_("1 h"), is_hot=hardware.tdp > Q_("300 W"))


class Fans(BaseModel):
    requires = ("heat",)

    class produces(SolverResult):
        count: int

    def solve(self, heat: Quantity, fan: Quantity = Q_("100 W")):
        return self.produces(count=int((heat / Q_("1 h") / fan).m_as("") + 0.999))


class Sized(BaseModel):
    requires = ("workload",)

    class produces(SolverResult):
        size: Quantity

    def solve(self, model: Workload):
        return self.produces(size=model.size_in_bytes())


def frontier():
    return mlsysim.Systems.Clusters.Frontier_8K


def test_mixed_stages_in_order(llama):
    results = Pipeline([DistributedModel(), Heat(), EconomicsModel()]).run(model=llama, fleet=frontier(), duration_days=30)
    assert list(results) == ["DistributedModel", "Heat", "EconomicsModel"]
    assert results["Heat"].heat == Q_("700 Wh") and results["Heat"].is_hot is True
    assert results["DistributedModel"] == DistributedModel().solve(model=llama, fleet=frontier())
    assert results["EconomicsModel"].tco > Q_("0 USD")
    # What the training step reports as its utilisation is what the bill is made of.
    alone = EconomicsModel().solve(fleet=frontier(), duration_days=30)
    assert results["EconomicsModel"].it_energy < alone.it_energy


def test_results_link_by_name_whatever_the_order():
    results = Pipeline([Fans(), Heat()]).run(hardware=mlsysim.Hardware.H100)
    assert list(results) == ["Heat", "Fans"] and results["Fans"].count == 7
    assert Pipeline([Fans, Heat]).run(hardware=mlsysim.Hardware.H100, fan=Q_("350 W"))["Fans"].count == 2
    assert Pipeline([Fans, Heat]).run(hardware=mlsysim.Hardware.H100, fan="350 W")["Fans"].count == 2


def test_the_model_is_the_workload(llama):
    assert Pipeline([Sized()]).run(model=llama)["Sized"].size == llama.size_in_bytes()
    assert Pipeline([Sized()]).run(workload=llama)["Sized"].size == llama.size_in_bytes()
    with pytest.raises(mlsysim.PipelineError, match="twice"):
        Pipeline([Sized()]).run(workload=llama, model=llama)


def test_a_fleet_made_by_hand_supplies_its_hardware(llama):
    results = Pipeline([DistributedModel(), Heat()]).run(model=llama, fleet=make_fleet())
    gc.collect()
    assert results["Heat"].heat == Q_("400 Wh") and results["DistributedModel"].accelerators == 32


def test_two_stages_of_one_class(h100):
    results = Pipeline([Heat(), Heat()]).run(hardware=h100)
    assert list(results) == ["Heat", "Heat_2"] and results["Heat"] == results["Heat_2"]


def test_explicit_links(h100):
    pipeline = Pipeline([Heat(), Heat(), Fans()]).link("Heat_2.heat", "Fans.heat")
    assert pipeline.run(hardware=h100)["Fans"].count == 7
    with pytest.raises(PipelineBuildError, match="several producers"):
        Pipeline([Heat(), Heat(), Fans()]).run(hardware=h100)


def test_build_problems_come_all_at_once(llama):
    with pytest.raises(PipelineBuildError) as caught:
        Pipeline([DistributedModel(), Fans()]).run(model=llama)
    assert {"fleet", "heat"} <= {p.key for p in caught.value.problems}
    with pytest.raises(mlsysim.PipelineError, match="sequence_len"):
        Pipeline([Sized()]).run(model=llama, sequence_len=3)
    with pytest.raises(mlsysim.InputError):
        Pipeline([])


def test_what_is_no_resolver_is_refused():
    class Nothing:
        pass

    with pytest.raises(TypeError, match="requires"):
        Pipeline([Nothing()])

    class Liar(BaseModel):
        requires = ("hardware", "weather")

        def solve(self, hardware):
            return None

    with pytest.raises(TypeError, match="weather"):
        Pipeline([Liar()])


def test_exceptions_come_out_unchanged():
    class Boom(Exception):
        pass

    class Fails(BaseModel):
        requires = ("hardware",)

        def solve(self, hardware):
            raise Boom(hardware.name)

    with pytest.raises(Boom) as caught:
        Pipeline([Heat(), Fails()]).run(hardware=mlsysim.Hardware.H100)
    assert caught.value.args == ("H100",) and any("Fails" in note for note in caught.value.__notes__)
    with pytest.raises(ValueError, match="has no TDP"):
        Pipeline([Heat()]).run(hardware=HardwareNode(name="Cold"))


def test_wrong_results_are_refused(h100):
    class Wrong(BaseModel):
        requires = ("hardware",)
        produces = HeatResult

        def solve(self, hardware):
            return {"heat": 3}

    with pytest.raises(TypeError, match="HeatResult"):
        Pipeline([Wrong()]).run(hardware=h100)


def test_infeasible_stages_are_values(h100):
    class Never(BaseModel):
        requires = ("hardware",)
        produces = HeatResult

        def solve(self, hardware):
            return Infeasible(resolver="Never", reason="too hot", smallest_change="a colder room", facts={"heat": "9 kW"})

    results = Pipeline([Never(), Fans(), SingleNodeModel()]).run(hardware=h100, model=mlsysim.Models.Llama3_8B)
    assert isinstance(results["Never"], Infeasible) and results["Never"].reason == "too hot"
    assert results["Never"].smallest_change == "a colder room" and not results["Never"]
    assert isinstance(results["Fans"], Skipped) and "too hot" in results["Fans"].reason
    assert results["SingleNodeModel"].feasible
    with pytest.raises(AttributeError, match="too hot"):
        results["Never"].heat


def test_callbacks(llama):
    seen = []

    class Watch:
        def on_pipeline_start(self, pipeline_name):
            seen.append(("start", pipeline_name))

        def on_stage_start(self, stage_name):
            seen.append(("stage", stage_name))

        def on_stage_end(self, stage_name, result):
            seen.append((stage_name, result.dict()))

        def on_pipeline_end(self, **more):
            seen.append(("end", more["seconds"] >= 0))

    pipeline = Pipeline([Heat(), DistributedModel()], name="P")
    pipeline.register_callback(Watch())
    results = pipeline.run(model=llama, fleet=frontier())
    assert seen[0] == ("start", "P") and seen[-1] == ("end", True)
    assert ("Heat", results["Heat"].dict()) in seen and ("DistributedModel", results["DistributedModel"].dict()) in seen
    with pytest.raises(TypeError, match="observes nothing"):
        pipeline.register_callback(object())


def test_skips_and_errors_are_told():
    told = []

    class Watch:
        def on_error(self, stage_name, reason):
            told.append(("error", stage_name, reason))

        def on_skip(self, stage_name, reason):
            told.append(("skip", stage_name, reason))

    with pytest.raises(ValueError):
        Pipeline([Heat(), Fans()]).register_callback(Watch()).run(hardware=HardwareNode(name="Cold"))
    assert told[0][:2] == ("error", "Heat") and "no TDP" in told[0][2] and told[1][:2] == ("skip", "Fans")


def test_breaks_and_searches_are_told(h100):
    told, searched = [], []

    class Watch:
        def on_break(self, stage_name, reason, id, severity, text, hint):
            told.append((stage_name, reason, id, severity, text, hint))

        def on_progress(self, stage_name, searched_=None, **more):
            searched.append((stage_name, more["searched"]))

    pipeline = Pipeline([mlsysim.BatchingOptimizer()]).register_callback(Watch())
    load = {"model": mlsysim.Models.Llama3_8B, "hardware": h100, "seq_len": 1024, "arrival_rate": "2 request/s"}
    results = pipeline.run(target_latency="1 ms", **load)
    ((stage, reason, number, severity, text, hint),) = told
    assert (stage, reason, number, severity) == ("BatchingOptimizer", "infeasible_constraint", "MB008", "error") and text and hint
    assert [dict(row) for row in results.breaks] == [dict(zip(("stage", "reason", "id", "severity", "text", "hint"), told[0]))]
    assert not results.complete and '"complete": false' in results.to_json()
    counts = [n for name, n in searched if n is not None]
    assert counts == sorted(counts) and counts[-1] >= 100 and searched[-1] == ("BatchingOptimizer", None)
    whole = Pipeline([Heat()]).run(hardware=h100)
    assert whole.complete and whole.breaks == []


def test_a_callback_that_fails_changes_nothing(h100):
    class Broken:
        def on_stage_end(self, stage_name, result):
            raise RuntimeError("sink is full")

    pipeline = Pipeline([Heat()]).register_callback(Broken())
    with pytest.warns(RuntimeWarning, match="Broken.on_stage_end.*sink is full"):
        results = pipeline.run(hardware=h100)
    assert results["Heat"].is_hot


def test_explains_and_draws(h100):
    pipeline = Pipeline([Heat(), Fans()])
    assert "Heat" in pipeline.explain() and "digraph" in pipeline.to_dot() and "Fans" in pipeline.to_mermaid()
    with pytest.raises(mlsysim.PipelineError):
        pipeline.explain("heat")
    results = pipeline.run(hardware=h100)
    assert "Heat" in pipeline.explain("heat") and results.value("heat") == Q_("700 Wh")
    assert "Heat" in results.show() and '"Heat"' in results.to_json()
    assert repr(pipeline) == "Pipeline(Heat -> Fans)" and len(pipeline) == 2


def test_runs_do_not_disturb_each_other(h100):
    pipeline = Pipeline([Heat()])
    first = pipeline.run(hardware=h100)
    second = pipeline.run(hardware=mlsysim.Hardware.A100)
    gc.collect()
    assert first["Heat"].heat == Q_("700 Wh") and second["Heat"].heat == Q_("400 Wh")


def test_core_results_outlive_the_pipeline(llama):
    def run():
        return Pipeline([DistributedModel()]).run(model=llama, fleet=make_fleet())["DistributedModel"]

    result = run()
    gc.collect()
    assert result.accelerators == 32 and pickle.loads(pickle.dumps(result)) == result


def test_the_graph_keeps_the_python_object():
    class Constant(BaseModel):
        requires = ("hardware",)
        produces = HeatResult

        def __init__(self, heat):
            self.heat = heat

        def solve(self, hardware):
            return HeatResult(heat=self.heat, is_hot=False)

    stage = Constant(Q_("20 J"))
    gone = weakref.ref(stage)
    pipeline = Pipeline([stage, Fans()])
    del stage
    gc.collect()
    assert gone() is not None
    assert pipeline.run(hardware=mlsysim.Hardware.H100)["Constant"].heat == Q_("20 J")
    del pipeline
    gc.collect()
    assert gone() is None


def test_stages_get_what_was_given(h100):
    class Repeat(BaseModel):
        requires = ("hardware",)

        class produces(SolverResult):
            n: int
            kinds: tuple

        def solve(self, hardware, n_rep: int, plain, share: float, wait: Quantity):
            return self.produces(n=n_rep + 1, kinds=(type(n_rep), type(plain), type(share), str(wait)))

    class Next(BaseModel):
        requires = ("n",)

        class produces(SolverResult):
            kind: str

        def solve(self, n: "int"):
            return self.produces(kind=type(n).__name__)

    pipeline = Pipeline([Repeat(), Next()])
    wait = Q_("250 us")
    results = pipeline.run(hardware=h100, n_rep=7, plain=3, share=0.5, wait=wait)
    assert results["Repeat"].n == 8 and results["Repeat"].kinds == (int, int, float, str(wait))
    assert results["Next"].kind == "int"
    assert pipeline.run(hardware=h100, n_rep=7.0, plain=3, share=0.5, wait=wait)["Repeat"].kinds[0] is int
    with pytest.raises(mlsysim.InputError, match="n_rep.*whole number"):
        pipeline.run(hardware=h100, n_rep=7.5, plain=3, share=0.5, wait=wait)


def test_texts_name_entries_and_quantities():
    """As on the command line: a text stands for the entry of that name, or for the quantity that it says."""
    results = Pipeline([mlsysim.ReliabilityModel()]).run(fleet="Research_256", job_duration="20 h")
    same = mlsysim.ReliabilityModel().solve(fleet=mlsysim.Systems.Research_256, job_duration=Q_("20 h"))
    assert results["ReliabilityModel"].failure_probability == same.failure_probability
    named = Pipeline([mlsysim.ServingModel()]).run(workload="Llama3_8B", hardware="H100", batch_size=1, seq_len=1024,
                                                   **{"ServingModel.precision": "fp8"})
    assert named["ServingModel"].itl > Q_("1 ms")
    implied = Pipeline([mlsysim.SingleNodeModel()]).run(model="ResNet50", fleet="Research_256", batch_size=8)
    assert implied["SingleNodeModel"].latency > Q_("1 us")
    with pytest.raises(mlsysim.LookupError, match="Llama3_8B"):
        Pipeline([mlsysim.ServingModel()]).run(workload="Lama3_8B", hardware="H100", batch_size=1, seq_len=1024)
