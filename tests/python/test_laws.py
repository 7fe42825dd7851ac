"""Laws with their tools."""

import numpy as np
import pytest

import mlsysim
from mlsysim import DimensionError, InputError, Q_, QuantityArray
from mlsysim.laws import Roofline

GIVEN = dict(work="2 TFLOP", traffic="16 GB", peak="1000 TFLOP/s", bandwidth="3.2 TB/s")


def given():
    names = [r["name"] for r in Roofline._resolver.inputs if r["required"]]
    return {n: GIVEN[n] for n in names if n in GIVEN}


def test_solve():
    result = Roofline.solve(**given())
    assert result.time.m_as("ms") == pytest.approx(5, rel=1e-12)
    assert Roofline().solve(**given()) == result
    assert issubclass(Roofline, mlsysim.BaseModel) and Roofline.law and Roofline.source


def test_names_and_near_misses():
    assert "Roofline" in mlsysim.laws.names() and len(mlsysim.laws.names()) > 40
    with pytest.raises(AttributeError, match="Roofline"):
        mlsysim.laws.Rooflin


def test_batch_agrees_with_solve():
    traffic = Q_(np.linspace(1, 100, 300), "GB")
    columns = Roofline.batch(**{**given(), "traffic": traffic})
    time = columns["time"]
    assert isinstance(time, QuantityArray) and len(time) == 300
    for i in (0, 7, 150, 299):
        assert time[i].base == Roofline.solve(**{**given(), "traffic": traffic[i]}).time.base


def test_batch_fills_given_arrays():
    traffic = Q_(np.array([1e9, 2e9]), "B")
    out = {"time": np.empty(2)}
    assert Roofline.batch(out=out, **{**given(), "traffic": traffic}) is out
    assert out["time"].tolist() == [max(2e12 / 1e15, 1e9 / 3.2e12), max(2e12 / 1e15, 2e9 / 3.2e12)]
    with pytest.raises(InputError, match="time"):
        Roofline.batch(out={"tme": np.empty(2)}, **{**given(), "traffic": traffic})
    with pytest.raises(InputError, match="length"):
        Roofline.batch(**{**given(), "traffic": traffic, "work": Q_([1.0], "TFLOP")})
    with pytest.raises(DimensionError, match="traffic"):
        Roofline.batch(**{**given(), "traffic": np.array([1.0, 2.0])})


def test_gradient_and_elasticity():
    slopes = Roofline.gradient(**given())
    assert slopes["time", "bandwidth"].elasticity == pytest.approx(-1, rel=1e-12)
    assert slopes["time", "peak"].value == 0 and slopes["time", "traffic"].kind == "smooth"


def test_bounds():
    low, high = Roofline.bounds(**{**given(), "traffic": ("8 GB", "32 GB")})["time"]
    assert low.m_as("ms") == pytest.approx(2.5, rel=1e-9) and high.m_as("ms") == pytest.approx(10, rel=1e-9)


def test_invert():
    answer = Roofline.invert("bandwidth", "time", equals="4 ms", **{k: v for k, v in given().items() if k != "bandwidth"})
    assert answer.outcome == "unique" and answer.value.m_as("TB/s") == pytest.approx(4, rel=1e-9)
    none = Roofline.invert("bandwidth", "time", at_most="1 ms", **{k: v for k, v in given().items() if k != "bandwidth"})
    assert none.outcome == "none"
    with pytest.raises(mlsysim.SolverError):
        none.value
    with pytest.raises(InputError, match="target"):
        Roofline.invert("bandwidth", "time", **given())


def test_explain():
    text = Roofline.explain(**given())
    assert "Roofline" in text and "ms" in text
