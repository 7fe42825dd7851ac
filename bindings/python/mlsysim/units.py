"""Quantities and their units."""

from ._mlsysim import Quantity, _reduced_unit, _unit_spellings

__all__ = ["Q_", "q", "Quantity", "Unit", "spellings"]


class Unit(str):
    """Unit as a text that equals every other spelling of the same unit.

    Its hash differs from that of its text. Use `str(unit)` as the key of a dict.

    Examples
    --------
    >>> Unit("TFLOP/s") == "TFLOPs/s"
    True
    """

    __slots__ = ()

    def _reduced(self):
        return _reduced_unit(str.__str__(self))[1:]

    def __eq__(self, other):
        if not isinstance(other, str):
            return NotImplemented
        if str.__eq__(self, other):
            return True
        from .errors import UnitError

        try:
            return self._reduced() == _reduced_unit(str(other))[1:]
        except UnitError:
            return False

    def __mul__(self, other):
        """Unit("GB") * 3 is 3 GB, and not the text three times; the product of two units is a unit."""
        return self._joined("*", other) if isinstance(other, Unit) else self._times(other, lambda one: other * one)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self._joined("/", other) if isinstance(other, Unit) else self._times(other, lambda one: one / other)

    def __rtruediv__(self, other):
        return self._times(other, lambda one: other / one)

    def _joined(self, sign, other):
        text = str.__str__(other)
        if sign == "/":  # the signs of what is divided by turn round
            text = text.translate({ord("*"): "/", ord("/"): "*"})
        return Unit(f"{str.__str__(self)}{sign}{text}")

    def _times(self, other, operate):
        if isinstance(other, bool) or not isinstance(other, (int, float, Quantity)):
            return NotImplemented
        return operate(Quantity(1, str.__str__(self)))

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self):
        return hash(self._reduced())

    def __repr__(self):
        return f"Unit({str.__repr__(self)})"

    def __str__(self):
        return str.__str__(self)

    def __reduce__(self):
        return (Unit, (str.__str__(self),))


def q(value, unit=None):
    """Make a quantity, or an array of quantities.

    Parameters
    ----------
    value : str, float, Quantity, list or array
        "3.35 TB/s", a number, or several of them.
    unit : str, optional
        Unit of a number; none by default. A quantity is shown in it.

    Returns
    -------
    Quantity or QuantityArray

    Raises
    ------
    UnitError
        The text or unit cannot be read.
    DimensionError
        A quantity has another dimension than `unit`.

    Examples
    --------
    >>> q("2 GB") / q("1 GB/s") == q(2, "s")
    True
    """
    if isinstance(value, (str, int, float, Quantity)):
        return Quantity(value, unit)
    if isinstance(value, (list, tuple)) or getattr(value, "ndim", 0):
        from .arrays import QuantityArray

        return QuantityArray(value, "" if unit is None else unit)
    return Quantity(value, unit)


Q_ = q


def spellings():
    """List every unit that a text can use, with its prefixes.

    Returns
    -------
    list

    Examples
    --------
    >>> "s" in {str(name) for names in spellings() for name in (names if isinstance(names, tuple) else [names])}
    True
    """
    return _unit_spellings()
