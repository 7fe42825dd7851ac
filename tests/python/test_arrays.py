"""QuantityArray: numbers in one unit, without copies."""

import pickle

import numpy as np
import pytest

import mlsysim
from mlsysim import DimensionError, Q_, Quantity, QuantityArray


def test_takes_a_float64_array_as_it_is():
    numbers = np.array([1.0, 2.0, 4.0])
    array = Q_(numbers, "GB")
    assert isinstance(array, QuantityArray) and array.magnitude is numbers and array.m_as("GB") is numbers
    numbers[0] = 8.0
    assert array[0] == Q_("8 GB")


def test_lists_texts_and_quantities():
    assert Q_([1, 2], "GB")[1] == Q_("2 GB")
    assert QuantityArray(["1 GB", Q_("500 MB")]).to("MB").magnitude.tolist() == [1000, 500]


def test_arithmetic_with_units():
    size, rate = Q_(np.array([1.0, 2.0]), "GB"), Q_("2 TB/s")
    time = size / rate
    assert time.units == "s" and time.m_as("ms") == pytest.approx([0.5, 1.0], rel=1e-15)
    assert (rate * time).to("GB").magnitude == pytest.approx([1.0, 2.0], rel=1e-15)
    assert (size + Q_("500 MB")).magnitude == pytest.approx([1.5, 2.5])
    assert (size * 2).units == "GB" and (np.array([1.0, 2.0]) * Q_("3 s")).m_as("s").tolist() == [3, 6]
    assert (Q_("4 s") * np.array([1.0, 2.0])).m_as("s").tolist() == [4, 8]
    assert (Q_("4 GB") - size).magnitude.tolist() == [3, 2]
    assert (-size)[0] == Q_("-1 GB")


def test_refuses_other_dimensions():
    size = Q_([1.0, 2.0], "GB")
    with pytest.raises(DimensionError):
        size + Q_("1 s")
    with pytest.raises(DimensionError):
        size.to("s")
    with pytest.raises(DimensionError, match="m_as"):
        np.asarray(size)
    assert np.asarray(Q_([1.0, 2.0])).tolist() == [1, 2]


def test_comparison_and_reduction():
    size = Q_([1.0, 2.0, 3.0], "GB")
    assert (size > Q_("1500 MB")).tolist() == [False, True, True]
    assert (size == Q_("2 GB")).tolist() == [False, True, False]
    assert not (size == Q_("2 s")).any()
    assert size.sum() == Q_("6 GB") and size.mean() == Q_("2 GB") and size.max() == Q_("3 GB") and size.argmin() == 0
    assert isinstance(size.min(), Quantity)
    assert [x.m_as("MB") for x in size] == [1000, 2000, 3000]


def test_pickles():
    array = Q_([1.0, 2.0], "GB")
    twin = pickle.loads(pickle.dumps(array))
    assert (twin == array).all() and twin.units == "GB"


def test_functions_of_numpy_know_the_unit():
    table = Q_(np.array([[1.0, 2.0], [3.0, 4.0]]), "GB")
    assert np.sum(table) == Q_("10 GB") and np.max(table) == Q_("4 GB") and np.min(table) == Q_("1 GB")
    assert np.mean(table) == Q_("2.5 GB") and np.argmax(table) == 3
    assert (np.sum(table, axis=0) == Q_([4, 6], "GB")).all() and (table.max(axis=1) == Q_([2, 4], "GB")).all()
    with pytest.raises(mlsysim.InputError, match="dtype"):
        np.sum(table, dtype=np.int32)


def test_complex_numbers_are_refused():
    with pytest.raises(mlsysim.InputError, match="real"):
        Q_(np.array([1 + 2j]), "GB")
