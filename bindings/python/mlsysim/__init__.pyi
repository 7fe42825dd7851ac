from ._mlsysim import Quantity as Quantity
from .arrays import QuantityArray as QuantityArray
from .base import BaseModel as BaseModel, BaseOptimizer as BaseOptimizer, BaseResolver as BaseResolver
from .base import BaseSolver as BaseSolver, ForwardModel as ForwardModel
from .engine import Engine as Engine, SystemEvaluation as SystemEvaluation, SystemEvaluator as SystemEvaluator
from .errors import DimensionError as DimensionError, DomainError as DomainError, Error as Error, ErrorList as ErrorList
from .errors import InputError as InputError, LookupError as LookupError, PipelineBuildError as PipelineBuildError
from .errors import PipelineError as PipelineError, PluginError as PluginError, SolverError as SolverError
from .errors import UnitError as UnitError
from .explore import Subject as Subject, ask as ask
from .factory import ResolverFactory as ResolverFactory
from .pipelines import Pipeline as Pipeline
from .recording import law as law, Law as Law, where as where, minimum as minimum, maximum as maximum, ceil as ceil
from .recording import floor as floor, sqrt as sqrt, log as log, log2 as log2, exp as exp
from .registries import Hardware as Hardware, Infrastructure as Infrastructure, Models as Models, Systems as Systems
from .registries import Technology as Technology
from .results import Infeasible as Infeasible, OptimizerResult as OptimizerResult, Skipped as Skipped
from .results import SolverResult as SolverResult
from .specs import ComputeCore as ComputeCore, Conventions as Conventions, CoolingProfile as CoolingProfile
from .specs import Datacenter as Datacenter, Fleet as Fleet, GridProfile as GridProfile, HardwareNode as HardwareNode
from .specs import IOInterconnect as IOInterconnect, MemoryHierarchy as MemoryHierarchy, NetworkFabric as NetworkFabric
from .zoo import import_model as import_model
from .programs import Program as Program, read_program as read_program
from .traffic import RecordedTraffic as RecordedTraffic, read_traffic as read_traffic
from .specs import Node as Node, PowerEnvelope as PowerEnvelope, StorageHierarchy as StorageHierarchy, Workload as Workload
from .units import Q_ as Q_, Unit as Unit, q as q
from . import arrays as arrays, base as base, compiling as compiling, core as core, errors as errors, hardware as hardware
from . import infrastructure as infrastructure, laws as laws, models as models, plugins as plugins, resolvers as resolvers
from . import recording as recording, results as results, systems as systems, units as units, validation as validation
from . import compat as compat, launches as launches, plans as plans, programs as programs, traffic as traffic, zoo as zoo

__version__: str

# Generated below by bindings/python/make_stubs.py.

from .resolvers import SingleNodeModel as SingleNodeModel
from .resolvers import ServingModel as ServingModel
from .resolvers import TrainingMemoryModel as TrainingMemoryModel
from .resolvers import DistributedModel as DistributedModel
from .resolvers import SustainabilityModel as SustainabilityModel
from .resolvers import EconomicsModel as EconomicsModel
from .resolvers import NetworkRooflineModel as NetworkRooflineModel
from .resolvers import EfficiencyModel as EfficiencyModel
from .resolvers import ContinuousBatchingModel as ContinuousBatchingModel
from .resolvers import InFlightBatchingModel as InFlightBatchingModel
from .resolvers import TailLatencyModel as TailLatencyModel
from .resolvers import ServingCapacityModel as ServingCapacityModel
from .resolvers import DataModel as DataModel
from .resolvers import TransformationModel as TransformationModel
from .resolvers import TopologyModel as TopologyModel
from .resolvers import ScalingModel as ScalingModel
from .resolvers import ReliabilityModel as ReliabilityModel
from .resolvers import OrchestrationModel as OrchestrationModel
from .resolvers import CheckpointModel as CheckpointModel
from .resolvers import InferencePassModel as InferencePassModel
from .resolvers import WeightStreamingModel as WeightStreamingModel
from .resolvers import InferenceScalingModel as InferenceScalingModel
from .resolvers import CompressionModel as CompressionModel
from .resolvers import MoERoutingModel as MoERoutingModel
from .resolvers import ResponsibleEngineeringModel as ResponsibleEngineeringModel
from .resolvers import CompilationModel as CompilationModel
from .resolvers import SynthesisSolver as SynthesisSolver
from .resolvers import GraphBreakSolver as GraphBreakSolver
from .resolvers import ParallelismOptimizer as ParallelismOptimizer
from .resolvers import BatchingOptimizer as BatchingOptimizer
from .resolvers import PlacementOptimizer as PlacementOptimizer
from .resolvers import CompressionOptimizer as CompressionOptimizer
from .resolvers import CompileModeOptimizer as CompileModeOptimizer
from .resolvers import SensitivitySolver as SensitivitySolver
