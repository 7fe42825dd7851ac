"""Pipelines."""

from .. import compat
from ..pipelines import Pipeline, PipelineResults

__all__ = ["Pipeline", "PipelineResults"]
__getattr__ = compat.attributes("core.pipeline")
