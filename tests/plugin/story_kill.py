"""Kills the process of an isolated plugin in the middle of a sweep of the command line: one point is a plugin_error,
everything else is complete and right.

usage: story_kill.py <mlsysim> <plugin that doubles x>
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

MLSYSIM, PLUGIN = sys.argv[1:3]
POINTS = 40000


def children(pid):
    found = []
    for tasks in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(word) for word in tasks.read_text().split()]
        except OSError:  # it ended meanwhile
            pass
    return found


def worker_of(pid):
    for child in children(pid):
        try:
            if "mlsysim-plugin-worker" in os.readlink(f"/proc/{child}/exe"):
                return child
        except OSError:
            pass
    return None


def calls_of(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("voluntary_ctxt_switches"))


def main():
    run = subprocess.Popen([MLSYSIM, "--plugin", PLUGIN, "--isolated", "bad", "optimize", "bad/Model", "x=2 s", "--axis",
                            f"x=2 s..{POINTS + 1} s:{POINTS}", "--maximize", "y", "-o", "json"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env={**os.environ, "MLSYSIM_PLUGIN_PATH": "", "XDG_DATA_HOME": "/nonexistent", "MLSYSIM_PLUGINS": "all", "XDG_CACHE_HOME": "/nonexistent"})
    worker, deadline = None, time.monotonic() + 60
    while worker is None and run.poll() is None and time.monotonic() < deadline:
        worker = worker_of(run.pid)
    if worker is None:
        run.kill()
        sys.exit(f"no process of the plugin was seen\n{run.communicate()}")
    # It waits for every call, which the kernel counts: the sweep is well under way, and far from its end.
    while calls_of(worker) < 1000 and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(worker, signal.SIGKILL)
    out, errors = run.communicate(timeout=300)
    if run.returncode != 0:
        sys.exit(f"exit {run.returncode}\n{out}{errors}")
    answer = json.loads(out)
    counts = {k: answer[k] for k in ("total", "evaluated", "feasible", "skipped")}
    if counts != {"total": POINTS, "evaluated": POINTS - 1, "feasible": POINTS - 1, "skipped": 1}:
        sys.exit(f"one point should be missing: {counts}\n{errors}")
    reasons = json.dumps(answer["skip_reasons"])
    if "plugin_error" not in reasons or "SIGKILL" not in reasons:
        sys.exit(f"the reason is {reasons}")
    best = json.dumps(answer["best"][0])
    if str(2 * (POINTS + 1)) not in best:
        sys.exit(f"the best is {best}, not {2 * (POINTS + 1)} s")
    print(f"{counts}: {reasons}")


if __name__ == "__main__":
    main()
