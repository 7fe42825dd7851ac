"""Sliders over a scenario, a law or a resolver: `subject.explore()`.

>>> chat = mlsysim.ask("Llama3_70B", "H100", accelerators=8)
>>> chat.explore("itl", {"batch_size": "1..64*2", "precision": ["bf16", "fp8"]}).result
'itl'

Every position is computed when it is reached. Sliders need ipywidgets; their results do not.
"""

from html import escape

from ._mlsysim import Quantity
from .errors import _input_error

__all__ = ["Explorer"]

_MAIN = ("itl", "step_latency", "latency", "ttft")
_FACTORS = (0.5, 0.625, 0.75, 0.875, 1.0, 1.25, 1.5, 1.75, 2.0)


class Explorer:
    """Values of some inputs, the results there, and a curve over one input. `Subject.explore` makes it.

    Attributes
    ----------
    values : dict
        {input: value}.
    results : dict
        {result: value} at these values.
    result : str
        The main result.
    """

    def __init__(self, subject, result=None, axes=None, show=()):
        self.subject = subject
        known = {name: value for name, value in subject.results.items() if isinstance(value, (Quantity, float, int)) and not isinstance(value, bool)}
        if result is not None and result not in known:
            subject.sensitivity(result)  # refuses it with near misses
        self.result = result or next((name for name in _MAIN if name in known), next(iter(known), None))
        if self.result is None:
            raise _input_error("there is nothing to explore", key="result", found="no result that is a number", expected="a scenario, a law or a resolver",
                               id="mlsysim.python.280")
        self.shown = list(dict.fromkeys([self.result, *([show] if isinstance(show, str) else show), *(name for name in _MAIN if name in known)]))
        self._axes = {name: self._options(name, axis) for name, axis in (axes or self._usual()).items()}
        given = subject.inputs
        self.values = {name: self._nearest(options, given.get(name)) for name, options in self._axes.items()}
        self._begun = self.results
        self._moved = next((name for name, options in self._axes.items() if _is_number(options[0])), None)
        self._widget = None

    def _usual(self):
        axes = {"batch_size": "1..256*2"} if "batch_size" in self.subject.inputs else {}
        levers = self.subject.sensitivity(self.result).levers
        of_machine = [lever for lever in levers if lever.input.startswith("hardware.")]
        for lever in of_machine or levers:
            value = self.subject.inputs.get(lever.input)
            if len(axes) < 3 and lever.elasticity and isinstance(value, Quantity) and lever.input not in axes:
                axes[lever.input] = [value * f for f in _FACTORS]
        return axes

    def _options(self, name, axis):
        """The positions of an axis, as a sweep over it has them."""
        rows = self.subject.sweep({name: axis}, show=[self.result], anything=True)
        found = list(dict.fromkeys(rows[name])) if name in rows else []
        if not found:
            raise _input_error("an axis has no values", key=name, found=repr(axis), expected="a list, or a text such as '1..64*2'", id="mlsysim.python.281")
        unit = self.subject.describe().get(name, ("", ""))[0]
        return [v.to(unit) if isinstance(v, Quantity) and unit else v.item() if hasattr(v, "item") else v for v in found]

    @staticmethod
    def _nearest(options, value):
        if _is_number(options[0]) and isinstance(value, type(options[0])):
            return min(options, key=lambda o: abs(o - value))
        return next((o for o in options if str(o) == str(value) or getattr(o, "name", None) == str(value)), options[0])

    def set(self, **values):
        """Move inputs to other values.

        Parameters
        ----------
        **values
            New values. A dot of a name is written as two underscores.

        Returns
        -------
        Explorer
            The explorer itself.

        Raises
        ------
        InputError
            There is no such slider.

        Examples
        --------
        >>> mlsysim.ask("Llama3_8B", "H100").explore("itl", batch_size=[1, 2, 4]).set(batch_size=4).values
        {'batch_size': 4}
        """
        for name, value in values.items():
            name = name.replace("__", ".") if name not in self._axes else name
            if name not in self._axes:
                raise _input_error("there is no such slider", key=name, found=repr(name), expected=", ".join(self._axes), id="mlsysim.python.282")
            self.values[name] = value
            self._moved = name if _is_number(value) else self._moved
        return self

    @property
    def results(self):
        """{result: value} at the current values; empty where nothing is feasible."""
        rows = self.subject.sweep({name: [value] for name, value in self.values.items()}, show=self.shown)
        if not len(rows) or not rows.feasible[0]:
            return {}
        return {name: rows[name][0] for name in self.shown}

    def plot(self, over=None):
        """Plot the main result over one input.

        Parameters
        ----------
        over : str, optional
            The input; by default the one that moved last.

        Returns
        -------
        Picture

        Examples
        --------
        >>> mlsysim.ask("Llama3_8B", "H100").explore("itl", batch_size=[1, 2, 4]).plot().kind
        'curve'
        """
        over = over or self._moved
        others = {name: [value] for name, value in self.values.items() if name != over}
        return self.subject.sweep({**others, over: self._axes[over]}, show=[self.result]).plot(over, self.result)

    def _repr_html_(self):
        from .notebook import table

        now = self.results
        told = ", ".join(f"{name} {_text(value)}" for name, value in self.values.items())
        if not now:
            return table(self.subject.title, ("", ""), [("nothing is feasible here", "")], told)
        rows = [(name, value, _change(self._begun.get(name), value)) for name, value in now.items()]
        return table(self.subject.title, ("result", "value", "against the start"), rows, told)

    def _shown_html(self):
        html = self._repr_html_()
        if self._moved is None:
            return html
        try:
            return html + self.plot().svg()
        except Exception as error:  # nothing feasible along the axis: the table says so already
            return html + f"<p>{escape(str(error))}</p>"

    @property
    def widget(self):
        """The sliders as a widget of ipywidgets. Raises ImportError if that is not installed."""
        if self._widget is None:
            from .spaces import _needed

            self._widget = self._made(_needed("ipywidgets", "ipywidgets"))
        return self._widget

    def _made(self, ipywidgets):
        page = ipywidgets.HTML(self._shown_html())

        def control(name, options):
            kind = ipywidgets.SelectionSlider if _is_number(options[0]) else ipywidgets.Dropdown
            made = kind(options=[(_text(o), o) for o in options], value=self.values[name], description=name, style={"description_width": "initial"})

            def moved(change):
                self.values[name] = change["new"]
                self._moved = name if _is_number(change["new"]) else self._moved
                page.value = self._shown_html()

            made.observe(moved, names="value")
            return made

        return ipywidgets.VBox([*(control(name, options) for name, options in self._axes.items()), page])

    def _repr_mimebundle_(self, **options):
        return self.widget._repr_mimebundle_(**options)

    def __repr__(self):
        return f"Explorer({self.subject.title!r}, {self.result!r}, {self.values!r})"


def _is_number(value):
    return isinstance(value, (int, float, Quantity)) and not isinstance(value, bool)


def _text(value):
    if isinstance(value, Quantity):
        return str(value)
    return str(getattr(value, "name", None) or (f"{value:.6g}" if isinstance(value, float) else value))


def _change(before, now):
    try:
        ratio = float(now / before)
    except (TypeError, ZeroDivisionError):
        return ""
    return "" if ratio == 1 else f"{100 * (ratio - 1):+.1f} %"
