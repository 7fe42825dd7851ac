"""Errors of the library. Each says what was found, what was expected, where, and what to do.

A setup that does not fit or has no solution is a result, not an exception.
"""

__all__ = [
    "Error", "UnitError", "DimensionError", "InputError", "LookupError", "DomainError", "PipelineError",
    "PipelineBuildError", "SolverError", "PluginError", "ErrorList", "Facts",
]

_KeyError = KeyError


class Facts:
    """Parts of an error message as attributes.

    Attributes
    ----------
    id : str
        Stable identifier, such as "mlsysim.unit.003".
    message, key, found, expected, hint : str
        The message and its parts.
    file, excerpt : str
        Place in a file.
    line, column : int
        Position; 0 if there is none.
    """

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

    Attributes
    ----------
    facts : Facts
        Parts of the message.
    context : tuple of str
        Frames around the error, innermost first.
    problems : tuple of Facts
        Every single problem, if there are several.

    Examples
    --------
    >>> try:
    ...     mlsysim.q("3 TB/z")
    ... except mlsysim.Error as error:
    ...     type(error).__name__
    'UnitError'
    """

    facts = Facts()
    context = ()
    problems = ()

    @property
    def id(self):
        """Stable identifier, such as "mlsysim.unit.003"."""
        return self.facts.id

    def __str__(self):
        return str(self.args[0]) if self.args else ""


class UnitError(Error, ValueError):
    """Unit or number that cannot be read."""


class DimensionError(Error, ValueError):
    """Quantity of another dimension than expected."""


class InputError(Error, ValueError):
    """Input of the wrong kind, form or file."""


class LookupError(Error, _KeyError):  # noqa: A001: the name that the library has in every language
    """Name that does not exist or is ambiguous."""

    __str__ = Error.__str__


class DomainError(Error, ValueError):
    """Value outside the range of an equation."""


class PipelineError(Error, RuntimeError):
    """Pipeline that cannot be built or run."""


class PipelineBuildError(PipelineError):
    """All problems of a pipeline that cannot be built."""


class SolverError(Error, RuntimeError):
    """Question that a solver cannot answer."""


class PluginError(Error, RuntimeError):
    """Plugin that cannot be loaded or used.

    Attributes
    ----------
    code, plugin, stage : str
        Status such as "INTERNAL", name of the plugin, and the call ("solve of acme/X"); empty if no call failed.
    payload : dict
        {key: text} from the plugin.
    """

    code = plugin = stage = ""
    payload = {}


class ErrorList(Error, ValueError):
    """Several errors of one input, such as all problems of a file."""


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
