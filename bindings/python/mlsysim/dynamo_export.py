"""Writes explain documents (mlsysim.dynamo_explain/1) from a live PyTorch: what `mlsysim compile ingest` reads.

    python -m mlsysim.dynamo_export mypackage.mymodule:make --family Audio --name facebook/mms-tts-rus -o explain.json
    python -m mlsysim.dynamo_export --text saved.txt --name facebook/mms-tts-rus -o explain.json

`make` is called without arguments and returns (model, args) or (model, args, kwargs). A saved text is what
`print(torch._dynamo.explain(model)(*args))` gave, and needs no torch. Inside a program:

    document = dynamo_export.document_of(torch._dynamo.explain(model)(*args), name="facebook/mms-tts-rus")

Pure Python: needs torch only when a model is explained, and nothing else of this package, so that the one file can be
copied to where the models are. No memory address and no path above a package folder is written.
"""

import argparse
import importlib
import json
import os
import platform
import re
import stat
import sys

__all__ = ["SCHEMA", "document_of", "document_of_text", "explain", "failure", "main"]

SCHEMA = "mlsysim.dynamo_explain/1"
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{4,}|0x[0-9a-fA-F]{6,}")
_HOME = re.compile(r"/(?:home|Users)/[^/\s'\"]+|/root(?=/)")
_LEAD = re.compile(r"Encountered graph break [^\n]*\n\n+")  # which instruction was traced, before the break itself
_FRAME = re.compile(r"\s*<FrameSummary file (.*), line (\d+) in (.*)>")
_PAGE = re.compile(r"/gb/gb(\d+)\.html")


def _clean(text):
    """A text without memory addresses and home folders."""
    return _HOME.sub("~", _ADDRESS.sub("", text))


def _short(path):
    """A path below its package folder; home folders do not pass."""
    path = str(path or "").replace(os.sep, "/")
    for lead in ("site-packages/", "dist-packages/"):
        if lead in path:
            return path.rsplit(lead, 1)[1]
    path = _HOME.sub("", path, count=1)
    return "/".join([part for part in path.split("/") if part][-3:])


def _parts(text):
    """Type, explanation, hints and context of a reason as versions from 2.7 on write it."""
    text = _LEAD.sub("", text, count=1) if text.startswith("Encountered") else text
    out = {"type": text.split("\n", 1)[0].strip(), "explanation": "", "hints": [], "context": ""}
    for line in text.split("\n")[1:]:
        line = line.strip()
        if "another graph break occurred" in line:
            break
        for lead, key in (("Explanation:", "explanation"), ("Hint:", "hints"), ("Developer debug context:", "context")):
            if line.startswith(lead):
                value = line[len(lead):].strip()
                out[key] = [*out["hints"], value] if key == "hints" else value
    page = _PAGE.search(text)
    out["gb_id"] = f"GB{page[1]}" if page else None
    return out


def _break(index, reason):
    text = _clean(str(reason.reason))
    stack = [{"file": _short(frame.filename), "line": frame.lineno or 0, "function": frame.name,
              "code": (frame.line or "").strip() or None} for frame in reason.user_stack or ()]
    return {"index": index, "reason": text, **_parts(text), "graph_break": bool(getattr(reason, "graph_break", True)),
            "stack": stack}


def _op_name(op):
    return _ADDRESS.sub("", op if isinstance(op, str) else getattr(op, "__name__", None) or str(op))


def _graph(index, ops):
    counts = {}
    for op in ops:
        name = _op_name(op)
        counts[name] = counts.get(name, 0) + 1
    return {"index": index, "ops": [{"name": name, "count": n} for name, n in sorted(counts.items())],
            "op_count": sum(counts.values()), "code": None}


def _guards(guards):
    counts = {}
    for guard in guards or ():
        create = getattr(guard, "create_fn_name", None)
        name = create() if callable(create) else str(create or "unknown")
        counts[name] = counts.get(name, 0) + 1
    return {"count": sum(counts.values()), "by_type": dict(sorted(counts.items()))}


def _times(text):
    """The table of times: a name and its seconds in each row, divided by commas or blanks."""
    phases = {}
    for line in (text or "").splitlines():
        name, *values = re.split(r"[,\s]+", line.strip())
        try:
            numbers = [float(value) for value in values if value]
        except ValueError:
            continue
        if numbers:
            phases[name] = numbers
    total = sum(sum(values) for name, values in phases.items() if "compile_inner" in name)
    return {"unit": "s", "total": total, "phases": phases}


