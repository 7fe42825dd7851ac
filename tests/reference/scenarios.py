"""The scenarios of scenarios.txt."""

import pathlib
from dataclasses import dataclass

from zoo import ZOO


@dataclass
class Case:
    name: str
    kind: str                                    # serve, train, infer, in flight
    asked: dict


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
        asked = {"model": model, ("fleet" if machine in ZOO["cluster"] | ZOO["pod"] | ZOO["node"] else "hardware"): machine}
        for setting in settings:
            name, _, value = setting.partition("=")
            asked[name] = value_of(value)
        if kind != "in flight":
            asked["mode"] = kind
        for fidelity in [asked["fidelity"]] if "fidelity" in asked else ["operator", "textbook"]:
            both = {**asked, "fidelity": fidelity}
            cases.append(Case(f"{kind} {fidelity} {what}", kind, both))
    return cases


SCENARIOS = read((pathlib.Path(__file__).parent / "scenarios.txt").read_text())
