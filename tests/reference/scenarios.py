"""The scenarios of scenarios.txt, and what of them is not compared yet.

What the library is known to get wrong is in OPEN: the numbers that it concerns are not compared until it is
mended (`compare.py --all` compares them). Whoever mends a fault removes its line.
"""

import fnmatch
import pathlib
from dataclasses import dataclass, field

from zoo import ZOO, entry, get

OPEN = {
    "dispatch": "the overhead of a bottleneck has one dispatch: a textbook token has none, chunks one each",
    "start of lanes": "the start of a run over stages has one micro-batch's requests, prompts out of cycle",
    "draft stages": "the scorecard divides the draft model over the pipeline stages of its target",
    "patch cast": "the cast of the patches runs on every stage instead of the first",
}

ALL = ["*"]


@dataclass
class Case:
    name: str
    kind: str                                    # serve, train, infer, in flight
    asked: dict
    pending: list = field(default_factory=list)  # (names, key of OPEN)

    def pending_reason(self, name):
        for patterns, key in self.pending:
            if key in OPEN and any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                return key
        return None


def value_of(text):
    """'4' -> 4, '2e+11' -> 2e11, 'yes' -> True; else the word."""
    if text in ("yes", "no"):
        return text == "yes"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def lines_of(text):
    """Rows without comments, continued lines joined."""
    rows = []
    for line in text.splitlines():
        if line.startswith("    "):
            rows[-1] += " " + line.strip()
        elif line.strip() and not line.startswith("#"):
            rows.append(line)
    return rows


def read(text):
    cases, kind = [], None
    for row in lines_of(text):
        if row.startswith("["):
            kind = row.strip("[]")
            continue
        what, _, words = row.partition(": ")
        model, machine, *settings = words.split()
        asked = {"model": model, ("fleet" if machine in ZOO["cluster"] else "hardware"): machine}
        for setting in settings:
            name, _, value = setting.partition("=")
            asked[name] = value_of(value)
        if kind != "in flight":
            asked["mode"] = kind
        for fidelity in [asked["fidelity"]] if "fidelity" in asked else ["operator", "textbook"]:
            both = {**asked, "fidelity": fidelity}
            why = list(pending(kind, both, fidelity == "textbook"))
            cases.append(Case(f"{kind} {fidelity} {what}", kind, both, why))
    return cases


def pending(kind, asked, textbook):
    """What of OPEN concerns a scenario, the particular before the general."""
    stages, patches = asked.get("pp_size", 1), get(entry("model", asked["model"]), "shape.patch_size")
    # Dispatches tip the balance in few scenarios: the others are compared.
    if kind == "serve" and textbook and asked["model"] == "Gemma3_1B":
        yield ["bottleneck"], "dispatch"
    if kind == "serve" and asked.get("prefill_chunk_tokens", 1000) < 10:
        yield ["prefill_bottleneck"], "dispatch"
    if kind == "serve" and asked.get("draft_model") and stages > 1:
        rates = ["itl", "request_latency", "*throughput*", "mfu"]
        yield [*rates, "memory*", "feasible", "utilization", "macro.*"], "draft stages"
    if kind == "in flight" and stages > 1 and (asked.get("num_requests") or asked.get("equal_lengths")):
        yield ["ttft", "request_latency"], "start of lanes"
    if kind == "train" and not textbook and patches and stages > 1:
        yield ALL, "patch cast"


SCENARIOS = read((pathlib.Path(__file__).parent / "scenarios.txt").read_text())
