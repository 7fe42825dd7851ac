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
