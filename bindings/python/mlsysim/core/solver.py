"""Base classes of resolvers, and the resolvers that ship."""

from ..base import BaseModel, BaseOptimizer, BaseResolver, BaseSolver, ForwardModel

__all__ = ["BaseModel", "BaseOptimizer", "BaseResolver", "BaseSolver", "ForwardModel"]


def __getattr__(name):
    from .. import resolvers

    try:
        return getattr(resolvers, name)
    except AttributeError:
        raise AttributeError(f"module 'mlsysim.core.solver' has no attribute '{name}'") from None


def __dir__():
    from .. import resolvers

    return sorted([*__all__, *resolvers.__all__])
