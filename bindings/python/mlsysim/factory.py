"""ResolverFactory: every resolver by class name: shipped, written in Python, and from installed packages."""

from . import _mlsysim as _core

__all__ = ["ResolverFactory"]

_loaded = None


def _packages():
    """{class name: (class, name and version of its package)} of the entry points of installed packages; read once."""
    global _loaded
    if _loaded is None:
        from .plugins import _package_resolvers

        _loaded = _package_resolvers()
    return _loaded


def _from_packages():
    return {name: cls for name, (cls, _) in _packages().items()}


def _package_of(name):
    return _packages().get(name, (None, ""))[1]


class ResolverFactory:
    """Finds resolver classes by name."""

    @staticmethod
    def list_available():
        """{class name: class}: the shipped resolvers, those of installed packages, those defined in Python."""
        from .base import _defined
        from .resolvers import _names, resolver_class

        available = {name: resolver_class(name) for name in _names(laws=False)}
        available.update(_from_packages())
        available.update(_defined)
        return available

    @staticmethod
    def get(name):
        """The class of this name; laws are found too. LookupError with near misses otherwise."""
        from .base import _defined

        if name in _defined:
            return _defined[name]
        available = ResolverFactory.list_available()
        if name in available:
            return available[name]
        from .resolvers import _names, resolver_class

        laws = _names(laws=True)
        if name in laws:
            return resolver_class(name)
        from .errors import LookupError, _input_error

        raise _input_error(f"there is no resolver '{name}'", key=name, found=f"'{name}'",
                           expected=f"one of {', '.join(available)}, or a law",
                           hint=_core._did_you_mean(name, [*available, *laws]), kind=LookupError, id="mlsysim.python.140")
