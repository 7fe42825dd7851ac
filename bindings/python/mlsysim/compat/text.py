"""Numbers for prose: fmt_* functions as rows of one formatter (factor, decimals, text before, text after).

A figure that would vanish ("0.0" for 0.004) or claim digits that it has not is an error, as in the other package.
"""

from .._mlsysim import Quantity

_BACKSLASH = chr(92)
_SCALES = {None: (1, ""), "K": (1e3, "K"), "M": (1e6, "M"), "B": (1e9, "B"), "T": (1e12, "T")}
_ROWS = {
    "fmt_int": {"precision": 0, "round": True},
    "fmt_usd": {"precision": 0, "before": _BACKSLASH + "$"},
    "fmt_percent": {"factor": 100, "precision": None, "styles": {None: "", "prose": " percent", "symbol": "%"}},
    "fmt_pp": {"precision": None, "after": " percentage points"},
    "fmt_multiple": {"precision": None, "after": "×"},
    "fmt_ratio": {"precision": 1, "commas": False},
    "fmt_count": {"precision": 0},
    "fmt_params": {"precision": None, "auto": True},
    "fmt_tokens": {"precision": None, "auto": True},
    "fmt_val": {"precision": 1},
}
# The unit is the one that gives the shortest number; the last one is for everything larger.
_UNITS = {
    "fmt_latency": "ns us ms s", "fmt_memory": "B kB MB GB TB PB", "fmt_memory_capacity": "B kB MB GB TB PB",
    "fmt_bandwidth": "B/s kB/s MB/s GB/s TB/s", "fmt_flops": "FLOP kFLOP MFLOP GFLOP TFLOP PFLOP EFLOP ZFLOP",
    "fmt_flop_rate": "FLOP/s GFLOP/s TFLOP/s PFLOP/s EFLOP/s", "fmt_power": "mW W kW MW GW", "fmt_energy": "J Wh kWh MWh GWh",
}

__all__ = ["MarkdownStr", "fmt", "fmt_qty", "fmt_time", "check", *_ROWS, *_UNITS]


class MarkdownStr(str):
    """A text that a document inserts as it is."""

    def _repr_markdown_(self):
        return str(self)


def fmt(quantity, unit=None, precision=1, commas=True, prefix="", suffix="", approx=False, trim_trailing_zeros=False):
    """A number, or a quantity in `unit`, with so many decimals."""
    value = quantity.m_as(str(unit)) if unit is not None and isinstance(quantity, Quantity) else float(
        quantity.magnitude if isinstance(quantity, Quantity) else quantity)
    if precision is None:
        precision, trim_trailing_zeros = 0 if float(value).is_integer() else 1, True
    text = f"{value:{',' if commas else ''}.{precision}f}"
    if value and not float(text.replace(",", "")):
        raise ValueError(f"{value} would be shown as '{text}': ask for more decimals")
    if trim_trailing_zeros and "." in text:
        text = text.rstrip("0").rstrip(".")
    return MarkdownStr(f"{'~' if approx else ''}{prefix}{text}{suffix}")


def fmt_qty(quantity, display_unit=None, *, unit=None, precision=1, commas=False, **how):
    """A quantity in a unit, which follows the number."""
    shown = str(display_unit if display_unit is not None else unit if unit is not None else quantity.units)
    return fmt(quantity, shown, precision, commas, suffix=f" {shown}", **how)


fmt_time = fmt_qty


def check(condition, message):
    """ValueError with `message` unless the condition holds."""
    if not condition:
        raise ValueError(message)


def _plain(row):
    def shown(value, precision=row["precision"], commas=row.get("commas", True), style=None, scale=None, **how):
        number = float(value.base if isinstance(value, Quantity) else value) * row.get("factor", 1)
        if row.get("auto") and scale in (None, "auto"):
            scale = next((key for key in ("T", "B", "M", "K") if abs(number) >= _SCALES[key][0]), None)
        divisor, letter = _SCALES[scale]
        number /= divisor
        if row.get("round"):
            number = int(abs(number) + 0.5) * (1 if number >= 0 else -1)
        after = row.get("styles", {}).get(style, row.get("after", ""))
        return fmt(number, None, precision, commas, prefix=row.get("before", ""), suffix=letter + after, **how)

    return shown


def _scaled(units):
    def shown(quantity, *, unit=None, precision=None, **how):
        if not isinstance(quantity, Quantity):
            quantity = Quantity(quantity, units[0])
        fitting = unit or next((u for u in reversed(units) if abs(quantity.m_as(u)) >= 1), units[0])
        return fmt_qty(quantity, fitting, precision=precision, **how)

    return shown


def __getattr__(name):
    if name in _ROWS:
        made = _plain(_ROWS[name])
    elif name in _UNITS:
        made = _scaled(_UNITS[name].split())
    else:
        raise AttributeError(f"module 'mlsysim.compat.text' has no attribute '{name}'")
    made.__name__ = made.__qualname__ = name
    globals()[name] = made
    return made
