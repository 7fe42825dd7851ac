"""Numbers with their provenance, as the other package makes them by hand: Provenance, ProvenanceKind, sourced, sourced_qty."""

from dataclasses import dataclass
from enum import Enum
from typing import Optional

__all__ = ["Provenance", "ProvenanceKind", "Sourced", "sourced", "sourced_qty"]

ProvenanceKind = Enum("ProvenanceKind", {kind.upper(): kind for kind in (
    "datasheet", "literature", "industry_report", "convention", "estimate", "derived", "illustrative", "heuristic")}, type=str)


@dataclass(frozen=True)
class Provenance:
    """How a number is known."""

    kind: ProvenanceKind
    ref: str
    url: Optional[str] = None
    verified: Optional[str] = None
    notes: Optional[str] = None
    id: Optional[str] = None


class Sourced(float):
    """A number with its provenance."""

    def __new__(cls, value, provenance, name="", description=""):
        out = super().__new__(cls, value)
        out.provenance, out.name, out.description = provenance, name, description
        return out

    source = property(lambda self: self.provenance.ref)
    url = property(lambda self: self.provenance.url)
    value = magnitude = property(float)


def sourced(value, provenance, *, name="", description=""):
    """A number with its provenance."""
    return Sourced(value, provenance, name, description)


def sourced_qty(value, provenance, *, name="", description=""):
    """A quantity; its provenance stays with the caller, as quantities carry none."""
    return value
