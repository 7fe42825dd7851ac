"""QuantityArray: a float64 numpy array with a unit. numpy is imported when the first one is made."""

import operator

from ._mlsysim import Quantity, _canonical_unit, _reduced_unit, _unit_factor
from .errors import DimensionError, _input_error
from .units import Unit

__all__ = ["QuantityArray"]


def _exponents(unit):
    return _reduced_unit(unit)[1]


def _operators(name):
    """An operator of an array with another value, and of another value with it."""
    return lambda self, other: _operate(name, self, other), lambda self, other: _operate(name, other, self)


def _comparison(compare):
    return lambda self, other: compare(self.magnitude, _as_array(other).m_as(self._unit))


class QuantityArray:
    """Array of numbers in one unit.

    Sums keep the left unit. Products and quotients are in the canonical base unit of their dimension.

    Parameters
    ----------
    values : array_like, list of Quantity or list of str
        Numbers, or quantities of one dimension. A float64 array is not copied.
    unit : str, optional
        Unit of the numbers; by default that of the first quantity, else none.

    Attributes
    ----------
    magnitude : numpy array
        The numbers.

    Raises
    ------
    UnitError
        The unit is not known.
    DimensionError
        The quantities have different dimensions.
    InputError
        The numbers are complex.

    Examples
    --------
    >>> QuantityArray([1, 2], "TB/s").m_as("GB/s")
    array([1000., 2000.])
    """

    __slots__ = ("magnitude", "_unit")
    __array_priority__ = 1000
    __array_ufunc__ = None  # numpy leaves mixed arithmetic to this class

    def __init__(self, values, unit=""):
        import numpy as np

        if isinstance(values, QuantityArray):
            values = values.m_as(unit) if unit else values.magnitude
        elif isinstance(values, (list, tuple)) and any(isinstance(v, (Quantity, str)) for v in values):
            quantities = [v if isinstance(v, Quantity) else Quantity(v) for v in values]
            unit = unit or str(quantities[0].units)
            values = [v.m_as(unit) for v in quantities]
        _reduced_unit(unit)  # refuses what is no unit
        if np.iscomplexobj(values):
            raise _input_error("an array of quantities holds real numbers", found="complex numbers",
                               expected="real ones", hint="take .real or abs() first", id="mlsysim.python.106")
        self.magnitude = np.asarray(values, dtype=np.float64)
        self._unit = str(unit)

    @property
    def m(self):
        """The numbers; the same as `magnitude`."""
        return self.magnitude

    @property
    def units(self):
        """The unit. It equals every spelling of the same unit."""
        return Unit(self._unit)

    u = units

    @property
    def shape(self):
        """Extents of the array."""
        return self.magnitude.shape

    @property
    def size(self):
        """Number of elements."""
        return self.magnitude.size

    @property
    def ndim(self):
        """Number of dimensions."""
        return self.magnitude.ndim

    def _factor_to(self, unit):
        mine, other = _reduced_unit(self._unit), _reduced_unit(unit)
        if mine[1] != other[1]:
            raise _input_error(
                "an array cannot be shown in this unit", found=f"'{unit}' for an array in '{self._unit}'",
                expected=f"a unit of the dimension of '{_canonical_unit(mine[1])}'", kind=DimensionError,
                id="mlsysim.python.101")
        (a, b), (c, d) = _unit_factor(self._unit), _unit_factor(unit)
        return a * d, b * c

    def m_as(self, unit):
        """Return the numbers in a unit.

        Parameters
        ----------
        unit : str
            A unit of the same dimension.

        Returns
        -------
        numpy array
            Not a copy if the array has this unit.

        Raises
        ------
        DimensionError
            The unit has another dimension.

        Examples
        --------
        >>> QuantityArray([1.5], "s").m_as("ms")
        array([1500.])
        """
        if unit == self._unit:
            return self.magnitude
        up, down = self._factor_to(unit)
        if up == down:
            return self.magnitude
        return self.magnitude / (down / up) if down >= up else self.magnitude * (up / down)

    def to(self, unit):
        """Convert to another unit.

        Parameters
        ----------
        unit : str
            A unit of the same dimension.

        Returns
        -------
        QuantityArray

        Raises
        ------
        DimensionError
            The unit has another dimension.

        Examples
        --------
        >>> QuantityArray([1.5], "s").to("ms")
        QuantityArray([1500.0], 'ms')
        """
        return QuantityArray(self.m_as(unit), unit)

    def to_base(self):
        """Convert to the canonical base unit of the dimension (s, B, FLOP, J, ...).

        Returns
        -------
        QuantityArray

        Examples
        --------
        >>> QuantityArray([2], "GB").to_base()
        QuantityArray([2000000000.0], 'B')
        """
        return self.to(_canonical_unit(_exponents(self._unit)))

    @property
    def base(self):
        """The numbers in the canonical base unit."""
        return self.m_as(_canonical_unit(_exponents(self._unit)))

    def __len__(self):
        return len(self.magnitude)

    def __getitem__(self, index):
        picked = self.magnitude[index]
        return QuantityArray(picked, self._unit) if getattr(picked, "ndim", 0) else Quantity(float(picked), self._unit)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype=None, copy=None):
        if any(_exponents(self._unit)):
            raise _input_error("an array with a unit is no plain array", found=f"numbers in '{self._unit}'",
                               expected="a dimensionless array", hint=f"say the unit: .m_as('{self._unit}')",
                               kind=DimensionError, id="mlsysim.python.102")
        return self.m_as("") if dtype is None else self.m_as("").astype(dtype)

    def __repr__(self):
        return f"QuantityArray({self.magnitude.tolist()!r}, {self._unit!r})"

    def __str__(self):
        return f"{self.magnitude} {self._unit}".rstrip()

    def _repr_html_(self):
        from .notebook import table

        values = self.magnitude.ravel() if self.magnitude.ndim < 2 else self.magnitude
        rows = ((value,) for value in values.tolist()) if self.magnitude.ndim < 2 else (tuple(row) for row in values.tolist())
        columns = (self._unit or "number",) if self.magnitude.ndim < 2 else tuple(str(k) for k in range(values.shape[-1]))
        return table(f"{' x '.join(map(str, self.magnitude.shape))} {self._unit}".rstrip(), columns, rows)

    def __reduce__(self):
        return (QuantityArray, (self.magnitude, self._unit))

    def _reduced(self, how, axis, dtype, out):
        # numpy's own functions (np.sum) come here with all of its arguments.
        if dtype is not None or out is not None:
            raise _input_error(f"{how} of an array with a unit makes a new array of float64", found="dtype or out",
                               expected="neither", id="mlsysim.python.107")
        values = getattr(self.magnitude, how)(axis=axis)
        return QuantityArray(values, self._unit) if getattr(values, "ndim", 0) else Quantity(float(values), self._unit)

    def sum(self, axis=None, dtype=None, out=None):
        """Sum all elements, or those along an axis.

        Parameters
        ----------
        axis : int, optional
            The axis; all elements without one.
        dtype, out
            For calls by numpy; not supported.

        Returns
        -------
        Quantity or QuantityArray

        Raises
        ------
        InputError
            `dtype` or `out` is given.

        Examples
        --------
        >>> QuantityArray([1, 2], "GB").sum() == mlsysim.q("3 GB")
        True
        """
        return self._reduced("sum", axis, dtype, out)

    def mean(self, axis=None, dtype=None, out=None):
        """Average all elements, or those along an axis.

        Parameters
        ----------
        axis : int, optional
            The axis; all elements without one.
        dtype, out
            For calls by numpy; not supported.

        Returns
        -------
        Quantity or QuantityArray

        Raises
        ------
        InputError
            `dtype` or `out` is given.

        Examples
        --------
        >>> QuantityArray([1, 3], "GB").mean() == mlsysim.q("2 GB")
        True
        """
        return self._reduced("mean", axis, dtype, out)

    def min(self, axis=None, out=None):
        """Find the smallest element, or those along an axis.

        Parameters
        ----------
        axis : int, optional
            The axis; all elements without one.
        out
            For calls by numpy; not supported.

        Returns
        -------
        Quantity or QuantityArray

        Raises
        ------
        InputError
            `out` is given.

        Examples
        --------
        >>> QuantityArray([1, 3], "GB").min() == mlsysim.q("1 GB")
        True
        """
        return self._reduced("min", axis, None, out)

    def max(self, axis=None, out=None):
        """Find the largest element, or those along an axis.

        Parameters
        ----------
        axis : int, optional
            The axis; all elements without one.
        out
            For calls by numpy; not supported.

        Returns
        -------
        Quantity or QuantityArray

        Raises
        ------
        InputError
            `out` is given.

        Examples
        --------
        >>> QuantityArray([1, 3], "GB").max() == mlsysim.q("3 GB")
        True
        """
        return self._reduced("max", axis, None, out)

    def argmin(self, axis=None, out=None):
        """Find the index of the smallest element, or the indices along an axis.

        Parameters
        ----------
        axis : int, optional
            The axis; all elements without one.
        out : numpy array, optional
            Array for the indices along the axis.

        Returns
        -------
        int or numpy array

        Examples
        --------
        >>> QuantityArray([1, 3], "GB").argmin()
        0
        """
        return self.magnitude.argmin(axis=axis, out=out) if axis is not None else int(self.magnitude.argmin())

    def argmax(self, axis=None, out=None):
        """Find the index of the largest element, or the indices along an axis.

        Parameters
        ----------
        axis : int, optional
            The axis; all elements without one.
        out : numpy array, optional
            Array for the indices along the axis.

        Returns
        -------
        int or numpy array

        Examples
        --------
        >>> QuantityArray([1, 3], "GB").argmax()
        1
        """
        return self.magnitude.argmax(axis=axis, out=out) if axis is not None else int(self.magnitude.argmax())

    def __neg__(self):
        return QuantityArray(-self.magnitude, self._unit)

    __mul__, __rmul__ = _operators("mul")
    __truediv__, __rtruediv__ = _operators("div")
    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("sub")

    def __eq__(self, other):
        import numpy as np

        other = _as_array(other)
        if _exponents(self._unit) != _exponents(other._unit):
            return np.zeros(np.broadcast(self.magnitude, other.magnitude).shape, dtype=bool)
        return self.magnitude == other.m_as(self._unit)

    def __ne__(self, other):
        return ~self.__eq__(other)

    __lt__, __le__, __gt__, __ge__ = map(_comparison, (operator.lt, operator.le, operator.gt, operator.ge))

    __hash__ = None


def _as_array(value):
    if isinstance(value, QuantityArray):
        return value
    if isinstance(value, Quantity):
        return QuantityArray(value.magnitude, str(value.units))
    return QuantityArray(value, "")


def _operate(name, left, right):
    a, b = _as_array(left), _as_array(right)
    if name in ("add", "sub"):
        unit = a._unit
        other = b.m_as(unit)
        return QuantityArray(a.magnitude + other if name == "add" else a.magnitude - other, unit)
    one_a, one_b = Quantity(1.0, a._unit or None), Quantity(1.0, b._unit or None)
    factor = one_a * one_b if name == "mul" else one_a / one_b
    # A plain number leaves the unit as it is.
    if not any(_exponents(b._unit)) and b._unit == "":
        return QuantityArray(a.magnitude * b.magnitude if name == "mul" else a.magnitude / b.magnitude, a._unit)
    if name == "mul" and a._unit == "":
        return QuantityArray(a.magnitude * b.magnitude, b._unit)
    values = a.magnitude * b.magnitude if name == "mul" else a.magnitude / b.magnitude
    return QuantityArray(values * factor.base, str(factor.to_base().units))
