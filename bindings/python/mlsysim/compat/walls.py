"""The 22 walls, as the library lists them."""

from collections import namedtuple
from types import SimpleNamespace

from .. import _mlsysim as _core
from ..choices import Choice

__all__ = ["Wall", "wall", "walls_for_resolver", "walls_in_domain", "taxonomy"]

Wall = namedtuple("Wall", "number name domain resolver_name constraint equation")


def _all():
    return [Wall(number, Choice(name), Choice(domain), resolvers[0] if resolvers else "", constraint, equation)
            for number, name, domain, constraint, equation, resolvers in _core._walls()]


def wall(number):
    """One wall. KeyError outside of 1 to 22."""
    for one in _all():
        if one.number == number:
            return one
    raise KeyError(number)


def walls_for_resolver(name):
    """The walls that a resolver covers."""
    return [wall(number) for number in _core._resolver(name).walls]


def walls_in_domain(domain):
    """The walls of a domain: node, data, algorithm, fleet, operations or analysis."""
    return [one for one in _all() if one.domain == getattr(domain, "value", domain)]


def taxonomy():
    """All walls as lines of text."""
    lines, domain = [], None
    for one in _all():
        if one.domain != domain:
            domain = one.domain
            lines += ["", f"Domain: {domain}"]
        lines += [f"  Wall {one.number:2d}: {one.name:<17} {one.resolver_name}", f"           {one.constraint}"]
    return "\n".join(lines[1:])


def __getattr__(name):
    """ALL_WALLS, `Domain` with the domains as members, and each wall by its name: TAIL_LATENCY."""
    if name in ("WALLS", "ALL_WALLS"):
        return _all()
    if name == "Domain":
        return SimpleNamespace(**{one.domain.upper(): one.domain for one in _all()})
    for one in _all():
        if one.name.upper().replace(" ", "_").replace("-", "_") == name:
            return one
    raise AttributeError(f"module 'mlsysim.compat.walls' has no attribute '{name}'")
