"""The tools: what each is for, what it takes, and what it answers. Plain functions of dicts; nothing here knows the protocol.

Answers are short; `detail` adds assumptions with their sources, every metric and the parts of the memory.
"""

import math
import re
import warnings
from dataclasses import dataclass

from .. import _mlsysim as _core
from .._mlsysim import Quantity
from ..errors import Error, _input_error
from ..files import _read_text
from . import schemas

__all__ = ["Call", "Tool", "all_tools", "refusal"]

_LINES, _ROWS = 40, 50


class Call:
    """What a tool knows of the call: where to report progress."""

    def __init__(self, report=None):
        self._report = report

    def progress(self, done, total, words=""):
        """Tells how far the work is."""
        if self._report:
            self._report(done, total, words)


@dataclass
class Tool:
    """One tool: `run(arguments, call)` gives a dict."""

    name: str
    about: str
    schema: dict
    run: object


def refusal(error):
    """An error of the library as data: the words of the command line, and their parts."""
    if not isinstance(error, Error):
        return {"error": f"{type(error).__name__}: {error}"}
    parts = {name: getattr(error.facts, name) for name in ("id", "key", "found", "expected", "hint") if getattr(error.facts, name)}
    out = {"error": str(error), **parts}
    if error.problems:
        out["problems"] = [problem.message for problem in error.problems]
    return out


def _value(value):
    """A value for a program: a number with its unit, six digits, or what it is."""
    if isinstance(value, Quantity):
        return {"value": _value(value.magnitude), "unit": str(value.units)}
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _value(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_value(inner) for inner in value]
    if hasattr(value, "fields") and hasattr(value, "to_dict"):
        return {name: _value(getattr(value, name)) for name in value.fields()}
    return value if value is None or isinstance(value, (bool, int)) else str(getattr(value, "name", value))


def _assumed(rows, detail):
    return [{"name": name, "value": value, "source": source} for name, value, source in rows] if detail else len(rows)


# Scenarios ------------------------------------------------------------------------------------------------------------

def _subject(arguments):
    """What a question is about: a scenario, or a resolver or law with its inputs."""
    from ..explore import Subject

    if "resolver" in arguments:
        return Subject(_core._ask_resolver(arguments["resolver"], arguments.get("inputs", {})))
    if "scenario" not in arguments:
        raise _input_error("the question is about nothing", key="scenario", found="neither", expected="'scenario', or 'resolver' with 'inputs'",
                           id="mlsysim.python.213")
    return Subject(_core._ask_scenario(dict(arguments["scenario"])))


def _ends(subject, axes, results, level):
    """The intervals of results at one point: for each that tables measure, its ends."""
    found = subject.sweep(axes, results, anything=True, interval=level)
    column = lambda name: {"value": _value(found.columns[name][0].item()), "unit": found.units[name]}  # noqa: E731
    return {name: {"level": level, "lower": column(f"{name}_lower"), "upper": column(f"{name}_upper")}
            for name in results if f"{name}_lower" in found.columns}


def _intervals(subject, results, level):
    """The intervals of results; of all that tables measure where none are named."""
    return _value(subject.intervals(results, level).intervals)


def _evaluate(arguments, call):
    from ..engine import SystemEvaluator

    asked = dict(arguments)
    detail, level = asked.pop("detail", False), asked.pop("interval", None)
    name = asked.pop("name", "scenario")
    scenario, model = dict(asked), asked.pop("workload", None)
    hardware, fleet = asked.pop("hardware", None), asked.pop("fleet", None)
    if fleet is not None:
        asked["fleet"] = fleet
    if hardware is not None:
        asked["hardware_obj"] = hardware
    card = SystemEvaluator.evaluate(name, model, **asked)
    levels = {"feasibility": card.feasibility, "performance": card.performance, "macro": card.macro, **card.further}
    shown = levels if detail else {key: level for key, level in levels.items() if key != "macro"}
    out = {
        "workload": card.workload, "hardware": card.hardware, "mode": card.mode, "load": card.load, "fidelity": card.fidelity,
        "levels": {key: {"status": level.status, "summary": level.summary} for key, level in levels.items()},
        "metrics": {metric: _value(value) for level in shown.values() for metric, value in level.metrics.items()},
        "remedies": [{"change": change, "effect": effect} for change, effect in card.remedies],
        "warnings": list(card.warnings), "assumptions": _assumed(card.assumptions, detail),
    }
    if detail:
        out["memory"] = _value(card.memory)
    if level is not None:
        out["intervals"] = _intervals(_subject({"scenario": scenario}), (), level)
    return out


