"""What importing costs and brings in."""

import resource
import subprocess
import sys

from conftest import SLOWER


def seconds_of(code, runs=7):
    """Of the processor, so that other work on the machine does not count."""

    def used():
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    best = float("inf")
    for _ in range(runs):
        start = used()
        subprocess.run([sys.executable, "-c", code], check=True)
        best = min(best, used() - start)
    return best


def modules_after(code):
    text = subprocess.run([sys.executable, "-c", code + "; import sys; print(' '.join(sys.modules))"], check=True,
                          capture_output=True, text=True).stdout
    return set(text.split())


def test_the_import_is_quick():
    # Budget 30 ms over bare Python; the rest is for a machine that does other things meanwhile.
    assert seconds_of("import mlsysim") - seconds_of("pass") < 0.060 * SLOWER


def test_numpy_is_not_imported_without_need():
    work = ("import mlsysim; mlsysim.Engine.solve(mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100).latency; "
            "mlsysim.Q_('3 GB') * 2")
    assert "numpy" not in modules_after(work)
    assert "numpy" in modules_after("import mlsysim; mlsysim.Q_([1.0, 2.0], 'GB')")


def test_the_import_reads_no_zoo():
    assert not {"mlsysim.registries", "mlsysim.resolvers", "typing", "inspect"} & modules_after("import mlsysim")


def test_every_import_path():
    paths = ("core.solver", "core.results", "core.constants", "core.types", "core.pipeline", "core.resolver_factory",
             "core.evaluation", "core.engine", "hardware.types", "hardware.registry", "models.types", "models.registry",
             "systems.types", "systems.registry", "infrastructure.types", "infrastructure.registry")
    code = "; ".join(f"import mlsysim.{p}" for p in paths)
    code += "; from mlsysim import Engine, SystemEvaluator, Pipeline, Hardware, Models, Systems, Infrastructure, Q_, Quantity"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_nothing_is_left_at_exit():
    code = ("import mlsysim, sys; from mlsysim import *; import mlsysim.laws\n"
            "class M(mlsysim.BaseModel):\n    requires = ('hardware',)\n    def solve(self, hardware): return 1\n"
            "p = mlsysim.Pipeline([M()]); r = p.run(hardware=mlsysim.Hardware.H100); d = mlsysim.HardwareNode(name='x')\n")
    done = subprocess.run([sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "Error" not in done.stderr, done.stderr
