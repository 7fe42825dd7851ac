"""The scenarios of scenarios.txt, and what of them is not compared yet.

What the library is known to get wrong is in OPEN: the numbers that it concerns are not compared until it is
mended (`compare.py --all` compares them). Whoever mends a fault removes its line.
"""

import fnmatch
import pathlib
from dataclasses import dataclass, field

from zoo import BYTES, ZOO, entry, get

OPEN = {
    "pipeline": "serving with pipeline stages: not pipelined, uneven layers, devices of all stages, memory",
    "busy": "the busy share of serving is not of the whole time to a token (dispatch left out)",
    "context": "mean context of a generation: the last one in textbook serving, half a token short in flight",
    "cache format": "textbook caches below 8 bits where weights have fewer (inference, in flight)",
    "usable": "the usable capacity of a device is not used",
    "price": "an unknown price counts as zero",
    "lanes": "in-flight batching does not divide the running requests over pipeline stages",
    "few lanes": "with fewer requests than stages a token still passes all stages",
    "textbook chunks": "textbook prompts in flight attend to their own chunk only, not to what is held",
    "chunk memory": "the working set of a prefill is that of its last chunk, which is not the largest one",
    "recurrent format": "fp32 states of recurrent layers are scaled by the cache's format (kv_cache_size)",
    "training caches": "training counts caches of recurrent, compressed and index layers, as if it served",
    "patch cast": "the cast of the patches runs on every stage instead of the first",
    "draft": "decoding with a draft is given the utilisation of decoding without",
}

ALL = ["*"]
PER_TOKEN = ["cost_per_token", "energy_per_token", "carbon_per_token"]
MACRO = ["energy", "water", "carbon", "energy_cost", "tco", *PER_TOKEN]
POWER = ["utilization", *("macro." + name for name in MACRO)]
PRICE = ["macro.capex", "macro.maintenance", "macro.tco", "macro.cost_per_token"]
USED = ["memory.fragmentation", "memory_used", "memory_utilization"]
ROOM = ["memory_capacity", "memory.reserve", "memory_used", "memory_utilization", "feasible"]


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
    model, stages = entry("model", asked["model"]), asked.get("pp_size", 1)
    recurrent, narrow = "linear_attention" in model, BYTES.get(asked.get("precision"), 2) < 1
    if kind == "in flight":
        yield from pending_in_flight(asked, textbook, stages, narrow)
        return
    if kind == "serve":
        if stages > 1:
            yield ALL, "pipeline"
        if textbook and asked.get("output_tokens"):
            yield ["itl", "request_latency", "*throughput*", "mfu", *POWER], "context"
        if asked.get("draft_model") and not textbook:
            yield ["mfu"], "draft"
        if not textbook:
            yield POWER, "busy"
        if not textbook and asked.get("prefill_chunk_tokens"):
            yield ["memory.activations", *USED], "chunk memory"
        if recurrent and ("kv_precision" in asked or narrow):
            yield ["kv_cache_size"], "recurrent format"
    if kind == "infer" and textbook and narrow:
        yield ["memory*", "feasible", "latency*", "throughput", "mfu", "energy", *POWER], "cache format"
    # Layers whose cache is not that of plain attention.
    caches = recurrent or get(model, "extra.index_heads")
    if kind == "train" and not textbook and caches:
        yield ["memory.kv_cache", *USED], "training caches"
    if kind == "train" and not textbook and get(model, "shape.patch_size") and stages > 1:
        yield ALL, "patch cast"
    hardware = asked.get("hardware") or entry("node", entry("cluster", asked["fleet"])["node"])["accelerator"]
    if get(entry("hardware", hardware), "memory.usable_capacity"):
        yield ROOM, "usable"
    if get(entry("hardware", hardware), "unit_cost") is None and "unit_cost" not in asked:
        yield PRICE, "price"


def pending_in_flight(asked, textbook, stages, narrow):
    if asked.get("concurrency", stages) < stages:
        yield ALL, "few lanes"
    if stages > 1:
        yield ALL, "lanes"
    if textbook and (asked.get("cached_prefix_len") or asked.get("prefill_chunk_tokens")):
        yield ALL, "textbook chunks"
    if textbook and narrow:
        yield ALL, "cache format"
    yield ALL, "context"  # the mean context enters all numbers


SCENARIOS = read((pathlib.Path(__file__).parent / "scenarios.txt").read_text())
