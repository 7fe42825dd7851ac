"""What must not take a process down or be lost: odd texts, Ctrl-C, second interpreters, plugins that crash."""

import os
import pathlib
import pickle
import signal
import subprocess
import sys

import pytest

import mlsysim
from conftest import SLOWER
from mlsysim import Hardware, InputError, LookupError, Models, PluginError, Quantity

BUILD = pathlib.Path(os.environ["MLSYSIM_BINARY_DIR"]) if "MLSYSIM_BINARY_DIR" in os.environ else pathlib.Path(mlsysim.__file__).parents[2]
BAD = BUILD / "tests" / "plugin" / "bad"
LONE = "\ud800"


def test_text_that_is_no_text_is_an_input_error():
    for ask in (lambda: Quantity(LONE), lambda: mlsysim.ask(LONE, "H100"), lambda: mlsysim.ask("RingAllReduce", message=LONE),
                lambda: mlsysim.Engine.solve(Models.Llama3_8B, Hardware.H100, precision=LONE)):
        with pytest.raises(InputError) as caught:
            ask()
        str(caught.value).encode()
    with pytest.raises(LookupError) as caught:
        Models[LONE]
    assert "\\ud800" in str(caught.value)


def test_subjects_are_pickled():
    subject = mlsysim.ask(Models.Llama3_8B, Hardware.H100, batch_size=4)
    again = pickle.loads(pickle.dumps(subject))
    assert again.results == subject.results and again.title == subject.title
    law = mlsysim.ask("RingAllReduce", message="1 GB", ranks=8, bandwidth="400 GB/s", alpha="5 us")
    assert pickle.loads(pickle.dumps(law)).results == law.results


def python(code, *words, **how):
    return subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, timeout=300 * SLOWER, **how)


def test_a_second_interpreter_is_refused_and_not_waited_for():
    interpreters = "_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters"
    pytest.importorskip(interpreters)
    done = python(f"import {interpreters} as s\ni = s.create()\n"
                  "r = s.run_string(i, '''try:\\n    import mlsysim\\nexcept ImportError as e:\\n    print(e)''')\nprint('done', r)")
    assert "sub-interpreter" in done.stdout and "done" in done.stdout, done.stderr


def test_ctrl_c_raises_with_what_was_found():
    # The signal goes out of the first report of progress, when the work has begun.
    done = python("""
import os, signal, mlsysim
from mlsysim import Hardware, Models
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs the tests in the background
sent = []
def progress(done, total, rate, left):
    if not sent:
        sent.append(True)
        os.kill(os.getpid(), signal.SIGINT)
s = mlsysim.ask(Models.Llama3_70B, Hardware.H100, accelerators=8)
try:
    s.optimize({"batch_size": "1..2048", "seq_len": "512..8192", "output_tokens": "128..4096"}, minimize="itl", strategy="exhaustive", threads=1, progress=progress)
    print("came to its end")
except KeyboardInterrupt as e:
    print("stopped", hasattr(e, "answer"), e.partial.evaluated > 0, e.partial.complete)
""")
    assert done.stdout.strip() == "stopped False True False", done.stdout + done.stderr


@pytest.mark.skipif(not BAD.exists(), reason="the bad plugins are not built")
def test_an_error_of_a_plugin_says_whose_it_is():
    done = python("""
import sys, mlsysim
mlsysim.plugins.load(sys.argv[1])
try:
    mlsysim.ask("bad/Model", x="5 s").results
except mlsysim.PluginError as e:
    print(e.code, "|", e.plugin, "|", e.stage, "|", e.payload)
""", BAD / "mlsysim-plugin-always_fails.so", env={**os.environ, "XDG_CACHE_HOME": "/nonexistent"})
    code, plugin, stage, payload = done.stdout.strip().split(" | ")
    assert code and plugin == "bad" and stage == "solve of bad/Model" and payload.startswith("{"), done.stdout + done.stderr
    assert (PluginError("none").code, PluginError("none").payload) == ("", {})


@pytest.mark.skipif(not BAD.exists(), reason="the bad plugins are not built")
def test_a_plugin_that_crashes_in_solve_is_named_and_isolated_from_then_on(tmp_path):
    library = BAD / "mlsysim-plugin-crashes.so"
    code = """
import sys, mlsysim
mlsysim.plugins.load(sys.argv[1])
try:
    mlsysim.ask("bad/Model", x="1 s").results
except mlsysim.PluginError as e:
    print("alive:", e)
"""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    first = python(code, library, env=environment)
    # A sanitizer tells of it and ends the process itself: 1 for addresses, 66 for threads.
    assert first.returncode in ((-signal.SIGSEGV,) if SLOWER == 1 else (1, 66))
    assert f"the plugin '{library}' ended the process by SIGSEGV in solve" in first.stderr
    second = python(code, library, env=environment)
    assert second.returncode == 0 and "alive:" in second.stdout and "ended during solve" in second.stdout, second.stderr


HELLO = BUILD / "plugins" / "hello_c" / "mlsysim-plugin-hello-c.so"