def _compare(arguments, call):
    sides, result = (_subject(arguments["from"]), _subject(arguments["to"])), arguments["result"]
    found = sides[0].compare(sides[1], result)
    terms = found.terms if arguments.get("detail") else found.terms[:10]
    out = {"result": found.result, "from": _value(found.at_from), "to": _value(found.at_to),
           "terms": [dict(zip(("input", "from", "to", "part", "share"), _value(term))) for term in terms]}
    if "interval" in arguments:
        out["intervals"] = {side: _intervals(one, [result], arguments["interval"]) for side, one in zip(("from", "to"), sides)}
    return out


def _sized(arguments, call):
    """size and decide: the machines of `on` are one or several."""
    from ..decisions import decide, size

    asked = dict(arguments)
    model, on, options = asked.pop("workload"), asked.pop("on"), asked.pop("scenario", {})
    several = isinstance(on, list)
    found = (decide if several else size)(model, on, **asked, **options)
    out = dict(found.to_dict())
    for answer in [out, *(o.get("size", {}) for o in out.get("options", ()))]:
        answer.pop("assumptions", None)
    return out


def _claim(arguments, call):
    from ..decisions import claim

    return claim(arguments["claim"], **arguments.get("scenario", {})).to_dict()


def _solve(arguments, call):
    subject = _subject(arguments)
    found = subject.solve(arguments["condition"], arguments["free"], arguments.get("low"), arguments.get("high"))
    if not found.feasible:
        return {"feasible": False, "reason": found.reason, "smallest_change": found.smallest_change}
    out = {"feasible": True, "free": found.free, "value": _value(found.value), "result_there": _value(found.at_value),
           "ranges": _value(found.ranges), "exhaustive": found.exhaustive, "verification": found.verification}
    if "interval" in arguments:
        out["intervals"] = _ends(subject, {found.free: [found.value]}, [re.match(r"[\w.]+", arguments["condition"])[0]], arguments["interval"])
    return out


def _sensitivity(arguments, call):
    found = _subject(arguments).sensitivity(arguments["result"])
    levers = found.levers if arguments.get("detail") else found.levers[:10]
    return {"result": found.result, "value": _value(found.value), "binding": found.binding,
            "levers": [{"input": one.input, "value": _value(one.value), "elasticity": one.elasticity, "words": one.words} for one in levers]}


def _axes(arguments):
    axes = arguments["axes"]
    return {name: [_entry(name, value) for value in values] if isinstance(values, list) else values for name, values in axes.items()}


def _entry(kind, value):
    """The entry of the zoo where an axis lists names of them."""
    from ..registries import find

    return value if kind not in schemas.REGISTRIES or not isinstance(value, str) else find(kind, value) or schemas.missing(kind, value)


def _sweep(arguments, call):
    found = _subject(arguments).sweep(_axes(arguments), arguments["show"], arguments.get("subject_to", ()), interval=arguments.get("interval", 0))
    names = list(found.columns)
    limit = min(arguments.get("limit", _ROWS), 1000)
    rows = [[_value(found.columns[name][k].item()) for name in names] for k in range(min(limit, len(found)))]
    return {"columns": [{"name": name, "unit": found.units[name]} for name in names], "rows": rows,
            "feasible": [bool(one) for one in found.feasible[:limit]], "points": len(found), "left_out": max(0, len(found) - limit),
            "refused": [{"from_row": first, "reason": reason} for first, reason in found.skipped[:limit]]}


