"""Holds benchmark results against the budgets.

budgets.json is a list of
    {"name": "what is measured", "benchmark": "BM_X", "max_ns": 50}                   time of one iteration
    {"name": "...", "benchmark": "BM_X", "max_ns": 8, "per": "item"}                  time of one item processed
    {"name": "...", "benchmark": "BM_X", "against": "BM_Y", "max_ratio": 1.02}        ratio of two of one run
"was" is what version 0.1.0 took before laws were recorded, in the same unit: measured on a Xeon of 2.3 GHz with AVX-512, or in
its review. The least CPU time of all repetitions counts. A budget whose benchmark did not run is an error, unless --partial.
"""

import argparse
import json
import pathlib
import sys

NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def read_results(folder):
    """{benchmark: {"iteration": ns, "item": ns or None}}, the best of the repetitions."""
    best = {}
    for path in sorted(folder.glob("*.json")):
        # A program of whose benchmarks the filter took none leaves an empty file.
        for run in json.loads(path.read_text() or '{"benchmarks": []}')["benchmarks"]:
            if run["run_type"] != "iteration" or run.get("error_occurred"):
                continue
            iteration = run["cpu_time"] * NANOSECONDS[run["time_unit"]]
            rate = run.get("items_per_second")
            entry = {"iteration": iteration, "item": 1e9 / rate if rate else None}
            old = best.get(run["run_name"])
            if old is None or entry["iteration"] < old["iteration"]:
                best[run["run_name"]] = entry
    return best


def measure(budget, results):
    """(measured, limit, unit) of a budget; a text where it cannot be measured."""
    names = [budget["benchmark"]] + ([budget["against"]] if "against" in budget else [])
    missing = [name for name in names if name not in results]
    if missing:
        return f"did not run: {', '.join(missing)}"
    per = budget.get("per", "iteration")
    times = [results[name][per] for name in names]
    if None in times:
        return f"{', '.join(names)}: no items_per_second, but the budget is per item"
    if "against" in budget:
        return times[0] / times[1], budget["max_ratio"], "x"
    return times[0], budget["max_ns"], "ns"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("budgets", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--partial", action="store_true", help="leave out budgets whose benchmark did not run")
    options = parser.parse_args()
    results = read_results(options.results)
    over = 0
    for budget in json.loads(options.budgets.read_text()):
        found = measure(budget, results)
        if isinstance(found, str):
            if not options.partial:
                print(f"  ERROR {budget['name']}: {found}")
                over += 1
            continue
        measured, limit, unit = found
        verdict = "ok" if measured <= limit else "OVER"
        over += measured > limit
        was = f", was {budget['was']:g}" if "was" in budget else ""
        print(f"{verdict:>7} {measured:10.3g} {unit:2} (budget {limit:g} {unit}{was})  {budget['name']}")
    print("every budget is kept" if over == 0 else f"{over} budgets are not kept")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