def _producer():
    out = {"tool": "mlsysim.dynamo_export", "python": platform.python_version(), "platform": platform.platform()}
    for package in ("torch", "transformers"):
        module = sys.modules.get(package)
        out[package] = str(module.__version__) if module and hasattr(module, "__version__") else None
    return out


def _frame(name, family, commit, args):
    rows = [{"name": key, "dtype": str(getattr(value, "dtype", type(value).__name__)).replace("torch.", ""),
             "shape": [int(n) for n in getattr(value, "shape", ())]} for key, value in args]
    return {"schema": SCHEMA, "producer": _producer(),
            "model": {"family": family, "name": name, "revision": None, "commit": commit}, "input": {"args": rows}}


def document_of(output, *, name, family=None, commit=None, args=()):
    """A dict from a live ExplainOutput. `args` are (name, tensor) pairs, of which types and shapes are kept."""
    breaks = [_break(i, reason) for i, reason in enumerate(output.break_reasons or ())]
    count = max(0, output.graph_break_count)
    return {**_frame(name, family, commit, args), "status": "ok", "error": None, "graph_count": output.graph_count,
            "graph_break_count": count, "op_count": output.op_count,
            "graphs": [_graph(i, ops) for i, ops in enumerate(output.ops_per_graph or ())], "breaks": breaks,
            "unlisted_breaks": max(0, count - len(breaks)), "guards": _guards(output.out_guards),
            "compile_times": _times(output.compile_times)}


class _Saved:
    """What a saved text holds, under the names that an ExplainOutput has for it."""

    def __init__(self, text):
        self.break_reasons, self.ops_per_graph, self.out_guards, times = [], [], [], []
        counts, section, stack = {}, "", False
        for line in text.splitlines():
            head = re.match(r"(Graph Count|Graph Break Count|Op Count): *(-?\d+)|(Break Reasons|Ops per Graph|Out Guards|Compile Times):", line)
            if head:
                counts[head[1]], section = int(head[2] or 0), head[3] or ""
            elif section == "Break Reasons":
                stack = self._take_break(line, stack)
            elif section == "Ops per Graph":
                if re.match(r"  Ops .*:$", line):
                    self.ops_per_graph.append([])
                elif line.startswith("    ") and self.ops_per_graph:
                    self.ops_per_graph[-1].append(line.strip())
            elif section == "Out Guards" and line.startswith("    Create Function: "):
                self.out_guards.append(_Entry(create_fn_name=line.split(": ", 1)[1]))
            elif section == "Compile Times":
                times.append(line)
        if "Graph Count" not in counts:
            raise ValueError("this is no text of an ExplainOutput: there is no line 'Graph Count: N'")
        self.graph_count, self.graph_break_count, self.op_count = (counts.get(name, 0) for name in ("Graph Count", "Graph Break Count", "Op Count"))
        self.compile_times = "\n".join(times)
        for entry in self.break_reasons:
            entry.reason = entry.reason.rstrip()

    def _take_break(self, line, stack):
        """A line of the breaks; gives whether the stack of the last one has begun."""
        if re.match(r"  Break Reason \d+:$", line):
            self.break_reasons.append(_Entry(reason="", user_stack=[]))
            return False
        if not self.break_reasons:
            return False
        last = self.break_reasons[-1]
        if line.startswith("    ") and line.strip() == "User Stack:":
            return True
        if stack:
            if frame := _FRAME.fullmatch(line):
                last.user_stack.append(_Entry(filename=frame[1], lineno=int(frame[2]), name=frame[3], line=None))
        elif not last.reason and line.strip().startswith("Reason:"):
            last.reason = line.strip()[7:].strip()
        else:
            last.reason += "\n" + line
        return stack


class _Entry:
    def __init__(self, **members):
        vars(self).update(members)


def document_of_text(text, *, name, family=None, commit=None):
    """A dict from a saved `str(ExplainOutput)`. @raises ValueError for another text"""
    return document_of(_Saved(text), name=name, family=family, commit=commit)


