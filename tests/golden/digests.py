"""What stands for thousands of answers in a small file: digests of groups, and a few answers in full that cover what there is.

A group is what was asked (a mode, a resolver, a law, a subject of questions), of which class of device, at which fidelity.
"""

import collections
import functools
import hashlib
import json
import math
import re

from mlsysim import Hardware, Systems

import comparing

DIGITS = 9  # of numbers in the rounded digest: what the compilers of other machines agree on


@functools.cache
def classes():
    """{device, node or cluster: class of its devices}."""
    devices = {name: getattr(Hardware[name].device_class, "name", "gpu") for name in Hardware.names()}
    nodes = {name: devices.get(Systems.Nodes[name].accelerator.name, "") for name in Systems.Nodes.names()}
    clusters = {name: devices.get(Systems.Clusters[name].node.accelerator.name, "") for name in Systems.Clusters.names()}
    return {**devices, **nodes, **clusters}


def kind_of(id):
    """What is asked, without where and how."""
    parts = id.split("/")
    if parts[0] == "units":
        return id
    return "/".join(parts[:{"question": 3, "resolver": 2, "law": 2}.get(parts[0], 1)])


def class_of(id):
    """The class of the first device, node or cluster that an id names; '2xDGX_H100@Ethernet' names one."""
    words = (re.sub(r"^\d+x", "", word) for word in re.split(r"[/,@=]", id))
    return next((classes()[word] for word in words if word in classes()), "")


def group_of(id, answer):
    fidelity = "refused" if "error" in answer else (answer.get("fields") or {}).get("fidelity", "")
    return "/".join(part for part in (kind_of(id), class_of(id), fidelity) if part)


def rounded(name, value):
    """A number as far as it must agree; below "relative" on the scale of one, as in comparing.py.

    Times pi, or short numbers such as 0.1234567895 lie where a last bit decides to which side they are rounded.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    value *= math.pi
    text = f"{value:.{DIGITS}f}" if "relative" in name.split(".") else f"{value:.{DIGITS - 1}e}"
    return float(text) + 0.0  # no minus before a zero


class Digest:
    """How many answers a group has, and digests of their values to the bit, of these rounded, and of their notes."""

    PARTS = ("values", "rounded", "notes")

    def __init__(self, answers=0, **parts):
        self.answers, self.parts = answers, parts

    @classmethod
    def of(cls, answers):
        """The digest of {id: answer}."""
        sums = {part: hashlib.sha256() for part in cls.PARTS}
        for id in sorted(answers):
            values = comparing.flattened(answers[id], ("error", "fields"))
            lines = {"values": values, "rounded": {name: rounded(name, value) for name, value in values.items()},
                     "notes": comparing.flattened(answers[id], comparing.NOTES)}
            for part, line in lines.items():
                sums[part].update(json.dumps([id, line], sort_keys=True).encode() + b"\n")
        return cls(len(answers), **{part: sum.hexdigest()[:16] for part, sum in sums.items()})

    def differences(self, other, notes=True, exact=False):
        """In words, what another digest of the same group has that this one has not."""
        if self.answers != other.answers:
            return [f"{self.answers} answers became {other.answers}"]
        said = {"values" if exact else "rounded": "values", "notes": "notes"}
        return [f"other {what}" for part, what in said.items()
                if self.parts[part] != other.parts[part] and (notes or what != "notes")]

    def last_digits(self, other):
        """Whether the values are the same to as many digits as must agree, and no further."""
        return self.parts["rounded"] == other.parts["rounded"] and self.parts["values"] != other.parts["values"]


def digests(answers):
    """{group: Digest} of {id: answer}."""
    groups = collections.defaultdict(dict)
    for id, answer in answers.items():
        groups[group_of(id, answer)][id] = answer
    return {group: Digest.of(members) for group, members in groups.items()}


def covered(id, answer):
    """What an answer is an example of: its group, its error, what its levels say, and the question that it answers."""
    yield group_of(id, answer)
    kind = kind_of(id)
    if "error" in answer:
        yield kind, answer["error"]
    for name, value in (answer.get("fields") or {}).items():
        if name.endswith("status"):
            yield kind, name, value
    parts = id.split("/")
    if parts[0] == "question":
        yield parts[1], parts[3] if len(parts) > 3 else ""


def chosen(answers):
    """Answers that together are an example of everything; the order of choice is one of digests, so that a new answer
    changes the choice little."""
    have, out = set(), {}
    for id in sorted(answers, key=lambda id: hashlib.sha256(id.encode()).digest()):
        new = set(covered(id, answers[id])) - have
        if new and not id.startswith("units/"):
            have |= new
            out[id] = answers[id]
    return out
