"""Base classes of resolvers in three tiers.

A ForwardModel (alias BaseModel) evaluates Y = f(X), a BaseSolver finds X for a target Y or a gradient, and a BaseOptimizer
searches for the best X within limits. A subclass names what it `requires` and the result class that it `produces`, and has
one method `solve`.

The tiers are contracts. A model or solver that runs an optimizer raises SolverError, and so does an optimizer without a search.

>>> class Budget(mlsysim.ForwardModel):
...     "Estimate the price of a device."
...     requires, produces = ("hardware",), mlsysim.SolverResult
...     def solve(self, hardware):
...         return mlsysim.SolverResult()
>>> Budget.resolver_type()
'model'
"""

from abc import ABC, abstractmethod
from functools import wraps

from . import compat
from .errors import SolverError, _input_error

__all__ = ["BaseModel", "BaseOptimizer", "BaseResolver", "BaseSolver", "ForwardModel"]

# Resolvers written in Python by class name.
_defined = {}


class BaseResolver(ABC):
    """Base of models, solvers and optimizers.

    Attributes
    ----------
    requires : tuple of str
        Inputs that a caller has to give.
    produces : class
        Class of the results, derived from SolverResult.
    walls : tuple of int
        Walls that the resolver is about, 1 to 22.
    """

    requires = ()
    produces = None
    walls = ()
    _tier = "unknown"

    @abstractmethod
    def solve(self, **inputs):
        """Compute the result; the arguments are the inputs.

        Parameters
        ----------
        **inputs
            Inputs by name. "model" means "workload".

        Returns
        -------
        SolverResult
            An object of the class that `produces` names, or an Infeasible.

        Raises
        ------
        Error
            An input is missing, has the wrong unit or is out of range.

        Examples
        --------
        >>> mlsysim.ServingModel().solve(model="Llama3_8B", hardware="H100").feasible
        True
        """

    @classmethod
    def resolver_type(cls):
        """Name the tier.

        Returns
        -------
        {"model", "solver", "optimizer"}

        Examples
        --------
        >>> mlsysim.ServingModel.resolver_type()
        'model'
        """
        return cls._tier

    @classmethod
    def fallacies(cls):
        """List common misconceptions and the facts.

        Returns
        -------
        dict
            {misconception: fact}; empty for resolvers in Python that list none.

        Examples
        --------
        >>> len(mlsysim.DistributedModel.fallacies()) > 0
        True
        """
        return {}

    @classmethod
    def schema(cls):
        """Describe inputs and outputs as plain data.

        Returns
        -------
        dict
            resolver, type, walls, requires, produces and outputs; shipped resolvers add units, ranges and defaults.

        Examples
        --------
        >>> mlsysim.ServingModel.schema()["produces"]
        'ServingResult'
        """
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
    """Base of models, which evaluate one state: Y = f(X).

    A model is deterministic, makes no decisions and does not loop over options. BaseModel is the same class.
    """

    _tier = "model"


BaseModel = ForwardModel


class BaseSolver(BaseResolver):
    """Base of solvers, which find an input that meets a target: X = f^-1(Y)."""

    _tier = "solver"


class BaseOptimizer(BaseResolver):
    """Base of optimizers, which search a space for the best design. `produces` derives from OptimizerResult."""

    _tier = "optimizer"