def failure(error, *, name, family=None, commit=None):
    """The document of a model that could not be explained: "not run" and "no breaks" look different."""
    text = _clean(f"{type(error).__name__}: {error}")
    return {**_frame(name, family, commit, ()), "status": "failed", "error": text, "graph_count": 0,
            "graph_break_count": 0, "op_count": 0, "graphs": [], "breaks": [], "unlisted_breaks": 0,
            "guards": {"count": 0, "by_type": {}}, "compile_times": {"unit": "s", "total": 0, "phases": {}}}


def explain(model, args, kwargs=None, *, name, family=None, commit=None):
    """Explains a model with torch and gives its document; a model that fails gives the document of its failure."""
    import torch._dynamo

    kwargs = kwargs or {}
    try:
        output = torch._dynamo.explain(model)(*args, **kwargs)
    except Exception as error:  # whatever a model raises is what the document is about
        return failure(error, name=name, family=family, commit=commit)
    named = [(f"args[{i}]", value) for i, value in enumerate(args)] + list(kwargs.items())
    return document_of(output, name=name, family=family, commit=commit, args=named)


def _read_text(path):
    """What is no regular file is refused and not waited for, as by the readers of the library."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), encoding="utf-8", errors="replace") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("no regular file")
        return file.read()


def _check_target(path, force):
    """Whether a document may be written there. @raises ValueError, OSError"""
    if not os.path.lexists(path):
        if not os.path.isdir(os.path.dirname(path) or "."):
            raise ValueError("a file needs a folder that is there")
        return
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise ValueError("a link, or no regular file; name the file that it leads to, or choose another")
    if not force:
        with open(path, encoding="utf-8", errors="replace") as file:
            head = file.read(4096)
        if f'"schema": "{SCHEMA}"' not in head:
            raise ValueError("the file exists, and is no such document; choose another name, or add --force")


def _write(path, text, force):
    """Writes beside, then gives the name: a document is there whole or not at all, as by the writer of the library."""
    _check_target(path, force)
    beside, new = f"{path}.{os.getpid()}.part", not os.path.lexists(path)
    made = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with open(made, "w", encoding="utf-8") as file:
            if not new:
                os.fchmod(made, stat.S_IMODE(os.lstat(path).st_mode))
            file.write(text)
            file.flush()
            os.fsync(made)
        if new:
            os.link(beside, path)  # a name that was free must be so still
        else:
            os.rename(beside, path)
    finally:
        if os.path.lexists(beside):
            os.unlink(beside)
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    except OSError:
        pass  # some file systems cannot, and that is no error
    finally:
        os.close(folder)


def main(words=None):
    parser = argparse.ArgumentParser(prog="python -m mlsysim.dynamo_export", description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", metavar="MODULE:FUNCTION", nargs="?", help="gives (model, args) or (model, args, kwargs)")
    parser.add_argument("--text", metavar="FILE", help="a saved text of an ExplainOutput in place of a model; needs no torch")
    parser.add_argument("--name", required=True, help="of the model")
    parser.add_argument("--family")
    parser.add_argument("--commit", default=os.environ.get("GIT_COMMIT") or os.environ.get("GITHUB_SHA") or None)
    parser.add_argument("-o", "--output", default="-", help="file; standard output where it is left out")
    parser.add_argument("--force", action="store_true", help="replace a file that is no such document")
    asked = parser.parse_args(words)
    if (asked.what is None) == (asked.text is None):
        parser.error("expected MODULE:FUNCTION or --text FILE")
    names = {"name": asked.name, "family": asked.family, "commit": asked.commit}
    if asked.output != "-":
        try:  # before a model is explained, which takes long
            _check_target(asked.output, asked.force)
        except (OSError, ValueError) as error:
            parser.error(f"{asked.output}: {error}")
    if asked.text is not None:
        try:
            document = document_of_text(_read_text(asked.text), **names)
        except (OSError, ValueError) as error:
            parser.error(f"{asked.text}: {error}")
    else:
        module, _, function = asked.what.partition(":")
        if not function:
            parser.error(f"expected MODULE:FUNCTION, found '{asked.what}'")
        sys.path.insert(0, os.getcwd())
        document = explain(*getattr(importlib.import_module(module), function)(), **names)
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if asked.output == "-":
        sys.stdout.write(text)
    else:
        try:
            _write(asked.output, text, asked.force)
        except (OSError, ValueError) as error:
            parser.error(f"{asked.output}: {error}")
    return 0 if document["status"] == "ok" else 1


if __name__ == "__main__":
    sys.exit(main())
