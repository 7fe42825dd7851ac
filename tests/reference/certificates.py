"""Verifies certificates of regret: what `mlsysim decide -o json` says the choice can lose at most.

    python3 certificates.py PROGRAM      the program `mlsysim`; --all: every question

A certificate divides the range of the error that all machines share into parts. In each, the choice is priced at the
part's upper end and at the worst of its own error, the others at the lower end and at the best of theirs; the difference
bounds the regret there, because costs do not fall with the error. This program knows none of the code behind it: it
checks that the parts cover the range, that each bound is the difference of its two costs and that no other machine is
cheaper, and asks `mlsysim eval` whether so many devices meet the limits and one replica fewer does not.
"""

import json
import math
import subprocess
import sys

QUESTIONS = [
    "Llama3_70B --on H100,H200 --rate 5/s --ttft=1s --itl=30ms --seq-len 2048 --output-tokens 256",
    "Llama3_8B --on A100,H100,H200 --rate 40/s --itl=20ms --seq-len 1024 --output-tokens 256",
    "DeepSeek_V3 --on H200,B200 --rate 4/s --ttft=p99_2s --itl=40ms --seq-len 4096 --output-tokens 512",
    "Mixtral_8x7B --on H100,B200 --rate 10/s --e2e=20s --seq-len 2048 --output-tokens 512",
]
CLOSE = 1e-6
# Of a load: near the most that a replica serves, a step grows as fast with the requests as these do with the step, and where the
# two balance is known no better.
LOAD = 1e-2


def run(program, *words):
    done = subprocess.run([program, *words, "-o", "json"], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 2), f"{words}: {done.stderr}"
    return json.loads(done.stdout)


class Machine:
    """A machine of a decision: how many devices it needs at a factor on its times, by asking for scorecards."""

    def __init__(self, program, asked, option):
        self.program, self.asked, self.option = program, asked, option
        best = option["size"]["best"]
        self.degrees = [best[name] for name in ("tp_size", "pp_size", "ep_size")]
        self.each = self.degrees[0] * self.degrees[1] * self.degrees[2]
        self.price = option["cost"] / best["devices"]
        self.own = option["own_time"]

    def meets(self, replicas, factor):
        """Whether so many replicas meet the limits were all times `factor` times as long."""
        rate = self.asked["rate_per_s"] * factor / replicas
        names = ("--tp-size", "--pp-size", "--ep-size")
        degrees = [f"{name}={value:g}" for name, value in zip(names, self.degrees)]
        card = run(self.program, "eval", self.asked["workload"], self.option["machine"],
                   f"--accelerators={self.each:g}", *degrees, f"--rate={rate!r} request/s",
                   f"--seq-len={self.asked['seq_len']:g}", f"--output-tokens={self.asked['output_tokens']:g}")
        if "p_overload" in card:
            return False
        for limit in self.asked["limits"]:  # times of a scorecard are in ms
            if card["p_" + limit["result"]] * factor > limit["most_ms"] * (1 + CLOSE):
                return False
        return True

    def check(self, at):
        """That the devices of a cost are those that are needed."""
        replicas = round(at["devices"] / self.each)
        assert math.isclose(at["cost"], at["devices"] * self.price, rel_tol=CLOSE)
        assert self.meets(replicas * (1 + LOAD), at["factor"]), f"{replicas} replicas are too few: {at}"
        if replicas > 1:
            assert not self.meets((replicas - 1) * (1 - LOAD), at["factor"]), f"{replicas} replicas are too many: {at}"


def verify(program, words):
    answer = run(program, "decide", *(w.replace("p99_", "p99 ") for w in words.split()))
    machines = {o["machine"]: Machine(program, answer["asked"], o) for o in answer["options"] if "cost" in o}
    choice = answer["options"][0]["machine"]
    regret = answer["regret"]
    parts, (low, high) = regret["certificate"], regret["common"]
    assert len(machines) < 2 or parts, "there is no certificate"
    checked = {}
    for part in parts:
        assert math.isclose(part["common"][0], low, rel_tol=1e-12), "parts leave a gap"
        begin, low = low, part["common"][1]
        assert part["choice"]["machine"] == choice != part["other"]["machine"]
        other = machines[part["other"]["machine"]]
        assert math.isclose(part["choice"]["factor"], low * machines[choice].own[1], rel_tol=CLOSE)
        assert math.isclose(part["other"]["factor"], begin * other.own[0], rel_tol=CLOSE)
        bound = max(0.0, part["choice"]["cost"] - part["other"]["cost"])
        assert math.isclose(part["bound"], bound, rel_tol=CLOSE, abs_tol=1e-9)
        for at in (part["choice"], part["other"]):
            if math.isfinite(at["devices"] or math.inf):
                checked[(at["machine"], at["factor"])] = at
        # No machine is cheaper than the one that is named.
        for name, machine in machines.items():
            if name in (choice, part["other"]["machine"]):
                continue
            fewer = math.ceil(part["other"]["cost"] / machine.price / machine.each) - 1
            assert fewer < 1 or not machine.meets(fewer, begin * machine.own[0]), f"{name} is cheaper"
    assert not parts or math.isclose(low, high, rel_tol=1e-12), "parts do not reach the end"
    assert math.isclose(regret["most"], max([p["bound"] for p in parts], default=0.0), rel_tol=CLOSE, abs_tol=1e-9)
    for at in checked.values():
        machines[at["machine"]].check(at)
    return len(parts), len(checked)


def main(program):
    for words in QUESTIONS if "--all" in sys.argv else QUESTIONS[:2]:
        parts, checked = verify(program, words)
        print(f"verified: {words}: {parts} parts, {checked} costs")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
