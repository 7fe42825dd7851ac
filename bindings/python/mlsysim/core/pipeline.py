"""Pipelines."""

from ..pipelines import Pipeline, PipelineResults

__all__ = ["Pipeline", "PipelineResults"]
