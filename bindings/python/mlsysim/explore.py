"""Questions about a setup: what a result depends on, which input meets a condition, which plan is best.

>>> import mlsysim
>>> chat = mlsysim.ask("Llama3_70B", "H100", accelerators=8)
>>> chat.itl < mlsysim.q("30 ms")
True
>>> chat.solve("itl <= 15 ms", "batch_size").at_value <= mlsysim.q("15 ms")
True
"""

from . import _mlsysim as _core
from .answers import Difference, Explanation, Intervals, Lever, Sensitivity, Solution, Uncertainty
from .arguments import with_load
from .base import BaseResolver
from .errors import _input_error
from .spaces import Exploration, FoundPoint, Sweep
from .stages import Stage, publish
from .subject import Subject

__all__ = ["Difference", "Explanation", "Exploration", "FoundPoint", "Intervals", "Lever", "Sensitivity", "Solution", "Subject", "Sweep", "Uncertainty", "ask"]


def ask(what=None, hardware=None, **options):
    """Describe a setup to evaluate, vary or optimize.

    Parameters
    ----------
    what : Workload, str, resolver or law
        A model or its name, a resolver (class, object or name), or a law of `mlsysim.laws` or `mlsysim.law`.
        The keyword `model` says the same.
    hardware : HardwareNode, Fleet or str, optional
        The device or fleet that runs the model.
    **options
        Fields of a scenario (`SystemEvaluator.options()` lists unit, meaning and default of each), or the inputs of the resolver.
        `traffic_file`, a path or a `RecordedTraffic`, supplies lengths and arrivals that are not given.

    Returns
    -------
    Subject
        Its attributes are the results: `ask(...).itl`.

    Raises
    ------
    InputError
        The model or machine is missing or given twice, or a value cannot be read.
    LookupError
        A name is not known; the message lists near misses.

    Notes
    -----
    A resolver written in Python is solved point by point, and its slopes are finite differences (`Subject.exact` is False).
    Its inputs that are numbers or quantities, given or by default, can be varied.

    Examples
    --------
    >>> mlsysim.ask("Llama3_8B", "H100", accelerators=8, batch_size=16).inputs["batch_size"]
    16
    >>> ring = mlsysim.ask("RingAllReduce", message="1 GB", ranks=8, bandwidth="400 GB/s", alpha="5 us")
    >>> ring.time > mlsysim.q("1 ms")
    True
    """
    for name, text in {"what": what, "hardware": hardware, **options}.items():
        if isinstance(text, str) and any("\ud800" <= c <= "\udfff" for c in text):
            raise _input_error(f"'{name}' is no text", key=name, found=ascii(text), expected="whole characters, no lone surrogates",
                               id="mlsysim.python.234")
    if "traffic_file" in options:
        from .traffic import with_traffic

        options = with_traffic(options, _resolver_of(what))
    if what is None:
        what = options.pop("model", None)
    if what is None:
        raise _input_error("there is no question", key="what", found="no model and no resolver", expected="a workload, or a resolver with its inputs",
                           hint="e.g. ask('Llama3_8B', 'H100')", id="mlsysim.python.311")
    subject = _subject_of(what, hardware, options)
    subject._asked = (what, hardware, options)
    return subject


def _subject_of(what, hardware, options):
    resolver = _resolver_of(what)
    if resolver is None and isinstance(what, str) and hardware is None and not {"hardware", "hardware_obj", "fleet"} & set(options):
        resolver = what  # a name beside no machine is that of a resolver
    options = dict(options) if resolver is not None else with_load(options)
    own = getattr(what, "_resolver", None) if type(what).__name__ == "Law" else None
    if own is not None:  # a law of one's own, which no registry knows
        return Subject(_core._ask_resolver(own, {**options, **({} if hardware is None else {"hardware": hardware})}))
    if resolver is not None:
        if hardware is not None:
            options["hardware"] = hardware
        if isinstance(resolver, Stage):
            resolver = resolver.typed(options)
            options = {_core._canonical_key(name): value for name, value in options.items()}
        return Subject(_core._ask_resolver(resolver, options))
    if "workload" in options:
        raise _input_error("the workload is given twice", key="workload", found=f"{what!r} and workload={options['workload']!r}",
                           expected="one of the two", hint="the first argument is the workload, or a resolver with its inputs",
                           id="mlsysim.python.179")
    machine = "fleet" if isinstance(hardware, _core.Fleet) else "hardware"
    if machine in options and hardware is not None:
        raise _input_error("the machine is given twice", key=machine, found=f"{hardware!r} and {machine}={options[machine]!r}", expected="one of the two",
                           id="mlsysim.python.283")
    asked = {"workload": what, machine: hardware, **options}
    return Subject(_core._ask_scenario({k: v for k, v in asked.items() if v is not None}))


def _asked_again(what, hardware, options):
    return ask(what, hardware, **options)


def _resolver_of(what):
    """Name of a resolver or law of the library, or the Stage of one of Python; None for what is no resolver."""
    if isinstance(what, str):
        publish()
        from .factory import ResolverFactory

        known = ResolverFactory.list_available().get(what)
        if known is None:  # a law, a name that is nearly one, or a model
            names = _core._resolver_names()
            return what if what in names or _core._did_you_mean(what, names) else None
        what = known
    kind = what if isinstance(what, type) else type(what)
    if not issubclass(kind, BaseResolver):
        return None
    core = getattr(kind, "_resolver", None)
    return Stage(what) if core is None else core.name
