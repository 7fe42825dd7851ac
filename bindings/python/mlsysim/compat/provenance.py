"""Numbers and entries with their provenance, as the other package makes them by hand."""

from dataclasses import dataclass
from enum import Enum
from typing import Optional

from .._mlsysim import Quantity

__all__ = ["Metadata", "Provenance", "ProvenanceKind", "Sourced", "scalar_value", "sourced", "sourced_qty"]

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


@dataclass(frozen=True)
class Metadata:
    """What the other package keeps with an entry: its provenance, and when it was checked."""

    provenance: Optional[Provenance] = None
    description: Optional[str] = None
    last_verified: Optional[str] = None
    version: Optional[str] = None

    source_label = property(lambda self: self.provenance.ref if self.provenance else None)


class Sourced(float):
    """A number with its provenance."""

    def __new__(cls, value, provenance, name="", description=""):
        out = super().__new__(cls, value)
        out.provenance, out.name, out.description = provenance, name, description
        return out

    source = property(lambda self: self.provenance.ref)
    url = property(lambda self: self.provenance.url)
    value = magnitude = property(float)

    def to(self, unit="dimensionless"):
        """The number as a quantity without a dimension."""
        return Quantity(float(self), "dimensionless").to(unit)


class SourcedQuantity(Quantity):
    """A quantity with its provenance, which no result of arithmetic keeps."""


def sourced(value, provenance, *, name="", description=""):
    """A number with its provenance."""
    return Sourced(value, provenance, name, description)


def sourced_qty(value, provenance, *, name="", description=""):
    """A quantity with its provenance."""
    out = SourcedQuantity(value)
    out.provenance, out.name, out.description = provenance, name, description
    return out


def scalar_value(number):
    """A number without its provenance."""
    return float(number)
