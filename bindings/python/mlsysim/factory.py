"""ResolverFactory: every resolver by class name: shipped, written in Python, and from installed packages."""

from . import _mlsysim as _core

__all__ = ["ResolverFactory"]

_GROUP = "mlsysim.solvers"
_loaded = None


def _from_packages():
    """Resolvers of the entry points of installed packages, by class name; read once."""
    global _loaded
    if _loaded is None:
        import warnings
        from importlib.metadata import entry_points

        from .base import BaseResolver

        _loaded = {}
        found = entry_points()
        points = found.select(group=_GROUP) if hasattr(found, "select") else found.get(_GROUP, ())
        for point in points:
            try:
                cls = point.load()
            except Exception as error:
                warnings.warn(f"the resolver '{point.name}' of {_GROUP} ({point.value}) cannot be loaded: "
                              f"{type(error).__name__}: {error}", stacklevel=3)
                continue
            if not (isinstance(cls, type) and issubclass(cls, BaseResolver)):
                warnings.warn(f"'{point.name}' of {_GROUP} ({point.value}) is no resolver: it does not derive from "
                              "BaseModel, BaseSolver or BaseOptimizer", stacklevel=3)
                continue
            _loaded[cls.__name__] = cls
    return _loaded


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
