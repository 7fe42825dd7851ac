from ..base import BaseModel as BaseModel, BaseOptimizer as BaseOptimizer, BaseResolver as BaseResolver
from ..base import BaseSolver as BaseSolver, ForwardModel as ForwardModel

# Generated below by bindings/python/make_stubs.py.

from ..resolvers import SingleNodeModel as SingleNodeModel
from ..resolvers import ServingModel as ServingModel
from ..resolvers import TrainingMemoryModel as TrainingMemoryModel
from ..resolvers import DistributedModel as DistributedModel
from ..resolvers import SustainabilityModel as SustainabilityModel
from ..resolvers import EconomicsModel as EconomicsModel
from ..resolvers import NetworkRooflineModel as NetworkRooflineModel
from ..resolvers import EfficiencyModel as EfficiencyModel
from ..resolvers import ContinuousBatchingModel as ContinuousBatchingModel
from ..resolvers import InFlightBatchingModel as InFlightBatchingModel
from ..resolvers import TailLatencyModel as TailLatencyModel
from ..resolvers import ServingCapacityModel as ServingCapacityModel
from ..resolvers import DataModel as DataModel
from ..resolvers import TransformationModel as TransformationModel
from ..resolvers import TopologyModel as TopologyModel
from ..resolvers import ScalingModel as ScalingModel
from ..resolvers import ReliabilityModel as ReliabilityModel
from ..resolvers import OrchestrationModel as OrchestrationModel
from ..resolvers import CheckpointModel as CheckpointModel
from ..resolvers import InferencePassModel as InferencePassModel
from ..resolvers import WeightStreamingModel as WeightStreamingModel
from ..resolvers import InferenceScalingModel as InferenceScalingModel
from ..resolvers import CompressionModel as CompressionModel
from ..resolvers import MoERoutingModel as MoERoutingModel
from ..resolvers import ResponsibleEngineeringModel as ResponsibleEngineeringModel
from ..resolvers import CompilationModel as CompilationModel
from ..resolvers import SynthesisSolver as SynthesisSolver
from ..resolvers import GraphBreakSolver as GraphBreakSolver
from ..resolvers import ParallelismOptimizer as ParallelismOptimizer
from ..resolvers import BatchingOptimizer as BatchingOptimizer
from ..resolvers import PlacementOptimizer as PlacementOptimizer
from ..resolvers import CompressionOptimizer as CompressionOptimizer
from ..resolvers import CompileModeOptimizer as CompileModeOptimizer
from ..resolvers import SensitivitySolver as SensitivitySolver
