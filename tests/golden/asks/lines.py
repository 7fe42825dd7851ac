"""The short language in which asks are written down, one or many on a line.

    serve Llama3_70B H100 x8 bf16 b{1,16} operator {tp8,tp4 pp2}

is four asks, because every pair of braces stands for each of its choices. Words are a mode, a model, a place,
and then in any order: a number behind a short name (`b16`: batch_size, see SHORT), a precision, a fidelity,
or `key=value`.
"""

import re

SHORT = {
    "x": "accelerators", "b": "batch_size", "seq": "seq_len", "out": "output_tokens", "days": "duration_days",
    "tp": "tp_size", "pp": "pp_size", "ep": "ep_size", "cp": "cp_size", "dp": "dp_size", "v": "v_stages",
    "zero": "zero_stage", "mbs": "microbatch_size", "mbc": "microbatch_count",
    "acc": "gradient_accumulation_steps",
}
PRECISIONS = {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "mxint4", "int8", "int4", "mxint8"}
FIDELITIES = {"operator", "textbook"}
# Options that stand between slashes in the name of a scenario; the others are joined by commas behind them.
_LEADING = {"accelerators", "batch_size", "precision", "fidelity"}


class Ask:
    """A question with a readable name; calling `ask` gives the object that the library answers with.

    Without `assumptions` those of the answer are not kept: most say the same as those of its neighbours.
    """

    __slots__ = ("id", "ask", "assumptions")

    def __init__(self, id, ask, assumptions=True):
        self.id, self.ask, self.assumptions = id, ask, assumptions


def expand(text):
    """Every text that the braces of one text stand for, in the order of the choices."""
    head, brace, rest = text.partition("{")
    if not brace:
        return [head]
    choices, _, tail = rest.partition("}")
    return [head + choice + end for choice in choices.split(",") for end in expand(tail)]


def lines(text):
    """The expanded lines of a table; empty ones and comments (#) are left out."""
    return (line for line, _ in marked_lines(text))


def marked_lines(text):
    """(line, whether it is the first or last one of its braces): those between assume what these do."""
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if line:
            expanded = expand(line)
            for i, one in enumerate(expanded):
                yield " ".join(one.split()), i in (0, len(expanded) - 1)


def value(text):
    """A value as the library takes it: a flag, a number, or a text (a name, or a quantity with its unit)."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def option(word):
    """(key, value) of a word: 'tp8', 'bf16', 'operator' or 'key=value'."""
    key, equals, text = word.partition("=")
    if equals:
        return SHORT.get(key, key), value(text)
    if word in PRECISIONS:
        return "precision", word
    if word in FIDELITIES:
        return "fidelity", word
    found = re.fullmatch(r"([a-z]+)([\d.]+)", word)
    if found and found[1] in SHORT:
        return SHORT[found[1]], value(found[2])
    raise ValueError(f"cannot read the word '{word}'")


def options(words):
    """{key: value} of words; a key that comes twice is a mistake of the table."""
    out = {}
    for word in words:
        key, what = option(word)
        if key in out:
            raise ValueError(f"'{key}' is said twice in '{' '.join(words)}'")
        out[key] = what
    return out


def name_of(fixed, words):
    """serve/Llama3_70B/H100/x8/bf16/b16/operator/tp4,pp2"""
    leading = [word for word in words if option(word)[0] in _LEADING]
    trailing = [word for word in words if word not in leading]
    return "/".join([*fixed, *leading, *([",".join(trailing)] if trailing else [])])