def _optimize(arguments, call):
    def told(done, total, rate, left):
        call.progress(done, total, f"{rate:.3g} points/s, {left:.0f} s left")

    what = {name: arguments[name] for name in ("minimize", "maximize", "subject_to", "show", "top", "strategy") if name in arguments}
    subject = _subject(arguments)
    found = subject.optimize(_axes(arguments), progress=told, **what)
    best = [{"axes": point.labels, "objectives": _value(point.objectives), "shown": _value(point.shown)} for point in found.best]
    if "interval" in arguments:
        for point in best:
            at = {name: [_entry(name, label)] if name in schemas.REGISTRIES else label for name, label in point["axes"].items()}
            point["intervals"] = _ends(subject, at, [*point["objectives"], *point["shown"]], arguments["interval"])
    return {"best": best,
            "points": found.total, "evaluated": found.evaluated, "feasible": found.feasible, "exactness": found.exactness,
            "why_not": found.infeasible, "method": found.method}


def _explain(arguments, call):
    found = _subject(arguments).explain(arguments["result"])
    lines = str(found).splitlines()
    cut = lines if arguments.get("detail") else lines[:_LINES]
    return {"result": found.result, "value": _value(found.value), "text": "\n".join(cut), "lines_left_out": len(lines) - len(cut)}


# The zoo, measurements, plans -----------------------------------------------------------------------------------------

def _kinds():
    from ..specs import _ZOO_TYPES

    return sorted(_ZOO_TYPES.values())


def _zoo_search(arguments, call):
    from ..registries import _table

    plain = lambda text: re.sub(r"[^a-z0-9]", "", text.casefold())  # noqa: E731
    wanted, rows = plain(arguments.get("text", "")), []
    for kind in [arguments["kind"]] if "kind" in arguments else _kinds():
        for spec, _, name, aliases in _table(kind):
            title = getattr(spec, "title", None) or ""
            if any(wanted in plain(text) for text in (name, title, *aliases)):
                rows.append({"kind": kind, "name": name, **({"title": title} if title else {})})
    limit = arguments.get("limit", _ROWS)
    return {"entries": rows[:limit], "left_out": max(0, len(rows) - limit)}


def _zoo_show(arguments, call):
    from ..registries import find
    from ..results import _jsonable

    kind, name = arguments["kind"], arguments["name"]
    spec = find(kind, name)
    if spec is None:
        schemas.missing(kind, name)
    return {"kind": kind, "name": name, "figures": _jsonable(spec.to_dict()), "source": str(spec.provenance())}


def _validate(arguments, call):
    from .. import validation

    names = arguments.get("tables") or validation.tables()
    out = []
    for k, name in enumerate(names):
        call.progress(k, len(names), name)
        for table in validation.validate(name):
            out.append({"table": name, **{key: _value(table[key]) for key in (table if arguments.get("detail") else ("errors",))}})
    return {"tables": out}


def _check_plan(arguments, call):
    from .. import plans

    if ("plan" in arguments) == ("file" in arguments):
        raise _input_error("a plan is given once", key="plan", found="both or neither", expected="'plan' or 'file'", id="mlsysim.python.215")
    if "plan" in arguments:
        card = plans.check(arguments["plan"])
    else:
        card = plans.check(_read_text(arguments["file"], "a plan file"), arguments["file"])
    if arguments.get("detail"):
        return card
    short = {key: card[key] for key in ("status", "scenario", "feasible", "assertions", "violations", "remedies", "warnings") if key in card}
    return {**short, "levels": {name: {"status": level["status"], "summary": level["summary"]} for name, level in card["levels"].items()}}