def test_what_new_alone_makes_is_refused():
    """Every class of the compiled part, every method of it: an exception, never memory that nobody wrote to."""
    done = python("""
import mlsysim
from mlsysim import _mlsysim as core
tried = 0
for cls in [c for c in vars(core).values() if isinstance(c, type) and type(c).__name__ == "pybind11_type"]:
    empty = cls.__new__(cls)
    for name in dir(empty):
        if name in ("__init__", "__new__", "__class__", "__init_subclass__", "__subclasshook__", "__dir__"):
            continue
        for words in ((), (1,), (empty,)):
            try:
                method = getattr(empty, name)
                method(*words) if callable(method) else None
            except Exception:
                tried += 1
try:
    mlsysim.Quantity.__new__(mlsysim.Quantity) + 1
except TypeError as error:
    assert "__init__" in str(error), error
else:
    raise SystemExit("a sum with what is no quantity")
print(tried)
""")
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert int(done.stdout) > 100


def test_old_pickles_are_refused_and_end_no_process():
    done = python("""
import pickle
import mlsysim
second = mlsysim.Quantity("1 s")
for make in (lambda: pickle.dumps(second, 0), lambda: pickle.dumps(second, 1), type(second).__mro__[-2]):
    try:
        make()
    except TypeError as error:
        assert "protocol 2" in str(error), error
    else:
        raise SystemExit("made")
assert pickle.loads(pickle.dumps(second, 2)) == second
""")
    assert done.returncode == 0, (done.returncode, done.stderr)


@pytest.mark.skipif(not HELLO.exists(), reason="the plugins are not built")
def test_stale_handles_are_refused():
    """What was made from a plugin before it was unloaded says so from then on, also when the plugin is loaded again."""
    inputs = {"weights": "16 GB", "hardware": Hardware.H100}
    name = mlsysim.plugins.load(HELLO)
    try:
        cls = mlsysim.ResolverFactory.get("hello/DecodeFloor")
        handle, pipeline, result = cls(), mlsysim.Pipeline([cls()]), cls().solve(**inputs)
        floor = result.floor
        mlsysim.plugins.unload(name)
        stale = (lambda: handle.solve(**inputs), lambda: cls().solve(**inputs), lambda: pipeline.run(**inputs))
        for use in stale:
            with pytest.raises(PluginError, match="'hello-c' was unloaded"):
                use()
        for use in (mlsysim.plugins.describe, mlsysim.plugins.reload):
            with pytest.raises(LookupError, match="no plugin 'hello-c' is loaded"):
                use(name)
        assert result.floor == floor and "floor=" in repr(result)  # what was answered stays
        mlsysim.plugins.load(HELLO)
        for use in stale:
            with pytest.raises(PluginError, match="was unloaded"):
                use()
        assert mlsysim.ResolverFactory.get("hello/DecodeFloor")().solve(**inputs).floor == floor
    finally:
        mlsysim.plugins.unload(name)


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path):
    """The functions of the package that take a path: a pipe, a device without end and a folder, each by name."""
    pipe, folder = tmp_path / "plan.yaml", tmp_path / "folder.yaml"
    os.mkfifo(pipe)
    folder.mkdir()
    done = python("""
import os, sys, time, mlsysim
from mlsysim import launches, plans, plugins
asks = (plans.read, launches.read, launches.fit, lambda p: launches.export(p, "vllm"), lambda p: plugins.import_text("none", p))
for path, word in zip(sys.argv[1::2], sys.argv[2::2]):
    for ask in asks:
        began = time.monotonic()
        try:
            ask(path)
        except mlsysim.InputError as error:
            assert path in str(error) and word in str(error), error
            assert time.monotonic() - began < int(os.environ.get("MLSYSIM_TIME_FACTOR", "1"))
        else:
            raise SystemExit("taken")
print("refused")
""", pipe, "a pipe", "/dev/zero", "a device", folder, "a folder", tmp_path / "none.yaml", "No such file")
    assert done.stdout.strip() == "refused", done.stdout + done.stderr
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    with pytest.raises(InputError, match="byte 9 is no UTF-8"):
        mlsysim.plans.read(tmp_path / "latin.yaml")


def test_what_is_written_goes_through_no_link_and_is_whole(tmp_path):
    scorecard = mlsysim.SystemEvaluator.evaluate("chat", Models.Llama3_8B, Hardware.H100)
    other = tmp_path / "other.txt"
    other.write_text("of somebody else")
    link = tmp_path / "page.html"
    link.symlink_to(other)
    for write in (scorecard.report, scorecard.plot("memory").save):
        with pytest.raises(InputError, match="a link"):
            write(link)
        with pytest.raises(InputError, match="needs a folder"):
            write(tmp_path / "nowhere" / "page.html")
        page = tmp_path / "own.html"
        assert write(page) == page and write(page) == page  # again: what is there is replaced
        assert page.read_text().rstrip().endswith("</html>")
    assert other.read_text() == "of somebody else"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other.txt", "own.html", "page.html"]  # nothing is left beside


ONCE = """
import sys
from mlsysim.__main__ import main
from mlsysim.core.results import SolverResult
from mlsysim.core.solver import BaseModel
from mlsysim.hardware.types import HardwareNode

class OnceResult(SolverResult):
    seen: float

class OnceModel(BaseModel):
    "Counts how often it is asked."
    requires = ("hardware",)
    produces = OnceResult

    def solve(self, hardware: HardwareNode) -> OnceResult:
        print("asked", file=sys.stderr)
        return OnceResult(seen=1.0)

sys.exit(main(["resolver", "run", "OnceModel", "hardware=H100"]))
"""


def test_the_program_asks_a_resolver_once():
    done = subprocess.run([sys.executable, "-c", ONCE], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr.count("asked") == 1, done.stderr
