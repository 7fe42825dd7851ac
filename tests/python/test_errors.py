"""Errors: one hierarchy with the fields of the library."""

import pickle

import pytest

import mlsysim
from mlsysim import DimensionError, Error, InputError, LookupError, Pipeline, PipelineBuildError, Q_, UnitError
from mlsysim.resolvers import DistributedModel


def test_hierarchy():
    assert issubclass(InputError, (Error, ValueError)) and issubclass(InputError, ValueError)
    assert issubclass(DimensionError, ValueError) and issubclass(UnitError, ValueError)
    assert issubclass(LookupError, KeyError) and issubclass(PipelineBuildError, mlsysim.PipelineError)


def test_facts():
    with pytest.raises(UnitError) as caught:
        Q_("3 TB/z")
    error = caught.value
    assert error.id.startswith("mlsysim.unit.") and error.facts.found and str(error).startswith(error.facts.message[:10])
    assert pickle.loads(pickle.dumps(error)).facts == error.facts


def test_lookup_errors_are_readable():
    with pytest.raises(LookupError) as caught:
        mlsysim.Models.Llama3_8B.size_in_bytes("fp99")
    assert "\\n" not in str(caught.value) and not str(caught.value).startswith("'")


def test_every_problem_of_a_pipeline_is_listed():
    with pytest.raises(PipelineBuildError) as caught:
        Pipeline([DistributedModel()]).run()
    missing = {p.key for p in caught.value.problems}
    assert {"workload", "fleet"} <= missing


def test_the_package_names_near_misses():
    with pytest.raises(AttributeError, match="Engine"):
        mlsysim.Enginee


@pytest.mark.parametrize("ask, words", [
    (lambda: Pipeline([DistributedModel()]).run(), "fleet=... in Python"),
    (lambda: Q_("1 quuuuux"), "mlsysim units list"),
    (lambda: Q_("1 GB").to(5), 'a unit is a text; found 5'),
    (lambda: Q_("1 GB").m_as(None), 'a unit is a text; found None'),
    (lambda: mlsysim.HardwareNode(name="A", compute={"peak_flop": "1 TFLOP/s"}), "did you mean 'peak_flops'"),
    (lambda: mlsysim.HardwareNode(name="A", compute={"peak_flops": "-1 TFLOP/s"}), "dense rate at the default precision"),
    (lambda: mlsysim.Hardware.list(sort_by="memry"), "did you mean 'memory'"),
])
def test_messages_lead_on(ask, words):
    with pytest.raises(Error) as caught:
        ask()
    assert words in str(caught.value) and "()" not in str(caught.value).replace("spellings()", "")


def test_private_names_are_not_proposed():
    with pytest.raises(LookupError) as caught:
        mlsysim.Hardware.list(sort_by="foo")
    assert "__" not in str(caught.value)