def _traffic(arguments, call):
    from ..traffic import read_traffic

    found = read_traffic(arguments["file"], **{key: arguments[key] for key in ("block_tokens", "characters_per_token") if key in arguments})
    out = {"format": found.format, "requests": _value(found.requests)}
    for name, spread, unit in (("prompt", found.prompt, "token"), ("answer", found.answer, "token"), ("gaps", found.gaps, "s")):
        if spread is not None:
            laws = spread.laws if arguments.get("detail") else spread.laws[:1]
            out[name] = {"unit": unit, **{key: _value(getattr(spread, key)) for key in ("count", "mean", "cv", "p50", "p99", "max")},
                         "laws": [{"law": str(law), "distance": _value(law.distance)} for law in laws],
                         "sampling_distance": _value(spread.sampling_distance)}
    if found.rate is not None:
        out["rate"] = _value(found.rate)
    if found.prefixes:
        out["found_in_earlier_prompts"] = _value(found.prefixes["found_share"])
    return {**out, "inputs": found.to_dict()["inputs"], "notes": found.notes}


def _compile_report(arguments, call):
    from ..compiling import ingest

    found = ingest(*arguments["files"], **{key: arguments[key] for key in ("family", "model") if key in arguments})
    limit = _ROWS if arguments.get("detail") else 10
    groups = {name: {"groups": _value(found[name][:limit]), "left_out": max(0, len(found[name]) - limit)} for name in ("by_type", "by_place")}
    return {"files": len(found["records"]), **groups, "notes": _value(found["notes"])}


# Resolvers ------------------------------------------------------------------------------------------------------------

def _available(arguments, call):
    from ..factory import ResolverFactory

    rows = []
    for name, cls in sorted(ResolverFactory.list_available().items()):
        core = getattr(cls, "_resolver", None)
        about = core.about if core else next(iter((cls.__doc__ or "").strip().splitlines()), "")
        rows.append({"name": name, "tier": cls.resolver_type(), "about": about, "origin": _origin(cls)})
    return {"resolvers": rows}


def _origin(cls):
    core = getattr(cls, "_resolver", None)
    return cls.__module__ if core is None else core.origin if "/" in cls.__name__ else "mlsysim"


def _schema_of(cls):
    core = getattr(cls, "_resolver", None)
    if core:
        return schemas.of_fields(core.inputs)
    from ..stages import Stage

    return schemas.of_function(Stage(cls))


def _resolver_schema(arguments, call):
    from ..factory import ResolverFactory

    cls = ResolverFactory.get(arguments["resolver"])
    core = getattr(cls, "_resolver", None)
    outputs = [{"name": row["name"], "unit": row["unit"], "meaning": row["meaning"]} for row in core.outputs] if core else list(
        getattr(cls.produces, "fields", tuple)())
    return {"resolver": cls.__name__, "inputs": _schema_of(cls), "outputs": outputs, "walls": list(cls.walls)}


def _solved(cls, inputs, detail=False):
    core = getattr(cls, "_resolver", None)
    if core:
        result = cls._core_solve(**inputs)
    else:
        from ..stages import Stage

        stage = Stage(cls)
        known = dict(stage.inputs)
        for key in inputs:
            if key not in known:
                raise _input_error(f"{cls.__name__} takes no '{key}'", key=key, found=f"'{key}'", expected=f"some of {', '.join(known)}",
                                   hint=_core._did_you_mean(key, list(known)), id="mlsysim.python.216")
        result = stage.stage.solve(**{stage.parameter_of[key]: schemas.value_of(stage, key, value) for key, value in inputs.items()})
    out = {"result": _value(result)}
    if hasattr(result, "assumptions"):
        out.update(warnings=list(result.warnings), assumptions=_assumed(result.assumptions, detail))
    return out


def _resolve(arguments, call):
    from ..factory import ResolverFactory

    return _solved(ResolverFactory.get(arguments["resolver"]), arguments.get("inputs", {}), arguments.get("detail", False))


