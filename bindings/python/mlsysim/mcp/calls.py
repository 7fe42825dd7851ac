"""Calls of tools, each in a process of its own: it reads below the allowed folders alone, its memory and time are bounded, it ends when
nobody waits for it, and it holds up no other call.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import time
import traceback
import warnings
from dataclasses import dataclass

from .. import _mlsysim as _core
from ..errors import LookupError, _input_error
from .tools import Call, all_tools, refusal

__all__ = ["Child", "Limits", "run", "start"]

_TYPES = {"object": dict, "array": (list, tuple), "string": str, "boolean": bool, "integer": int, "number": (int, float)}
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux


@dataclass(frozen=True)
class Limits:
    """What one call may take."""

    seconds: float = 300  # on the clock
    memory: int = 2 << 30  # bytes beyond what the server has
    arguments: int = 1 << 20  # characters of all arguments together
    text: int = 1 << 16  # characters of one of them
    depth: int = 16  # of lists in lists
    answer: int = 8 << 20  # characters of the answer


# Arguments ------------------------------------------------------------------------------------------------------------

def _size(value, limits, depth=0):
    """Characters of a value. InputError where it has too many, or nests too deeply."""
    if depth > limits.depth:
        raise _input_error("arguments nest too deeply", key="arguments", found=f"more than {limits.depth} levels", expected="fewer",
                           id="mlsysim.python.290")
    if isinstance(value, str):
        if len(value) > limits.text:
            raise _input_error("an argument is too long", key="arguments", found=f"a text of {len(value)} characters",
                               expected=f"at most {limits.text}", hint=f"it begins with '{value[:40]}'", id="mlsysim.python.291")
        return len(value)
    if isinstance(value, dict):
        return sum(_size(key, limits, depth + 1) + _size(inner, limits, depth + 1) for key, inner in value.items())
    return sum(_size(inner, limits, depth + 1) for inner in value) if isinstance(value, (list, tuple)) else 8


def _check_type(name, value, schema):
    """Refuses a value that is not what the schema of an argument says."""
    kinds, low, high = schema.get("type", ()), schema.get("minimum"), schema.get("maximum")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    fits = not kinds or any(isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool)) for kind in kinds)
    fits = fits and ("enum" not in schema or value in schema["enum"])
    if not fits or low is not None and value < low or high is not None and value > high:
        expected = " or ".join(map(repr, schema["enum"])) if "enum" in schema else " or ".join(kinds) + (
            f" from {low}" if low is not None else "") + (f" to {high}" if high is not None else "")
        raise _input_error(f"'{name}' has a value that it cannot take", key=name, found=f"{value!r:.60}", expected=expected, id="mlsysim.python.292")
    for inner in value if kinds == ["array"] else ():
        _check_type(name, inner, schema.get("items", {}))


def _check(tool, arguments):
    missing = [key for key in tool.schema["required"] if key not in arguments]
    known = list(tool.schema["properties"])
    odd = [key for key in arguments if key not in known]
    if odd:
        raise _input_error(f"{tool.name} takes no '{odd[0]}'", key=odd[0], found=f"'{odd[0]}'", expected=f"some of {', '.join(known)}",
                           hint=_core._did_you_mean(odd[0], known), id="mlsysim.python.218")
    if missing:
        raise _input_error(f"{tool.name} misses '{missing[0]}'", key=missing[0], found="nothing", expected="a value", id="mlsysim.python.219")
    for name, value in arguments.items():
        _check_type(name, value, tool.schema["properties"][name])


def _answer(name, arguments, folders, limits, report):
    """(what a tool answers, whether it is a refusal). It confines the process that calls it."""
    try:
        arguments = arguments or {}
        _size([name, arguments], limits)
        tools = {tool.name: tool for tool in all_tools()}  # plugins and the zoo are read here, before the process is confined
        tool = tools.get(name)
        if tool is None:
            raise _input_error(f"there is no tool '{name}'", key=name, found=f"'{name}'", expected=f"one of {', '.join(tools)}",
                               hint=_core._did_you_mean(name, list(tools)), kind=LookupError, id="mlsysim.python.217")
        _core._confine([os.fspath(folder) for folder in folders])
        if name != "evaluate" and not name.startswith("resolve_"):  # the library checks the fields of those
            _check(tool, arguments)
        return tool.run(arguments, Call(report)), False
    except MemoryError:
        return refusal(_input_error("the call needs too much memory", key=name, found=f"more than {limits.memory >> 20} MiB", expected="less",
                                    hint="ask for fewer points, or use optimize in place of sweep", id="mlsysim.python.293")), True
    except Exception as error:  # what an agent gets wrong is an answer to it
        return refusal(error), True


# Processes ------------------------------------------------------------------------------------------------------------

def _bound(limits):
    """Bounds the memory of this process, and ends it with the one that started it."""
    pages = 0
    with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as now:
        pages = int(now.read().split()[0])
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = pages * resource.getpagesize() + limits.memory
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)


class Child:
    """A process that computes `work(report)` and hands back what that returns. It is started by the thread that makes it."""

    def __init__(self, work, limits):
        self.limits, self._ended = limits, time.monotonic() + limits.seconds
        self._reader, writer = os.pipe()
        parent = os.getpid()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other threads only wait
            self.process = os.fork()
        if self.process == 0:
            try:
                self._be_child(work, writer, parent)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(writer)

    def _be_child(self, work, writer, parent):
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(2, 1)  # standard output is the protocol's
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        os.closerange(3, writer)
        os.closerange(writer + 1, most)
        _bound(self.limits)
        if os.getppid() != parent:
            os._exit(1)

        def send(**what):
            data = json.dumps(what, allow_nan=False).encode() + b"\n"
            while data:
                data = data[os.write(writer, data):]
            return len(data)

        found, refused = work(lambda done, total, words: send(progress=[done, total, words]))
        if len(json.dumps(found)) > self.limits.answer:
            found, refused = refusal(_input_error("the answer is too long", key="answer", found=f"more than {self.limits.answer >> 20} MiB",
                                                  expected="less", hint="leave 'detail' out, or ask for fewer rows", id="mlsysim.python.294")), True
        send(found=found, refused=refused)
        os._exit(0)

    def stop(self):
        """Ends it, and what it started."""
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process, signal.SIGKILL)

    def result(self, report=None):
        """Waits for (what it found, whether that is a refusal), and hands on its progress. Another thread may stop it meanwhile."""
        try:
            return self._read(report)
        finally:
            self.stop()
            os.close(self._reader)
            os.waitpid(self.process, 0)
            self.process = 0

    def _read(self, report):
        data, watched = bytearray(), select.poll()
        watched.register(self._reader, select.POLLIN)
        while True:
            left = self._ended - time.monotonic()
            if left <= 0:
                return refusal(_input_error("the call takes too long", key="call", found=f"more than {self.limits.seconds:g} s", expected="less",
                                            hint="ask for fewer points", id="mlsysim.python.295")), True
            if not watched.poll(left * 1000):
                continue
            piece = os.read(self._reader, 1 << 16)
            if not piece:
                return refusal(_input_error("the process of the call has ended without an answer", key="call", found="no answer",
                                            expected="one", hint="it crashed, was stopped, or had no memory left", id="mlsysim.python.296")), True
            data += piece
            while (end := data.find(b"\n")) >= 0:
                told = json.loads(data[:end])
                del data[:end + 1]
                if "found" in told:
                    return told["found"], told["refused"]
                if report:
                    report(*told["progress"])


def start(name, arguments, folders=(), limits=Limits()):
    """A call of a tool that has begun. It reads the folders, the zoo, and nothing else."""
    return Child(lambda report: _answer(name, arguments, folders, limits, report), limits)


def run(name, arguments, folders=(), limits=Limits(), report=None):
    """(what a tool answers, whether it is a refusal)."""
    return start(name, arguments, folders, limits).result(report)
