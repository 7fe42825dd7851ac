"""Answers as tables of a notebook."""

from html.parser import HTMLParser

import pytest

import mlsysim


class Cells(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.heads = [], [], []
        self.feed(text)
        assert not self.open, f"{self.open} is not closed"

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.rows[-1].append(data)
        elif self.open and self.open[-1] == "th":
            self.heads.append(data)


@pytest.fixture(scope="module")
def chat():
    return mlsysim.ask(mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100)


AXES = {"batch_size": "1..64", "precision": ["bf16", "fp8"]}
ANSWERS = {
    "sensitivity": lambda s: s.sensitivity("itl"),
    "difference": lambda s: s.compare(mlsysim.ask(mlsysim.Models.Llama3_8B, mlsysim.Hardware.A100), "itl"),
    "uncertainty": lambda s: s.uncertainty(results=["itl"], samples=64),
    "solution": lambda s: s.solve("itl <= 10 ms", "batch_size"),
    "exploration": lambda s: s.optimize(AXES, minimize="itl", top=3),
    "front": lambda s: s.pareto(AXES, minimize=["itl", "cost_per_token"]),
    "nothing": lambda s: s.optimize(AXES, minimize="itl", subject_to="itl <= 1 us"),
    "sweep": lambda s: s.sweep(AXES, show=["itl"]),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_is_a_table(chat, name):
    cells = Cells(ANSWERS[name](chat)._repr_html_())
    rows = [row for row in cells.rows if row]
    assert rows and cells.heads and all(len(row) <= len(cells.heads) for row in rows)


def test_a_long_answer_shows_its_first_rows(chat):
    text = chat.sweep(AXES, show=["itl"])._repr_html_()
    assert len([row for row in Cells(text).rows if row]) == 20 and "108 more rows" in text


def test_names_are_escaped():
    from mlsysim.notebook import table

    assert "<script>" not in table("<script>", ("<script>",), [("<script>",)], "<script>")


def test_keys_are_completed(chat):
    assert "hardware.memory.bandwidth" in chat.sensitivity("itl")._ipython_key_completions_()
    assert chat.sweep({"batch_size": [1, 2]}, show=["itl"])._ipython_key_completions_() == ["batch_size", "itl"]
