"""ResolverFactory: resolvers by class name, whether shipped, written in Python or from installed packages."""

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
    """Find resolver classes by name."""

    @staticmethod
    def list_available():
        """List all resolvers.

        Returns
        -------
        dict
            {class name: class}: shipped ones, those of installed packages, and those defined in Python.

        Examples
        --------
        >>> "ServingModel" in mlsysim.ResolverFactory.list_available()
        True
        """
        from .base import _defined
        from .resolvers import _names, resolver_class

        available = {name: resolver_class(name) for name in _names(laws=False)}
        available.update(_from_packages())
        available.update(_defined)
        return available

    @staticmethod
    def get(name):
        """Return the class of a resolver or law.

        Parameters
        ----------
        name : str
            Name of the class.

        Returns
        -------
        class

        Raises
        ------
        LookupError
            There is no such class; the message lists near misses.

        Examples
        --------
        >>> mlsysim.ResolverFactory.get("ServingModel").__name__
        'ServingModel'
        """
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
