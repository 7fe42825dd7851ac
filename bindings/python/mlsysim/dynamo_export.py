"""Writes explain documents (mlsysim.dynamo_explain/1) from a live PyTorch: what `mlsysim graph-breaks ingest` reads.

    python -m mlsysim.dynamo_export mypackage.mymodule:make --family Audio --name facebook/mms-tts-rus -o explain.json
    python -m mlsysim.dynamo_export --text saved.txt --name facebook/mms-tts-rus -o explain.json
    python -m mlsysim.dynamo_export --list hub.json --top 50 --configs configs --jobs 2 -o folder

`make` is called without arguments and returns (model, args) or (model, args, kwargs). A saved text is what
`print(torch._dynamo.explain(model)(*args))` gave, and needs no torch. A list holds ids of a model hub: each model is built
from its configuration by transformers, with random weights and generated inputs. The weights are never loaded and nothing
is downloaded: a configuration lies in the folder of `--configs` or in the cache of transformers. Inside a program:

    document = dynamo_export.document_of(torch._dynamo.explain(model)(*args), name="facebook/mms-tts-rus")

Pure Python: needs torch only when a model is explained, and nothing else of this package, so that the one file can be
copied to where the models are. No memory address and no path above a package folder is written.
"""

import argparse
import concurrent.futures
import glob
import importlib
import importlib.util
import inspect
import itertools
import json
import os
import platform
import re
import select
import stat
import subprocess
import sys
import time
import types

