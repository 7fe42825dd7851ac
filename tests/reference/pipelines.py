"""The closed forms of a pipeline's idle time against schedules that are played event by event.

    python3 tests/reference/pipelines.py

Exit status: 0 where everything agrees to 1e-9, else 1.
"""

import itertools
import sys

import schedule

TIMES = (0.3, 0.5, 0.8, 1, 1.5, 2, 3)


def bubble(stages, microbatches, chunks, forward, backward, weights=None):
    """Idle time on the last stage. `weights` is set for ZB-H1, where weight gradients run apart."""
    q = min(microbatches, stages)
    ramp = stages - q + (q - 1) / chunks
    if weights is None:
        return ramp * (forward + backward)
    filled = (q - 1) / chunks * min(forward, weights)
    return max(ramp * (forward + backward) - filled, ramp * forward)


def zero_bubble():
    for stages, microbatches in itertools.product((1, 2, 3, 4, 7), (1, 2, 3, 4, 6, 8, 13)):
        for i, times in enumerate(itertools.product(TIMES, repeat=3)):
            if (i + stages + microbatches) % 11:
                continue  # one of eleven combinations
            played = schedule.best_zero_bubble(stages, microbatches, *times)
            told = microbatches * sum(times) + bubble(stages, microbatches, 1, *times)
            yield (stages, microbatches, *times), played, told


def interleaved():
    for stages, chunks, microbatches in itertools.product((1, 2, 3, 4, 8), (1, 2, 3, 5), range(1, 25)):
        if microbatches > stages and microbatches % stages:
            continue  # the schedule takes whole groups
        for forward, backward in ((1, 2), (1, 1), (3, 0.5)):
            played = schedule.play_interleaved(stages, chunks, microbatches, forward, backward)
            told = microbatches * (forward + backward) + bubble(stages, microbatches, chunks, forward, backward)
            yield (stages, microbatches, chunks, forward, backward), played, told


def main():
    wrong = compared = 0
    for name, cases in (("zero bubble", zero_bubble()), ("interleaved", interleaved())):
        for case, played, told in cases:
            compared += 1
            if abs(played - told) > 1e-9 * told:
                wrong += 1
                print(f"{name} {case}: played {played}, closed form {told}")
    print(f"{compared - wrong} of {compared} pipelines agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
