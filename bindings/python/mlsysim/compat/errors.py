"""Errors by their old names."""

from ..errors import DomainError, InputError

__all__ = ["OOMError", "SLAViolation", "ThermalThrottleWarning"]


class OOMError(DomainError):
    """What does not fit, for callers who asked for an error; elsewhere it is an answer with feasible = False."""

    def __init__(self, message, required_bytes=None, available_bytes=None):
        super().__init__(f"{message}: {required_bytes} of {available_bytes}" if required_bytes is not None else message)
        self.required_bytes, self.available_bytes = required_bytes, available_bytes


class SLAViolation(InputError):
    """A scenario that misses its target."""


class ThermalThrottleWarning(UserWarning):
    """Known by name; nothing here raises it."""
