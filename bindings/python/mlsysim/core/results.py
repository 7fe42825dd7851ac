"""Results of resolvers."""

from ..results import Infeasible, OptimizerResult, Skipped, SolverResult

__all__ = ["Infeasible", "OptimizerResult", "Skipped", "SolverResult"]


def __getattr__(name):
    from .. import results

    return getattr(results, name)
