"""Asks the library and the reference the same scenarios and compares every number.

    python3 compare.py             all scenarios
    python3 compare.py NAME ...    scenarios of these names (patterns)

Exit status: 0 where everything agrees to 1e-9, 1 else, 77 where the library's package is not there.
"""

import fnmatch
import sys
import time

import in_flight
import scenario
from scenarios import SCENARIOS

TOLERANCE = 1e-9
# Differences of larger numbers, which keep the digits of those.
RESIDUALS = {
    "exposed_communication": "step_latency",
    "ttft_queue": "ttft",
    "p50_ttft_queue": "p50_ttft",
    "p99_ttft_queue": "p99_ttft",
}


def differ(theirs, ours, scale=0.0):
    """Relative difference; 0 where both are 0 or unknown."""
    if theirs is None or ours is None:
        return 0.0 if theirs is ours else float("inf")
    if isinstance(ours, str):
        return 0.0 if theirs == ours else float("inf")
    return 0.0 if theirs == ours else abs(theirs - ours) / max(abs(theirs), abs(ours), scale, 1e-300)


def expected_of(theirs, ours):
    """Names that both may answer. What the library leaves out because it is 0 is 0."""
    for name, value in ours.items():
        if name not in theirs and value in (0.0, None):
            continue
        yield name, theirs.get(name), value


def both(case):
    import library

    if case.kind == "in flight":
        spread = bool({"seq_len_cv", "seq_len_law", "output_tokens_cv", "output_tokens_law"} & set(case.asked))
        theirs, ours = {} if spread else library.in_flight(**case.asked), in_flight.answer(**case.asked)
        alone = {name: ours.pop(name) for name in list(ours) if name.startswith("scenario.")}  # what a scenario alone says
        # A scenario in steady state must say the same, where it can say it and the replica keeps up.
        if ours.get("feasible") and ours.get("is_stable"):
            theirs |= {f"scenario.{name}": value for name, value in library.steady(**case.asked).items()}
            both = {f"scenario.{name}": ours[name] for name in ours} | alone
            both = {name: value for name, value in both.items() if name in theirs}
            ours = both if spread else ours | both  # lengths that differ are of scenarios alone
        return theirs, ours
    return library.answer(**case.asked), scenario.answer(**case.asked)


def compare(case):
    """Differences of one scenario, {name: (theirs, ours, relative)}, and how many numbers were compared."""
    theirs, ours = both(case)
    wrong, compared = {}, 0
    for name, value, mine in expected_of(theirs, ours):
        compared += 1
        relative = differ(value, mine, ours.get(RESIDUALS.get(name.removeprefix("scenario.")), 0.0))
        if relative > TOLERANCE:
            wrong[name] = (value, mine, relative)
    return wrong, compared


def main(names):
    try:
        import library  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    begun, failed, numbers = time.time(), 0, 0
    cases = [c for c in SCENARIOS if not names or any(fnmatch.fnmatch(c.name, n) for n in names)]
    assert cases, f"no scenario is called {', '.join(names)}"
    for case in cases:
        wrong, count = compare(case)
        numbers += count
        failed += bool(wrong)
        if wrong:
            print(f"DIFFERS {case.name}")
        for name, (theirs, ours, relative) in wrong.items():
            print(f"    {name:28} library {theirs!s:24} reference {ours!s:24} {relative:9.2e}")
    print(
        f"{len(cases)} scenarios, {numbers} numbers, {failed} scenarios differ, {time.time() - begun:.1f} s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
