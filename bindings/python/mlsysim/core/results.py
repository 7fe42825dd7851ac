"""Results of resolvers."""

from .. import compat
from ..results import Infeasible, OptimizerResult, Skipped, SolverResult

__all__ = ["Infeasible", "OptimizerResult", "Skipped", "SolverResult"]
__getattr__ = compat.attributes("engine.results")