def _extensions():
    """A tool for each resolver that did not ship: those of plugins, of installed packages, and of one's own."""
    from ..factory import ResolverFactory

    for name, cls in sorted(ResolverFactory.list_available().items()):
        core = getattr(cls, "_resolver", None)
        if core is not None and "/" not in name:
            continue
        about = core.about if core else (cls.__doc__ or name).strip().splitlines()[0]
        try:
            schema = _schema_of(cls)
        except Exception as error:  # a class that is not finished takes no other tool with it
            warnings.warn(f"{name} is no tool: {type(error).__name__}: {error}", stacklevel=2)
            continue
        yield Tool("resolve_" + re.sub(r"\W", "_", name), f"{about} ({cls.resolver_type()} of {_origin(cls)})", schema,
                   lambda arguments, call, cls=cls: _solved(cls, arguments))


# Schemas --------------------------------------------------------------------------------------------------------------

_DETAIL = {"type": "boolean", "description": "the whole answer with assumptions and sources; short when left out"}
_TEXT, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_BOUND = {"type": ["string", "number"]}


def _object(properties, required=()):
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def all_tools():
    """Every tool, those of resolvers that did not ship included."""
    scenario = schemas.of_fields(_core._scenario_rows())
    subject = {
        "scenario": {"type": "object", "description": "what runs on what: the fields of evaluate; or give 'resolver' with 'inputs'"},
        "resolver": {**_TEXT, "description": "name of a resolver or law, in place of a scenario"},
        "inputs": {"type": "object", "description": "inputs of that resolver, see resolver_schema"},
    }
    result = {**_TEXT, "description": "name of a result, e.g. itl, ttft, step_latency, tco; dots go into parts"}
    axes = {"type": "object", "description": 'names of inputs with their values: lists, or texts such as "1..64*2" and "1 TB/s..8 TB/s:64"'}
    conditions = {**_TEXTS, "description": 'what must hold, e.g. "ttft <= 500 ms"'}
    show = {**_TEXTS, "description": "results to show"}
    both = _object(subject)
    level = {"interval": {"enum": [50, 80, 95], "description": "also the interval that holds this percentage of measurements"}}
    load = {
        "workload": _TEXT, "rate": {**_TEXT, "description": 'requests that arrive, e.g. "10/s"'},
        **{name: {**_TEXT, "description": words} for name, words in (
            ("ttft", 'limit of the first token: "2 s", "p99 2 s"'), ("itl", 'limit of the time between tokens: "30 ms", "p99 40 ms"'),
            ("e2e", 'limit of a whole request: "20 s"'), ("tokens", 'of a training run, e.g. "15T"'), ("within", 'its time, e.g. "90 d"'),
            ("measured", "own measurements: a file"),
            ("measurand", "e.g. token_time"))},
        "disaggregated": {"type": "boolean", "description": "prefill pools too"},
        "scenario": {"type": "object", "description": "further fields of evaluate: seq_len, output_tokens, precision, engine"},
    }
    return [
        Tool("evaluate", "Scorecard of a model on hardware: does it fit, how fast is it, what limits it, what does it cost and emit.",
             _object({**scenario["properties"], **level, "detail": _DETAIL}, scenario["required"]), _evaluate),
        Tool("compare", "Why a result differs between two scenarios, divided among the inputs that differ.",
             _object({"from": both, "to": both, "result": result, **level, "detail": _DETAIL}, ("from", "to", "result")), _compare),
        Tool("size", "How many devices, in what plan, serve a rate of requests within limits, or train in time: proof, interval, cost, launch.",
             _object({**load, "on": {**_TEXT, "description": "the machine"}, "price": {**_TEXT, "description": '"3.2 USD/h" of one device'}},
                     ("workload", "on")), _sized),
        Tool("decide", "Which machine does it at the least cost, how sure that is, what would change it, what to measure next.",
             _object({**load, "on": {**_TEXTS, "description": "the machines"},
                      "price": {"type": "object", "description": 'machine: "3.2 USD/h" of one device'}}, ("workload", "on")), _sized),
        Tool("claim", "Whether a rate of tokens that somebody states can be: impossible, heroic or ordinary.",
             _object({"claim": {**_TEXT, "description": '"Llama3_70B 8xH100 412 token/s/gpu at itl 20 ms"'},
                      "scenario": {"type": "object", "description": "fields of evaluate: seq_len, output_tokens"}}, ("claim",)), _claim),
        Tool("solve", "The value of one input at which a condition is met.",
             _object({**subject, "condition": {**_TEXT, "description": 'e.g. "itl <= 30 ms"'}, "free": {**_TEXT, "description": "the input"},
                      "low": _BOUND, "high": _BOUND, **level}, ("condition", "free")), _solve),
        Tool("sensitivity", "What a result hangs on: elasticities of its inputs, largest first, and what binds.",
             _object({**subject, "result": result, "detail": _DETAIL}, ("result",)), _sensitivity),
        Tool("sweep", "Results at every point of a small space; for large ones use optimize.",
             _object({**subject, "axes": axes, "show": show, "subject_to": conditions, **level,
                      "limit": {"type": "integer", "minimum": 1, "maximum": 1000}}, ("axes", "show")), _sweep),
        Tool("optimize", "The best points of a space under conditions, with a statement of how sure that is.",
             _object({**subject, "axes": axes, "minimize": result, "maximize": result, "subject_to": conditions, "show": show,
                      "top": {"type": "integer", "minimum": 1}, "strategy": _TEXT, **level}, ("axes",)), _optimize),
        Tool("explain", "Where a number comes from, law by law, with sources.",
             _object({**subject, "result": result, "detail": _DETAIL}, ("result",)), _explain),
        Tool("validate", "How far predictions are from published measurements.",
             _object({"tables": {**_TEXTS, "description": "names of measured tables; all when left out"}, "detail": _DETAIL}), _validate),
        Tool("zoo_search", "Entries of the zoo by part of their name: devices, models, fleets, grids, prices.",
             _object({"text": _TEXT, "kind": {"enum": _kinds()}, "limit": {"type": "integer", "minimum": 1}}), _zoo_search),
        Tool("zoo_show", "The figures of one entry of the zoo and where they come from.",
             _object({"kind": {"enum": _kinds()}, "name": _TEXT}, ("kind", "name")), _zoo_show),
        Tool("check_plan", "Scorecard of a plan, and whether its assertions hold.",
             _object({"plan": {"type": "object", "description": "as docs/reference/plan-file.md describes it"},
                      "file": {**_TEXT, "description": "a plan file in a folder that was allowed"}, "detail": _DETAIL}), _check_plan),
        Tool("traffic", "Recorded requests as fitted laws of lengths, gaps and shared prefixes, and what scenarios and resolvers take of them.",
             _object({"file": {**_TEXT, "description": "Mooncake, Azure, ShareGPT, vllm bench or genai-perf, in a folder that was allowed"},
                      "block_tokens": {"type": "number"}, "characters_per_token": {"type": "number"}, "detail": _DETAIL}, ("file",)), _traffic),
        Tool("compile_report", "Graph breaks in what torch.compile left behind (explain documents, logs of TORCH_TRACE), by type and by place.",
             _object({"files": {**_TEXTS, "description": "files or folders, in folders that were allowed"}, "family": _TEXT, "model": _TEXT,
                      "detail": _DETAIL}, ("files",)), _compile_report),
        Tool("list_available", "Every resolver: shipped, of plugins, of installed packages.", _object({}), _available),
        Tool("resolver_schema", "What a resolver or law takes and gives, with units, ranges and defaults.",
             _object({"resolver": _TEXT}, ("resolver",)), _resolver_schema),
        Tool("resolve", "Runs a resolver or law.",
             _object({"resolver": _TEXT, "inputs": {"type": "object"}, "detail": _DETAIL}, ("resolver", "inputs")), _resolve),
        *_extensions(),
    ]
