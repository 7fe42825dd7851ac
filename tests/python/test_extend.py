"""Resolvers written in Python: the three tiers, results with typed fields, the factory."""

import copy
import pickle
import warnings
from typing import Any, Dict, List, Optional, Tuple

import pytest

import mlsysim
from mlsysim import InputError, Q_
from mlsysim.core.constants import Q_ as from_constants
from mlsysim.core.resolver_factory import ResolverFactory
from mlsysim.core.results import OptimizerResult, SolverResult
from mlsysim.core.solver import BaseModel, BaseOptimizer, BaseSolver
from mlsysim.core.types import Quantity
from mlsysim.hardware.registry import Hardware
from mlsysim.hardware.types import HardwareNode
from mlsysim.models.types import Workload


class PriceOfSpeedResult(SolverResult):
    per_rate: Quantity
    is_cheap: bool
    remark: str = "none"


class PriceOfSpeed(BaseModel):
    """Money per arithmetic rate."""

    requires = ("hardware",)
    produces = PriceOfSpeedResult

    def solve(self, hardware: HardwareNode) -> PriceOfSpeedResult:
        if hardware.unit_cost is None:
            raise ValueError(f"{hardware.name} has no price")
        per_rate = (hardware.unit_cost / hardware.compute.peak_flops).to("USD/TFLOP*s")
        return PriceOfSpeedResult(per_rate=per_rate, is_cheap=per_rate < Q_("50 USD*s/TFLOP"))


class NeededMemoryResult(SolverResult):
    capacity: Quantity


class NeededMemory(BaseSolver):
    """Memory that holds a model with some room."""

    requires = ("workload", "room")
    produces = NeededMemoryResult

    def solve(self, model: Workload, room: float) -> NeededMemoryResult:
        return NeededMemoryResult(capacity=model.size_in_bytes() / (1 - room))


class LightestResult(OptimizerResult):
    device: str


class Lightest(BaseOptimizer):
    requires = ("min_memory",)
    produces = LightestResult

    def solve(self, min_memory: Quantity) -> LightestResult:
        fits = [h for h in Hardware.list() if h.tdp is not None and (h.memory.capacity or Q_("0 B")) >= min_memory]
        if not fits:
            raise ValueError("nothing fits")
        best = min(fits, key=lambda h: h.tdp)
        return LightestResult(objective_value=best.tdp, best_config={"hardware": best.name},
                              total_searched=len(Hardware.list()), device=best.name)


def test_a_model(h100):
    result = PriceOfSpeed().solve(hardware=h100)
    assert result.per_rate.units == "USD*s/TFLOP" and result.per_rate.magnitude > 0
    assert isinstance(result.is_cheap, bool) and result.remark == "none"
    assert from_constants is Q_
    with pytest.raises(ValueError, match="no price"):
        PriceOfSpeed().solve(hardware=HardwareNode(name="Gift"))


def test_a_solver(llama):
    needed = NeededMemory().solve(model=llama, room=0.2).capacity
    assert needed.m_as("GB") == pytest.approx(llama.size_in_bytes().m_as("GB") / 0.8, rel=1e-12)


def test_an_optimizer():
    best = Lightest().solve(min_memory=Q_("64 GB"))
    assert best.total_searched == len(Hardware.list()) and best.best_config["hardware"] == best.device
    assert all(h.tdp >= best.objective_value for h in Hardware.list()
               if h.tdp is not None and h.memory.capacity is not None and h.memory.capacity >= Q_("64 GB"))


def test_fields_are_checked():
    good = dict(per_rate=Q_("1 USD*s/TFLOP"), is_cheap=True)
    with pytest.raises(InputError, match="is_cheap"):
        PriceOfSpeedResult(per_rate=good["per_rate"])
    with pytest.raises(InputError, match="Q_"):
        PriceOfSpeedResult(per_rate=1.0, is_cheap=True)
    with pytest.raises(InputError, match="is_cheap"):
        PriceOfSpeedResult(per_rate=good["per_rate"], is_cheap="yes")
    with pytest.raises(InputError, match="is_cheap"):
        PriceOfSpeedResult(**good, is_cheep=True)
    with pytest.raises(InputError, match="objective"):
        LightestResult(objective_value="low", best_config={}, total_searched=1, device="x")
    with pytest.raises(InputError, match="total_searched"):
        LightestResult(objective_value=1.0, best_config={}, total_searched=1.5, device="x")
    with pytest.raises(InputError, match="misses"):
        OptimizerResult(objective_value=1)


