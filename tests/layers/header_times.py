"""Measures what each public header costs to include [s of CPU], against a budget.

units alone 0.2 s, any other header 1 s, what brings everything 2 s, on a machine that compiles the yardstick (standard
headers alone) in YARDSTICK; a slower or busier machine gets as much more time as the yardstick then takes. A header
over its budget is reported; the check fails at twice the budget.

What another header includes first of all is compiled there with nothing before it, so it compiles alone too and costs no
more. It is compiled for itself only where the other one does not compile or costs more than twice this one's budget.
"""

import argparse
import concurrent.futures
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from toolchain import Toolchain  # noqa: E402

# What one include brings whole: the library, and what a plugin is written with.
UMBRELLAS = {"mlsysim.hpp", "plugin/mlsysim_plugin.hpp", "plugin/sdk_resolver.hpp"}
UNITS_ALONE = {"units/dimension.hpp", "units/overloads.hpp", "units/quantity.hpp", "units/unit.hpp"}
YARDSTICK_SOURCE = "#include <algorithm>\n#include <functional>\n#include <regex>\n#include <unordered_map>\n"
YARDSTICK = 0.7  # [s of CPU]; of the idle machine of two cores that the budgets are for


def budget_of(name):
    """Budget of a header [s]."""
    if name in UMBRELLAS:
        return 2.0
    return 0.2 if name in UNITS_ALONE else 1.0


def cpu_time(toolchain, source):
    """CPU time of checking a file [s]; a text where it does not compile."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(toolchain.syntax(source), stdout=errors, stderr=errors)
        # wait4 tells the time of this one process (and the compiler proper below it), whatever else runs.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            return errors.read().decode(errors="replace")
    return usage.ru_utime + usage.ru_stime


def header_time(toolchain, name, folder):
    """The same for a file that only includes the header."""
    source = pathlib.Path(folder) / (name.replace("/", "_") + ".cpp")
    source.write_text(f"#include <mlsysim/{name}>\n")
    return cpu_time(toolchain, source)


def slowness(toolchain, folder):
    """How much longer than YARDSTICK this machine takes now, with both threads at work as below; at least 1."""
    source = pathlib.Path(folder) / "yardstick.cpp"
    source.write_text(YARDSTICK_SOURCE)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        times = sorted(pool.map(lambda _: cpu_time(toolchain, source), range(6)))
    return max(1.0, times[len(times) // 2] / YARDSTICK)


# The first include of a header that has nothing but comments before it.
BEGINS_WITH = re.compile(r"(?:\s|//[^\n]*\n|#pragma once)*#include <mlsysim/([^>]+)>")


def followed(top, names):
    """Header -> headers that include it first of all."""
    found = {name: [] for name in names}
    for name in names:
        begins = BEGINS_WITH.match((top / name).read_text())
        if begins and begins[1] in found:
            found[begins[1]].append(name)
    return found


def at_most(name, measured, followers, above=()):
    """What a header costs at most [s], from its own time and those of what begins with it. Headers that begin each other say
    nothing of one another."""
    spent = measured.get(name)
    own = [spent] if isinstance(spent, float) else []
    above = (*above, name)
    return min(own + [at_most(other, measured, followers, above) for other in followers[name] if other not in above],
               default=math.inf)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("toolchain", type=pathlib.Path, help="tests/toolchain.json of a build")
    toolchain = Toolchain(parser.parse_args().toolchain)
    top = toolchain.source_dir / "include" / "mlsysim"
    names = sorted(path.relative_to(top).as_posix() for path in top.rglob("*.hpp"))
    followers = followed(top, names)
    over, failed, measured = 0, [], {}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:

        def measure(some):
            measured.update(zip(some, pool.map(lambda name: header_time(toolchain, name, folder), some)))

        before = slowness(toolchain, folder)
        measure([name for name in names if not followers[name]])
        slow = max(before, slowness(toolchain, folder))
        measure([name for name in names
                 if name not in measured and at_most(name, measured, followers) > 2 * slow * budget_of(name)])
        print(f"this machine takes {slow:.2f} times as long as the budgets are for")
        for name, spent in measured.items():
            budget = budget_of(name) * slow
            for _ in range(2):  # before it fails, the least of three: a busy machine only adds
                if isinstance(spent, float) and spent > 2 * budget:
                    spent = min(spent, header_time(toolchain, name, folder))
            if isinstance(spent, str):
                print(f"mlsysim/{name} does not compile alone:\n{spent}")
                failed.append(name)
                continue
            over += spent > budget
            mark = "" if spent <= budget else "  over budget" if spent <= 2 * budget else "  FAILS"
            print(f"{spent:6.2f} s of {budget:.2f}  {name}{mark}")
            if spent > 2 * budget:
                failed.append(name)
    print(f"{len(names)} headers, {len(measured)} of them compiled for themselves, {over} over budget")
    if failed:
        print(f"{len(failed)} headers do not compile alone or cost more than twice their budget: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
