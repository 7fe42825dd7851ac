"""Errors of the library: each says what was found, what was expected, where, and what to do.

Infeasible, not converged or "does not fit" are values in results, never exceptions.
"""

__all__ = [
    "Error", "UnitError", "DimensionError", "InputError", "LookupError", "DomainError", "PipelineError",
    "PipelineBuildError", "SolverError", "PluginError", "ErrorList", "Facts",
]

_KeyError = KeyError


class Facts:
    """The parts of an error as fields, so that programs need not read the message."""

    __slots__ = ("id", "message", "key", "found", "expected", "hint", "file", "line", "column", "excerpt")

    def __init__(self, **parts):
        for name in self.__slots__:
            setattr(self, name, parts.get(name, 0 if name in ("line", "column") else ""))

    def __repr__(self):
        shown = ", ".join(f"{n}={getattr(self, n)!r}" for n in self.__slots__ if getattr(self, n))
        return f"Facts({shown})"

    def __eq__(self, other):
        return isinstance(other, Facts) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__ = None


class Error(Exception):
    """Base of all errors of mlsysim.

    `facts` holds the parts of the message, `context` the frames around it, innermost first, and `problems` the facts of
    every single problem where there are several.
    """

    facts = Facts()
    context = ()
    problems = ()

    @property
    def id(self):
        """Stable identifier, e.g. "mlsysim.unit.003"."""
        return self.facts.id

    def __str__(self):
        return str(self.args[0]) if self.args else ""


class UnitError(Error, ValueError):
    """A unit or number text that cannot be read."""


class DimensionError(Error, ValueError):
    """A quantity of one dimension where another is due."""


class InputError(Error, ValueError):
    """An input of the wrong kind, form or file."""


class LookupError(Error, _KeyError):  # noqa: A001: the name that the library has in every language
    """A name that is not there, or is ambiguous."""

    __str__ = Error.__str__


class DomainError(Error, ValueError):
    """A value outside the domain of a law."""


class PipelineError(Error, RuntimeError):
    """A pipeline that cannot be built or run."""


class PipelineBuildError(PipelineError):
    """All problems of a pipeline that cannot be built."""


class SolverError(Error, RuntimeError):
    """A solver that was asked something it cannot answer."""


class PluginError(Error, RuntimeError):
    """A plugin that cannot be trusted or used.

    Of one that was called: `code` (status, such as "INTERNAL"), `plugin`, `stage` (what was called, such as "solve of acme/X"),
    `payload` ({key: text} that it gave). Empty for others.
    """

    code = plugin = stage = ""
    payload = {}


class ErrorList(Error, ValueError):
    """Several errors of one input (all problems of a file at once)."""


def _whole(text):
    """A text that can be printed: what is no character is shown by its number."""
    return text.encode("utf-8", "backslashreplace").decode() if isinstance(text, str) else text


def _from_cpp(kind, text, facts, context, problems):
    error = kind(_whole(text))
    error.facts = Facts(**{key: _whole(value) for key, value in facts.items()})
    error.context = tuple(context)
    error.problems = tuple(Facts(**p) for p in problems)
    return error


def _input_error(message, *, key="", found="", expected="", hint="", kind=InputError, id="mlsysim.python.100"):
    """An error of the Python side, in the words of the others."""
    text = message
    if found:
        text += f"; found {found}"
    if expected:
        text += f", expected {expected}" if found else f"; expected {expected}"
    if hint:
        text += f"; {hint}"
    facts = dict(id=id, message=message, key=key, found=found, expected=expected, hint=hint)
    return _from_cpp(kind, f"{text} [{id}]", facts, (), ())