def test_containers_and_optionals():
    class Mixed(SolverResult):
        share: float
        note: Optional[str]
        parts: Dict[str, float]
        anything: Any
        extra: "Quantity"

    result = Mixed(share=1, note=None, parts={"a": 1.0}, anything=object, extra=Q_("1 s"))
    assert isinstance(result.share, float) and result.note is None
    for wrong in ({"note": 3}, {"parts": [1]}, {"extra": 1.0}, {"share": "1"}):
        with pytest.raises(InputError):
            Mixed(**{**result.dict(), **wrong})


def test_what_containers_hold_is_checked():
    class Held(SolverResult):
        times: List[Quantity]
        pair: Tuple[int, str]
        many: Tuple[float, ...] = ()
        shares: Dict[str, float] = {}
        notes: list = []

    good = dict(times=[Q_("1 s")], pair=(1, "a"))
    held = Held(**good, many=(1, 2.5), shares={"a": 1})
    assert held.many == (1.0, 2.5) and all(isinstance(x, float) for x in (*held.many, *held.shares.values()))
    for wrong in ({"times": [3]}, {"times": [Q_("1 s"), "x"]}, {"pair": (1, 2, 3)}, {"pair": (1, 2)}, {"many": ("x",)},
                  {"shares": {"a": "b"}}, {"shares": {1: 1.0}}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Held(**{**good, **wrong})
    with pytest.raises(InputError, match=r"List\[Quantity\]"):
        Held(times=[3], pair=(1, "a"))
    first, second = Held(**good), Held(**good)
    first.notes.append("mine")
    assert second.notes == [] and Held(**good).notes == [] and first.shares is not second.shares


@pytest.mark.parametrize("name", ["warnings", "assumptions", "dict", "to_dict", "fields"])
def test_names_of_every_result_are_no_fields(name):
    with pytest.raises(InputError, match=f"'{name}'"):
        type("Hiding", (SolverResult,), {"__annotations__": {name: list, "x": float}, "__module__": __name__})


def test_results_behave_as_values(h100):
    result = PriceOfSpeed().solve(hardware=h100)
    assert result == PriceOfSpeed().solve(hardware=h100) and result != PriceOfSpeed().solve(hardware=Hardware.A100)
    with pytest.raises(AttributeError):
        result.is_cheap = False
    assert pickle.loads(pickle.dumps(result)) == result and copy.copy(result) is result
    assert result.dict() == {"per_rate": result.per_rate, "is_cheap": result.is_cheap, "remark": "none"}
    assert Quantity(result.to_dict()["per_rate"]) == result.per_rate
    assert "per_rate" in repr(result) and "<table>" in result._repr_html_()


def test_abstract_without_solve():
    class Lazy(BaseModel):
        requires = ("hardware",)

    with pytest.raises(TypeError, match="solve"):
        Lazy()
    with pytest.raises(InputError, match="requires"):
        class Wrong(BaseModel):
            requires = "hardware"


def test_the_factory_knows_both_kinds():
    available = ResolverFactory.list_available()
    assert available["PriceOfSpeed"] is PriceOfSpeed and available["DistributedModel"] is mlsysim.DistributedModel
    assert ResolverFactory.get("Lightest") is Lightest and ResolverFactory.get("Roofline") is mlsysim.laws.Roofline
    with pytest.raises(mlsysim.LookupError, match="PriceOfSpeed"):
        ResolverFactory.get("PriceOfSpead")


def test_the_last_definition_wins_with_a_warning():
    def define():
        class Twice(BaseModel):
            def solve(self):
                return None

        return Twice

    first = define()
    with pytest.warns(UserWarning, match="Twice"):
        second = define()
    assert first is not second and ResolverFactory.get("Twice") is second


def test_entry_points_are_found(tmp_path, monkeypatch):
    package = tmp_path / "extra_resolvers"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from mlsysim.core.solver import BaseModel\n"
        "class FromAPackage(BaseModel):\n"
        "    def solve(self):\n"
        "        return None\n"
        "class NoResolver:\n"
        "    pass\n")
    info = tmp_path / "extra_resolvers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra-resolvers\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[mlsysim.solvers]\ngood = extra_resolvers:FromAPackage\nbad = extra_resolvers:NoResolver\n"
        "gone = extra_resolvers:Missing\n")
    monkeypatch.syspath_prepend(tmp_path)
    import mlsysim.factory as factory
    monkeypatch.setattr(factory, "_loaded", None)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        available = ResolverFactory.list_available()
    assert "FromAPackage" in available and "NoResolver" not in available
    said = " ".join(str(w.message) for w in seen)
    assert "'bad'" in said and "'gone'" in said