__all__ = ["SCHEMA", "document_of", "document_of_text", "explain", "explain_list", "failure", "listed_models", "main"]

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
    status, error = ("ok", None) if output.graph_count or output.op_count or breaks else ("skipped", "the compiler captured no operator")
    return {**_frame(name, family, commit, args), "status": status, "error": error, "graph_count": output.graph_count,
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
                self.out_guards.append(types.SimpleNamespace(create_fn_name=line.split(": ", 1)[1]))
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
            self.break_reasons.append(types.SimpleNamespace(reason="", user_stack=[]))
            return False
        if not self.break_reasons:
            return False
        last = self.break_reasons[-1]
        if line.startswith("    ") and line.strip() == "User Stack:":
            return True
        if stack:
            if frame := _FRAME.fullmatch(line):
                last.user_stack.append(types.SimpleNamespace(filename=frame[1], lineno=int(frame[2]), name=frame[3], line=None))
        elif not last.reason and line.strip().startswith("Reason:"):
            last.reason = line.strip()[7:].strip()
        else:
            last.reason += "\n" + line
        return stack


def document_of_text(text, *, name, family=None, commit=None):
    """A dict from a saved `str(ExplainOutput)`. @raises ValueError for another text"""
    return document_of(_Saved(text), name=name, family=family, commit=commit)


def failure(error, *, name, family=None, commit=None, status="failed"):
    """The document of a model that could not be explained: "not run" and "no breaks" look different."""
    text = _clean(f"{type(error).__name__}: {error}")
    return {**_frame(name, family, commit, ()), "status": status, "error": text, "graph_count": 0,
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


# Lists of models. One parent writes the documents; its workers hold torch and answer a line of JSON with another.
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers")
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
_ID = re.compile(r"(?:\w[\w.-]*/)?\w[\w.-]*")  # it names files
_CHOSEN = ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k")
_MOST_CHOSEN, _MOST_WORDS, _TOKENS, _SAMPLES = 8, 4096, 16, 16_000  # a small model and a small input break at the same places


def listed_models(path, top=None):
    """The models of a list as a hub gives it, most downloads first; equal ones stay in their order.

    Entries are ids, or objects with `id` or `modelId`, and may have `downloads` and `pipeline_tag`. @raises ValueError
    """
    try:
        entries = json.loads(_read_text(path))
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error}") from None
    found = {}
    for entry in entries if isinstance(entries, list) else ():
        row = {"id": entry} if isinstance(entry, str) else entry if isinstance(entry, dict) else {}
        name, downloads = row.get("id") or row.get("modelId"), row.get("downloads")
        if isinstance(name, str) and name:
            if not _ID.fullmatch(name):
                raise ValueError(f"found the id {name!r}, expected 'name' or 'organization/name'")
            found.setdefault(name, {"name": name, "family": row.get("pipeline_tag") or None,
                                    "downloads": downloads if isinstance(downloads, (int, float)) else 0})
    if not found:
        raise ValueError('no list of models; expected ["org/name", ...] or [{"id": "org/name", "downloads": 12}, ...]')
    return sorted(found.values(), key=lambda model: -model["downloads"])[:top]


def _config_file(name, folder):
    """The configuration of a model in a folder: a file of its name, a folder of its name, or the layout of the hub's cache."""
    flat = name.replace("/", "--")
    tried = [os.path.join(folder, place) for place in (f"{flat}.json", f"{flat}/config.json", f"{name}/config.json")]
    tried += sorted(glob.glob(os.path.join(glob.escape(folder), f"models--{flat}", "snapshots", "*", "config.json")))
    return next((path for path in tried if os.path.isfile(path)), None)


def _reduce(config, said, lead=""):
    """Cuts a configuration to a few layers, experts and words; `said` takes what was cut and from what to what."""
    def cut(key, value):
        said[lead + key] = [getattr(config, key), value]
        setattr(config, key, value)

    kinds = getattr(config, "layer_types", None) or ()
    shortest = max([2, *(kinds.index(kind) + 1 for kind in set(kinds))])  # each kind of layer stays
    for key in _LAYERS:
        whole = vars(config).get(key)
        if isinstance(whole, int) and whole > shortest:
            for name, value in list(vars(config).items()):
                if isinstance(value, list) and len(value) == whole:
                    setattr(config, name, value[:shortest])
            cut(key, shortest)
    chosen = next((vars(config)[key] for key in _CHOSEN if isinstance(vars(config).get(key), int)), _MOST_CHOSEN)
    enough = max(2, chosen, 2 * (vars(config).get("n_group") or 0))
    for key in _EXPERTS:
        if isinstance(vars(config).get(key), int) and vars(config)[key] > enough:
            cut(key, enough)
    if isinstance(vars(config).get("vocab_size"), int) and config.vocab_size > _MOST_WORDS:
        cut("vocab_size", _MOST_WORDS)
        for key, value in list(vars(config).items()):
            if re.search(r"_token_(id|index)$", key) and isinstance(value, int) and value >= _MOST_WORDS:
                setattr(config, key, value % _MOST_WORDS)
    for key, value in list(vars(config).items()):
        if hasattr(value, "to_dict"):
            _reduce(value, said, f"{lead}{key}.")


def _inputs(model, config, torch):
    """Generated inputs, by the names that the model's `forward` has."""
    parts = [config, *(part for part in vars(config).values() if hasattr(part, "to_dict"))]

    def of(key, default, kinds=int):
        return next((value for part in parts if isinstance(value := getattr(part, key, None), kinds)), default)

    def noise(*shape):
        return torch.randn(*shape)

    def words():
        out = torch.randint(0, of("vocab_size", 2), (1, _TOKENS))
        out[0, -1] = of("eos_token_id", 0) % of("vocab_size", 2)  # some classifiers look for the end of the text
        return out

    def image():
        size = of("image_size", 224, (int, list, tuple))
        height, width = size if isinstance(size, (list, tuple)) else (size, size)
        return noise(1, of("num_channels", 3), height, width)

    made = {"input_ids": words, "decoder_input_ids": words, "pixel_values": image, "input_values": lambda: noise(1, _SAMPLES),
            "input_features": lambda: noise(1, of("num_mel_bins", 80), 2 * of("max_source_positions", 1500))}
    taken = inspect.signature(model.forward).parameters
    wanted = [model.main_input_name]
    if getattr(config, "is_encoder_decoder", False):
        wanted.append("decoder_input_ids")
    if hasattr(config, "vision_config") and not any(hasattr(config, f"image_token_{end}") for end in ("id", "index")):
        wanted.append("pixel_values")  # two towers; where images stand among the words, words alone are an input
    wanted = [key for key in dict.fromkeys(wanted) if key in taken]
    if unknown := [key for key in wanted if key not in made] or (not wanted and [model.main_input_name]):
        raise ValueError(f"no input can be generated for {', '.join(unknown)} of {type(model).__name__}")
    return {key: made[key]() for key in wanted}


def _explain_id(name, family, commit, config_file, whole):
    """The document of one model, from its configuration."""
    import torch
    import torch._dynamo
    import transformers

    said = {}
    try:
        config = transformers.AutoConfig.from_pretrained(config_file or name, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # an unknown model type, or none in the cache
        reason = ValueError(f"{'the configuration cannot be read' if config_file else 'no configuration is in the folder of --configs or in the cache of transformers'}: {error}")
        return failure(reason, name=name, family=family, commit=commit, status="failed" if config_file else "skipped")
    try:
        if not whole:
            _reduce(config, said)
        torch.manual_seed(0)
        torch._dynamo.reset()
        named = (getattr(config, "architectures", None) or [None])[0]
        made = getattr(transformers, named, None) if named else transformers.AutoModel.from_config
        if made is None:
            raise ValueError(f"this transformers has no class {named}")
        model = made(config).eval().float()
        inputs = _inputs(model, config, torch)
    except Exception as error:
        return failure(error, name=name, family=family, commit=commit)
    with torch.no_grad():
        document = explain(model, (), inputs, name=name, family=family or getattr(config, "model_type", None), commit=commit)
    document["model"]["reduced"] = said
    return document


def _work():
    """A worker: a line of JSON is a model, and the answer is its document. Whatever a model prints goes to standard error."""
    sys.path.pop(0)  # the folder of this file, whose modules are of a package
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(_explain_id(**json.loads(line))) + "\n")
        answers.flush()


class _Worker:
    """A process that explains one model after another; it is started when it is needed, and ended when it exceeds a limit."""

    def __init__(self, limit_s, limit_bytes):
        self.limit_s, self.limit_bytes, self.process = limit_s, limit_bytes, None

    def resident(self):
        try:
            with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return 0  # the process has ended, or this system has no /proc

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
        self.process = None

    def ask(self, asked):
        """The document of a model. @raises RuntimeError where the process ends, TimeoutError, MemoryError"""
        if self.process is None:
            offline = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
            self.process = subprocess.Popen([sys.executable, __file__, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=offline,
                                            start_new_session=True)
        try:
            self.process.stdin.write(json.dumps(asked).encode() + b"\n")
            self.process.stdin.flush()
            begin, answer = time.monotonic(), b""
            while not answer.endswith(b"\n"):
                if time.monotonic() - begin > self.limit_s:
                    raise TimeoutError(f"not done within {self.limit_s:g} s")
                if self.resident() > self.limit_bytes:
                    raise MemoryError(f"more than {self.limit_bytes / 1e9:g} GB")
                if select.select([self.process.stdout], [], [], 0.05)[0]:
                    piece = os.read(self.process.stdout.fileno(), 1 << 20)
                    if not piece:
                        raise RuntimeError(f"the process ended with {self.process.wait()}")
                    answer += piece
            return json.loads(answer)
        except BaseException:
            self.end()
            raise


def _kept(path, name, retry):
    """Whether a document of this model is there; one that was skipped is made again."""
    try:
        document = json.loads(_read_text(path))
        return document["schema"] == SCHEMA and document["model"]["name"] == name and document["status"] in (("ok",) if retry else ("ok", "failed"))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def explain_list(models, folder, *, configs=None, commit=None, jobs=1, limit_s=600, limit_bytes=16e9, retry=False, whole=False, tell=print):
    """Writes a document of each model into a folder, and keeps those that are there. Gives how many have each status."""
    os.makedirs(folder, exist_ok=True)
    counts, stopped = {}, []

    def note(name, status, said=""):
        counts[status] = counts.get(status, 0) + 1
        tell(f"{name}: {status}{said and ': '}{said}")

    def run(mine, worker):
        try:
            for model in itertools.takewhile(lambda _: not stopped, mine):
                name, path = model["name"], os.path.join(folder, model["name"].replace("/", "--") + ".json")
                if _kept(path, name, retry):
                    note(name, "kept")
                    continue
                named = {"name": name, "family": model["family"], "commit": commit}
                try:
                    document = worker.ask({**named, "config_file": configs and _config_file(name, configs), "whole": whole})
                except (OSError, RuntimeError, MemoryError, ValueError) as error:
                    if stopped:
                        break
                    document = failure(error, **named)
                _write(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n", force=False)
                cut = ", ".join(f"{key} {old} -> {new}" for key, (old, new) in document["model"].get("reduced", {}).items())
                graphs = f"{document['graph_count']} graphs, {document['graph_break_count']} breaks{cut and '; '}{cut}"
                note(name, document["status"], document["error"].split("\n", 1)[0] if document["error"] else graphs)
        finally:
            worker.end()

    queue = iter(models)  # next() of a list's iterator is one step, so that threads share it
    workers = [_Worker(limit_s, limit_bytes) for _ in range(jobs)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            for done in [pool.submit(run, queue, worker) for worker in workers]:
                done.result()
        except BaseException:  # Ctrl-C: models that run are left for the next time
            stopped.append(True)
            for process in [worker.process for worker in workers if worker.process]:
                process.kill()
            raise
    return counts


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


def _main_of_list(asked, parser):
    if asked.output == "-":
        parser.error("a list needs a folder: -o FOLDER")
    if min(asked.jobs, asked.jobs if asked.top is None else asked.top) < 1 or not min(asked.time_limit, asked.memory_limit) > 0:
        parser.error("expected at least 1 for --top and --jobs, and limits above 0")
    if missing := [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]:
        parser.error(f"a list needs torch and transformers; {' and '.join(missing)} cannot be imported here")
    if asked.configs is not None and not os.path.isdir(asked.configs):
        parser.error(f"{asked.configs}: no folder")
    try:
        models = listed_models(asked.list, asked.top)
        counts = explain_list(models, asked.output, configs=asked.configs, commit=asked.commit, jobs=asked.jobs, limit_s=asked.time_limit,
                              limit_bytes=asked.memory_limit * 1e9, retry=asked.retry, whole=asked.whole,
                              tell=lambda text: print(text, file=sys.stderr))
    except (OSError, ValueError) as error:
        parser.error(f"{asked.list}: {error}")
    except KeyboardInterrupt:
        print("interrupted; the same command goes on with the models that are left", file=sys.stderr)
        return 130
    print(f"{', '.join(f'{count} {status}' for status, count in sorted(counts.items()))}; read them with: mlsysim graph-breaks ingest {asked.output}",
          file=sys.stderr)
    return 1 if counts.keys() & {"failed", "skipped"} else 0


def main(words=None):
    parser = argparse.ArgumentParser(prog="python -m mlsysim.dynamo_export", description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", metavar="MODULE:FUNCTION", nargs="?", help="gives (model, args) or (model, args, kwargs)")
    parser.add_argument("--text", metavar="FILE", help="a saved text of an ExplainOutput in place of a model; needs no torch")
    parser.add_argument("--name", help="of the model")
    parser.add_argument("--family")
    parser.add_argument("--commit", default=os.environ.get("GIT_COMMIT") or os.environ.get("GITHUB_SHA") or None)
    parser.add_argument("-o", "--output", default="-", help="file, or folder of a list; standard output where it is left out")
    parser.add_argument("--force", action="store_true", help="replace a file that is no such document")
    many = parser.add_argument_group("lists of models")
    many.add_argument("--list", metavar="FILE", help="ids of a model hub in JSON; needs torch and transformers, and downloads nothing")
    many.add_argument("--top", metavar="N", type=int, help="the first N, most downloads first (default: all)")
    many.add_argument("--configs", metavar="FOLDER", help="config.json of the models: ORG--NAME.json, ORG--NAME/, ORG/NAME/ or a hub cache")
    many.add_argument("--whole", action="store_true", help="build models at their size, not with a few layers, experts and words")
    many.add_argument("--jobs", metavar="N", type=int, default=1, help="models at a time, each in a process (default: 1)")
    many.add_argument("--time-limit", metavar="S", type=float, default=600, help="seconds for a model (default: 600)")
    many.add_argument("--memory-limit", metavar="GB", type=float, default=16, help="memory of a process (default: 16)")
    many.add_argument("--retry", action="store_true", help="run failed models again; documents that are there are kept otherwise")
    many.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(words)
    if asked.worker:
        return _work()
    if sum(given is not None for given in (asked.what, asked.text, asked.list)) != 1:
        parser.error("expected one of MODULE:FUNCTION, --text FILE and --list FILE")
    if asked.list is not None:
        return _main_of_list(asked, parser)
    if asked.name is None:
        parser.error("expected --name NAME")
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
