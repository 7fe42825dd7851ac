from ..base import BaseModel as BaseModel, BaseOptimizer as BaseOptimizer, BaseResolver as BaseResolver
from ..base import BaseSolver as BaseSolver, ForwardModel as ForwardModel

# Generated below by bindings/python/make_stubs.py.

from ..resolvers import SingleNodeModel as SingleNodeModel
from ..resolvers import ServingModel as ServingModel
from ..resolvers import TrainingMemoryModel as TrainingMemoryModel
from ..resolvers import DistributedModel as DistributedModel
from ..resolvers import SustainabilityModel as SustainabilityModel
from ..resolvers import EconomicsModel as EconomicsModel
