"""`ureg`, and the units and numbers that `from mlsysim import *` and mlsysim.core.constants bring."""

from .._mlsysim import Quantity
from ..units import Q_, Unit

# Units that our table reads, under the names of the other package; lengths, masses, volts and the like are not used here.
_UNITS = {
    **{name: name for name in (
        "KB MB GB TB PB KiB MiB GiB TiB second minute hour day month year ms flop Gbps param Kparam Mparam Bparam Tparam token Ktoken "
        "Mtoken Btoken joule watt liter L J kJ MJ mJ uJ pJ Wh kWh MWh GWh TWh GW MW kW mW uW USD count byte bit dimensionless Hz kHz MHz "
        "GHz").split()},
    **{f"{p}FLOP{s}": f"{p}FLOP" for p in "KMGTPEZ" for s in ("", "s")},
    **{f"{p}OPS": f"{p}OP/s" for p in ("", "k", "M", "G", "T")},
    "KOPS": "kOP/s", "dollar": "USD", "liter": "L", "millisecond": "ms", "microsecond": "us", "nanosecond": "ns", "MS": "ms", "US": "us",
    "NS": "ns", "MILLISECOND": "ms", "MICROSECOND": "us", "NANOSECOND": "ns", "kilowatt": "kW", "milliwatt": "mW", "megawatt": "MW",
    "gigawatt": "GW", "microwatt": "uW", "kilojoule": "kJ", "microjoule": "uJ", "hertz": "Hz", "kilohertz": "kHz", "megahertz": "MHz",
    "gigahertz": "GHz", "kilobyte": "kB", "megabyte": "MB", "gigabyte": "GB", "megabit": "Mbit", "gigabit": "Gbit", "terabit": "Tbit",
    "watt_hour": "Wh", "kilowatt_hour": "kWh", "megawatt_hour": "MWh", "gigawatt_hour": "GWh", "terawatt_hour": "TWh",
}
_BYTES = {"FP32": 4, "INT32": 4, "INT64": 8, "INT16": 2, "FP16": 2, "INT8": 1, "INT4": 0.5, "ADAM_STATE": 8, "ADAM_MOMENTS": 8,
          "ADAM_TOTAL": 12, "TRAINING_STATE_MIXED_PRECISION": 16}
_NUMBERS = {
    "QUADRILLION": 1e15, "TRILLION": 1e12, "BILLION": 1e9, "MILLION": 1e6, "THOUSAND": 1e3, "HUNDRED": 100, "BITS_PER_BYTE": 8,
    "SECONDS_PER_MINUTE": 60, "MINUTES_PER_HOUR": 60, "SEC_PER_HOUR": 3600, "HOURS_PER_DAY": 24, "SEC_PER_DAY": 86400,
    "DAYS_PER_MONTH": 30, "DAYS_PER_YEAR": 365, "SEC_PER_YEAR": 31536000, "HOURS_PER_YEAR": 8760, "MS_PER_SEC": 1000,
    "US_PER_MS": 1000, "NS_PER_US": 1000, "KIB_TO_BYTES": 2**10, "MIB_TO_BYTES": 2**20, "GIB_TO_BYTES": 2**30,
}

NAMES = ("ureg", *_UNITS, *(f"BYTES_{name}" for name in _BYTES), *_NUMBERS)
__all__ = NAMES


class _Made(type):
    """Of a class that makes quantities, and arrays of them, and that both are instances of."""

    def __call__(cls, value, unit=None):
        return Q_(value, unit)

    def __instancecheck__(cls, value):
        from ..arrays import QuantityArray

        return isinstance(value, (Quantity, QuantityArray))


class _Quantity(metaclass=_Made):
    pass


class UnitSpace:
    """`ureg`: units as attributes, quantities by call: 5 * ureg.GB, ureg("5 GB"), ureg.Quantity(5, "GB")."""

    Quantity = _Quantity
    Unit = Unit

    def __call__(self, text):
        return Quantity(text)

    parse_expression = __call__

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        from ..errors import UnitError

        unit = Unit(_UNITS.get(name, name))
        try:
            unit._reduced()
        except UnitError as error:
            raise AttributeError(str(error)) from None
        return unit

    def __getitem__(self, name):
        return getattr(self, name)

    def __repr__(self):
        return "<the units of mlsysim>"


ureg = UnitSpace()


def normalize_precision(precision):
    """The name of a number format in our spelling. ValueError for one that is not known."""
    from ..resolvers import resolver_class

    row = next(row for row in resolver_class("SingleNodeModel")._resolver.inputs if row["name"] == "precision")
    if not isinstance(precision, str):
        raise TypeError(f"precision must be a text, got {type(precision).__name__}")
    if precision.lower() not in row["choices"]:
        raise ValueError(f"precision '{precision}' is not supported; expected one of {', '.join(row['choices'])}")
    return precision.lower()


def __getattr__(name):
    if name in _UNITS:
        return Unit(_UNITS[name])
    if name in _NUMBERS:
        return _NUMBERS[name]
    if name == "PRECISION_MAP":
        return {"fp32": Quantity(4, "B"), "tf32": Quantity(4, "B"), "int4": Quantity(0.5, "B"),
                **{name: Quantity(2, "B") for name in ("bf16", "fp16")}, **{name: Quantity(1, "B") for name in ("fp8", "int8")}}
    if name.startswith("BYTES_") and name[6:] in _BYTES:
        return Quantity(_BYTES[name[6:]], "B")
    raise AttributeError(f"module 'mlsysim.compat.units' has no attribute '{name}'")
