from ..base import BaseModel as BaseModel, BaseOptimizer as BaseOptimizer, BaseResolver as BaseResolver
from ..base import BaseSolver as BaseSolver, ForwardModel as ForwardModel

# Generated below by bindings/python/make_stubs.py.
