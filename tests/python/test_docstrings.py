"""Docstrings: numpydoc sections of every public function, class and method, and examples that run."""

import ast
import importlib
import inspect
import os
import subprocess
import sys
import textwrap

import pytest

import mlsysim

MODULES = ("answers", "arrays", "base", "choices", "compiling", "course", "decisions", "engine", "errors", "explore", "factory", "launches", "laws",
           "pictures", "pipelines", "plans", "plugins", "programs", "recording", "registries", "resolvers", "results", "spaces", "specs", "subject",
           "traffic", "units", "validation", "widgets", "zoo")
VERBS = set("""Add Attribute Average Check Compute Connect Convert Copy Create Derive Describe Draw Estimate Evaluate Explain Fill Find Fit Flatten Format Join
Judge List Load Look Make Move Name Plot Predict Raise Rank Read Return Round Run Sample Search Select Show Sum Trace Withdraw Write""".split())
# Methods that functions of another name become.
TOOLS = {"laws": ("_batch", "_gradient", "_bounds", "_invert", "_explain", "_export"), "specs": ("_provenance", "_to_dict", "_replace")}


def members():
    """(name, function or class) of all public ones."""
    for name in MODULES:
        module = importlib.import_module("mlsysim." + name)
        tools = [(tool, getattr(module, tool)) for tool in TOOLS.get(name, ())]
        own = [(n, thing) for n, thing in sorted(vars(module).items()) if not n.startswith("_") and getattr(thing, "__module__", "") == module.__name__]
        for own_name, thing in [*own, *tools]:
            if not (inspect.isclass(thing) or inspect.isfunction(thing)) or hasattr(thing, "_resolver"):
                continue  # the text of a shipped resolver is made from its fields
            yield f"{name}.{own_name}", thing
            for member, value in sorted(vars(thing).items()) if inspect.isclass(thing) else ():
                if not member.startswith("_"):
                    value = getattr(value, "__func__", value)
                    if inspect.isfunction(value) and value.__name__ == "<lambda>":
                        continue
                    if inspect.isfunction(value) or isinstance(value, property):
                        yield f"{name}.{own_name}.{member}", value


def sections(text):
    lines = text.splitlines()
    return {title.strip() for title, rule in zip(lines, lines[1:]) if set(rule.strip()) == {"-"} and len(rule.strip()) == len(title.strip())}


def gives_a_value(function):
    body = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    return any(isinstance(node, (ast.Return, ast.Yield)) and node.value is not None for node in ast.walk(body))


def missing_of_function(function, text):
    have = sections(text)
    missing = [] if text.split()[0].rstrip(".,:;") in VERBS else [f"a first line that begins with a verb, not '{text.split()[0]}'"]
    wanted = ["Examples"]
    if [p for p in inspect.signature(function).parameters if p not in ("self", "cls")]:
        wanted.append("Parameters")
    if gives_a_value(function):
        wanted.append("Returns")
    missing += [section for section in wanted if section not in have]
    if "Examples" in have and ">>>" not in text.partition("Examples\n")[2]:
        missing.append("an example")
    return missing


def missing(thing):
    """What a docstring lacks."""
    text = thing.__doc__ or ""
    text = inspect.cleandoc(text)
    if not text:
        return ["a docstring"]
    if inspect.isclass(thing):
        made = inspect.isfunction(vars(thing).get("__init__"))
        return ["Parameters, Attributes or Examples"] if made and not sections(text) & {"Parameters", "Attributes", "Examples"} else []
    return [] if isinstance(thing, property) else missing_of_function(thing, text)


def test_public_names_have_docstrings_in_numpydoc_form():
    found = dict(members())
    assert len(found) > 200
    faults = {name: lacks for name, thing in found.items() if (lacks := missing(thing))}
    assert not faults


@pytest.mark.parametrize("name", ["ask", "size", "decide", "claim", "law", "read_program", "read_traffic", "import_model", "q"])
def test_functions_of_the_package_have_all_sections(name):
    assert {"Parameters", "Returns", "Raises", "Examples"} <= sections(inspect.cleandoc(getattr(mlsysim, name).__doc__))


def test_shipped_resolvers_and_laws_have_sections():
    for name in [*mlsysim.resolvers.__all__, *mlsysim.laws.names()]:
        text = mlsysim.resolvers.resolver_class(name).__doc__
        assert {"Parameters", "Returns"} <= sections(text) and text.split()[0] in VERBS, name


RUN = """
import doctest, importlib, sys
import mlsysim

failed = tried = 0
for name in sys.argv[1:]:
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder().find(module, extraglobs={"mlsysim": mlsysim}):
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
        outcome = runner.run(test)
        failed, tried = failed + outcome.failed, tried + outcome.attempted
print(tried, "examples,", failed, "failed")
sys.exit(failed > 0 or tried < 200)
"""


def test_examples_run(tmp_path):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", RUN, "mlsysim", *("mlsysim." + name for name in MODULES)], cwd=tmp_path, text=True,
                          capture_output=True, check=False, env={**os.environ, "COLUMNS": "120"})
    assert done.returncode == 0, done.stdout + done.stderr
