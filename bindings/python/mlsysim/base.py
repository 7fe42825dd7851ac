"""The three tiers, as base classes for resolvers of one's own.

ForwardModel (alias BaseModel): Y = f(X). BaseSolver: X = f^-1(Y), or the gradient. BaseOptimizer: the best x within limits.
A subclass names what it `requires` and the result class that it `produces`, and has one method `solve`.

The tiers are contracts: a model or a solver that runs an optimizer, and an optimizer that answers without a search, are refused
when they do so, wherever they run.
"""

from abc import ABC, abstractmethod
from functools import wraps

from . import compat
from .errors import SolverError, _input_error

__all__ = ["BaseModel", "BaseOptimizer", "BaseResolver", "BaseSolver", "ForwardModel"]

# Resolvers written in Python by class name.
_defined = {}


class BaseResolver(ABC):
    """Base of everything that answers a question."""

    requires = ()
    produces = None
    walls = ()
    _tier = "unknown"

    @abstractmethod
    def solve(self, **inputs):
        """Answers; the arguments are the inputs."""

    @classmethod
    def resolver_type(cls):
        """"model", "solver" or "optimizer"."""
        return cls._tier

    @classmethod
    def fallacies(cls):
        """Common misconceptions and what is true instead."""
        return {}

    @classmethod
    def schema(cls):
        """What the resolver takes and gives."""
        produces = cls.produces
        return {
            "resolver": cls.__name__,
            "type": cls.resolver_type(),
            "walls": list(cls.walls),
            "requires": list(cls.requires),
            "produces": getattr(produces, "__name__", None),
            "outputs": list(produces.fields()) if hasattr(produces, "fields") else [],
        }

    def __init_subclass__(cls, **options):
        shipped = options.pop("shipped", False)
        super().__init_subclass__(**options)
        if shipped or cls.__module__ == __name__:
            return
        if isinstance(cls.requires, str) or not all(isinstance(r, str) for r in cls.requires):
            raise _input_error(f"'requires' of {cls.__name__} is not a list of names", key="requires",
                               found=repr(cls.requires), expected="a tuple of texts such as ('hardware',)",
                               id="mlsysim.python.120")
        _hold_to_tier(cls)
        _register(cls)

    def __getattr__(self, name):
        return compat.member(self, name)

    def __repr__(self):
        return f"{type(self).__name__}()"


def _hold_to_tier(cls):
    """From now on `solve` of the class keeps the contract of its tier, however it is called."""
    solve = cls.__dict__.get("solve")
    if getattr(cls.solve, "__isabstractmethod__", False):
        return
    if cls._tier == "optimizer":
        from .results import OptimizerResult

        if not (isinstance(cls.produces, type) and issubclass(cls.produces, OptimizerResult)):
            raise _input_error(f"the optimizer {cls.__name__} does not say what it found", key="produces",
                               found=getattr(cls.produces, "__name__", repr(cls.produces)),
                               expected="a class that derives from OptimizerResult, with the objective, the best and the count "
                                        "of what was tried", id="mlsysim.python.121")
    if not callable(solve):  # inherited, and held there; or a static method, which knows no self
        return

    @wraps(solve)
    def held(self, *args, **kwargs):
        from . import _mlsysim as core

        with core._TierScope(self._tier, type(self).__name__):
            result = solve(self, *args, **kwargs)
        if self._tier == "optimizer":
            _check_found(type(self), result)
        return result

    cls.solve = held


def _check_found(cls, result):
    from .results import Infeasible, OptimizerResult

    if isinstance(result, Infeasible):
        return
    if not isinstance(result, OptimizerResult):
        raise _input_error(f"the optimizer {cls.__name__} gave no OptimizerResult", key="solve", found=f"a {type(result).__name__}",
                           expected=cls.produces.__name__, hint="where nothing is feasible, give an Infeasible with the reason",
                           kind=SolverError, id="mlsysim.python.122")
    if not result.total_searched > 0:
        raise _input_error(f"the optimizer {cls.__name__} answers without a search", key="total_searched",
                           found=str(result.total_searched), expected="the number of candidates that were looked at",
                           hint="an answer that needs no search is a model's or a solver's", kind=SolverError,
                           id="mlsysim.python.123")


def _register(cls):
    from . import _mlsysim as core

    name = cls.__name__
    shadows = "the shipped resolver" if name in core._resolver_names() else "an earlier class" if name in _defined else ""
    if shadows:
        import warnings

        warnings.warn(f"{cls.__module__}.{name} takes the place of {shadows} '{name}' in ResolverFactory", stacklevel=5)
    _defined[name] = cls


class ForwardModel(BaseResolver):
    """Y = f(X): evaluates one state. Deterministic; makes no decisions and loops over no options."""

    _tier = "model"


BaseModel = ForwardModel


class BaseSolver(BaseResolver):
    """X = f^-1(Y): finds what meets a target."""

    _tier = "solver"


class BaseOptimizer(BaseResolver):
    """Searches a space of designs for the best; its result derives from OptimizerResult."""

    _tier = "optimizer"
