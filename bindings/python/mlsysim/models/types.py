"""Types of machine-learning models."""

from .. import compat
from ..specs import (
    ActionShape, ConvLayer, DenseFeedForward, DiffusionShape, Experts, FeedForward, GroupedAttention,
    InferenceTotals, LatentAttention, Layer, LayerRun, LinearAttention, ListedOperator, Lookup, Mixer,
    Outline, Reach,
    RecommendationShape, Recurrent, Residual, Selection, Stack, StackInput, StackOutput, StateSpace,
    StoredFormat, TrainingTotals, Workload,
)

__all__ = [
    "ActionShape", "ConvLayer", "DenseFeedForward", "DiffusionShape", "Experts", "FeedForward",
    "GroupedAttention", "InferenceTotals", "LatentAttention", "Layer", "LayerRun", "LinearAttention",
    "ListedOperator", "Lookup", "Mixer", "Outline", "Reach", "RecommendationShape", "Recurrent", "Residual", "Selection", "Stack",
    "StackInput", "StackOutput", "StateSpace", "StoredFormat", "TrainingTotals", "Workload",
]
__getattr__ = compat.attributes("models.types")
