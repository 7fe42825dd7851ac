"""Quantity: reading, arithmetic, comparison, text, pickles."""

import copy
import math
import pickle

import numpy as np
import pytest

from mlsysim import DimensionError, DomainError, Q_, Quantity, UnitError, q
from mlsysim.units import Unit


def test_reads_texts_and_numbers_with_units():
    assert Q_("3.35 TB/s").magnitude == 3.35
    assert Q_(5, "TFLOPs/s") == Q_("5 TFLOP/s")
    assert Q_("1 TFLOPs/s / W") == Q_("1 TFLOP/s/W")
    assert q(0.5).dimensionless and float(q(0.5)) == 0.5
    assert Quantity(Q_("2 s"), "ms").magnitude == 2000


def test_a_wrong_unit_says_what_is_near():
    with pytest.raises(UnitError, match="unknown unit.*'z'"):
        Q_("3 TB/z")
    with pytest.raises(ValueError):
        Q_("three seconds")


def test_units_equal_every_spelling():
    rate = (Q_("989 TFLOP/s") / Q_("700 W")).to("TFLOPs/s/W")
    assert rate.units == "TFLOPs/s/W" and rate.units == "TFLOP/s/W"
    assert "TFLOP/s/W" == rate.units
    assert rate.units != "GFLOP/s/W" and rate.units != "no unit at all"
    assert isinstance(rate.units, str)
    assert Unit("W") == "J/s" and hash(Unit("W")) == hash(Unit("J/s"))


def test_conversion_is_checked():
    size = Q_("80 GiB")
    assert size.m_as("B") == 80 * 2**30
    assert size.to("GB").magnitude == pytest.approx(85.89934592, rel=1e-15)
    assert size.to_base().units == "B"
    assert size.check("TB") and not size.check("s")
    with pytest.raises(DimensionError, match="data"):
        size.to("s")


def test_arithmetic_keeps_books():
    time = Q_("16 GB") / Q_("2 TB/s")
    assert time.m_as("ms") == pytest.approx(8, rel=1e-15)
    assert (2 * Q_("3 W")).m_as("W") == 6 and (Q_("3 W") * 2.5).m_as("W") == 7.5
    assert (1 / Q_("4 s")).m_as("Hz") == 0.25
    assert (Q_("1 s") + Q_("500 ms") - Q_("0.5 s")) == Q_("1 s")
    assert Q_("3 s") ** 2 == Q_("9 s^2") and (Q_("9 s^2") ** 0.5) == Q_("3 s")
    assert abs(-Q_("2 s")) == Q_("2 s") and round(Q_("2.345 s"), 1) == Q_("2.3 s")
    assert sum([Q_("1 GB"), Q_("2 GB")]) == Q_("3 GB")
    assert max(Q_("1 s"), Q_("2000 ms")) == Q_("2 s")


def test_arithmetic_refuses_what_makes_no_sense():
    with pytest.raises(DimensionError):
        Q_("1 s") + Q_("1 B")
    with pytest.raises(DimensionError):
        Q_("1 s") + 1
    with pytest.raises(DimensionError):
        Q_("1 s") < 5
    with pytest.raises(DimensionError, match="m_as"):
        float(Q_("1 s"))
    with pytest.raises(DimensionError):
        Q_("2 s") ** 0.5
    with pytest.raises(DomainError):
        Q_("1 s") / Q_("0 s")
    with pytest.raises(TypeError):
        Q_("1 s") * "2"
    with pytest.raises(TypeError):
        Q_("1 s") * True


def test_equality_and_hash():
    assert Q_("1 s") == Q_("1000 ms") and hash(Q_("1 s")) == hash(Q_("1000 ms"))
    assert Q_("1 s") != Q_("1 B") and Q_("1 s") != 1 and Q_("1 s") != "1 s"
    assert Q_(2.0) == 2 and hash(Q_(2.0)) == hash(2.0)
    assert len({Q_("1 GB"), Q_("1000 MB"), Q_("2 GB")}) == 2


def test_repr_is_exact():
    for value in (Q_("3.35 TB/s"), Q_("1 s") / 3, Q_(0.1) * 3, Q_("80 GiB").to("GB"), Q_(1e-300, "J")):
        assert eval(repr(value)) == value
    infinite = Q_("1 s") * math.inf
    assert eval(repr(infinite)).base == math.inf


def test_text_for_readers():
    assert str(Q_("3.35 TB/s")) == "3.35 TB/s"
    assert str(Q_("1 GB") / Q_("3 GB/s")) == "333.333 ms"
    assert f"{Q_('16.06 ms'):.1f}" == "16.1 ms"
    assert f"{Q_('16.06 ms'):.4f s}" == "0.0161 s"
    assert f"{Q_('16.06 ms')}" == "16.06 ms"


def test_pickles_and_copies():
    for value in (Q_("3.35 TB/s"), Q_("1 GB") / Q_("3 s"), Q_(0.5), Q_("1 s") * math.inf):
        twin = pickle.loads(pickle.dumps(value))
        assert twin == value and repr(twin) == repr(value)
        assert copy.deepcopy(value) is value


def test_immutable():
    with pytest.raises(AttributeError):
        Q_("1 s").magnitude = 3


def test_numpy_scalars_are_numbers():
    assert (np.float64(2) * Q_("3 s")) == Q_("6 s")
    assert (Q_("3 s") * np.int64(2)) == Q_("6 s")
    assert Q_(np.float32(0.5), "s").m_as("s") == 0.5


def test_a_unit_times_a_number_is_a_quantity():
    unit = Q_("1 GB").units
    assert unit * 3 == 3 * unit == Q_("3 GB") and isinstance(unit * 3, Quantity)
    assert unit / Unit("s") == "GB/s" and unit * Unit("Hz") == "GB/s" and 6 * unit / Unit("s") == Q_("6 GB/s")
    assert Unit("TFLOP/s") / Unit("GB/s") == "TFLOP/GB"
