"""Types of machine-learning models."""

from ..specs import (
    AttentionShape, ConvLayer, DiffusionShape, InferenceTotals, LinearAttentionShape, MoeShape, RecommendationShape,
    StateSpaceShape, TrainingTotals, TransformerShape, Workload,
)

__all__ = ["AttentionShape", "ConvLayer", "DiffusionShape", "InferenceTotals", "LinearAttentionShape", "MoeShape",
           "RecommendationShape", "StateSpaceShape", "TrainingTotals", "TransformerShape", "Workload"]
