"""Scorecards."""

from ..engine import EvaluationLevel, SystemEvaluation, SystemEvaluator

__all__ = ["EvaluationLevel", "SystemEvaluation", "SystemEvaluator"]
