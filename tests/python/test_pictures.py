"""Pictures and reports of answers."""

import csv
import html
import io
import json
import pathlib
import re
import shlex
from xml.etree import ElementTree

import pytest

import mlsysim
from mlsysim.__main__ import main as program


@pytest.fixture(scope="module")
def card():
    return mlsysim.SystemEvaluator.evaluate("chat", mlsysim.Models.Llama3_70B, mlsysim.Hardware.H100, 16, accelerators=8)


@pytest.mark.parametrize("kind", ["waterfall", "roofline", "timeline", "memory", "costs", "carbon", "tornado"])
def test_every_picture_of_a_card_has_its_forms(card, kind, tmp_path):
    picture = card.plot(kind)
    assert picture.kind == kind and picture.sources and picture.description
    assert picture.svg().count("<svg") == 1 and "<title>" in picture.svg() and '="nan' not in picture.svg()
    assert picture._repr_svg_() == picture.svg()
    bundle = picture._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"]["description"] == picture.description
    for name in ("p.svg", "p.html", "p.vl.json", "p.json", "p.csv", "p.txt"):
        assert picture.save(tmp_path / name).stat().st_size > 100
    assert str(picture).startswith(picture.title)


def test_the_numbers_are_those_of_the_card(card):
    (table,) = card.plot("waterfall", "itl").data()["tables"]
    assert table["rows"][-1]["to"] == card.performance["itl"].m_as(table["columns"][3]["unit"])
    events = json.loads(card.trace("itl"))["traceEvents"]
    assert sum(e["ph"] == "X" for e in events) > 400


def test_a_front_and_rows_are_drawn():
    chat = mlsysim.ask(mlsysim.Models.Llama3_8B, mlsysim.Hardware.H100)
    front = chat.pareto({"batch_size": "1..64*2"}, minimize="itl", maximize="token_throughput")
    spec = front.plot().vega()
    points = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "point")["data"]["values"]
    assert len(points) == len(front.front)
    assert points[0]["x"] == min(p.objectives["itl"] for p in front.front).m_as(re.search(r"\[(.*)\]", spec["layer"][0]["encoding"]["x"]["title"])[1])
    rows = chat.sweep({"batch_size": "1..64*2", "precision": ["bf16", "fp8"]}, show=["itl"])
    assert rows.plot("batch_size", "itl", series="precision").svg().count("<polyline") == 2
    with pytest.raises(mlsysim.errors.InputError, match="no such column"):
        rows.plot("batch")
    with pytest.raises(mlsysim.errors.InputError, match="front"):
        chat.optimize({"batch_size": "1..4"}, minimize="itl").plot()


def test_what_there_is_not_is_said(card):
    with pytest.raises(mlsysim.errors.LookupError, match="roofline"):
        card.plot("rofline")
    with pytest.raises(mlsysim.errors.InputError, match="pipeline"):
        card.plot("schedule")


def test_a_report_is_one_page_that_runs_nothing(card, tmp_path):
    other = mlsysim.SystemEvaluator.evaluate("chat", mlsysim.Models.Llama3_70B, mlsysim.Hardware.H200, 16, accelerators=8)
    page = card.report(against=other)
    for part in ("What limits it", "Against Llama3_70B on 8 x H200", "The nearest measurements", "<details><summary>itl = ", "default-src 'none'"):
        assert part in page
    assert "<script" not in page and "src=" not in page
    assert card.report(tmp_path / "chat.md").read_text().startswith("# Llama3")


GALLERY = pathlib.Path(__file__).parents[2] / "docs" / "gallery.md"
LINES = [shlex.split(line.replace("\\\n", " "))[1:-2] for line in re.findall(r"^```sh\n(mlsysim plot .*? -o svg)\n```$", GALLERY.read_text(), re.M | re.S)]


@pytest.mark.parametrize("words", LINES, ids=lambda words: words[1])
def test_every_kind_has_every_form(words, capfdbinary):
    """The lines of the gallery, which has every kind: each form is what it is called, and all show the same."""
    def form(*more):
        assert program(["--no-plugins", *words, *more]) == 0
        return capfdbinary.readouterr().out

    svg = form("-o", "svg").decode()
    title = html.unescape(re.search(r"<title>(.*?)</title>", svg, re.S)[1])
    assert ElementTree.fromstring(svg).tag.endswith("svg") and re.search(r"<desc[ >]", svg) and "nan" not in re.sub(r">[^<]*<", "><", svg)
    assert title in html.unescape(form("-o", "html").decode()) and title.split(",")[0] in form().decode()
    vega, data = json.loads(form("-o", "vega")), json.loads(form("-o", "json"))
    assert "vega-lite" in vega["$schema"] and data["kind"].replace("_", "-") in (words[1], "front", "heat-map")
    # CSV is one table: that of a mark.
    lines = len(list(csv.reader(io.StringIO(form("-o", "csv").decode())))) - 1
    assert lines > 0 and lines in [len(table["rows"]) for table in data["tables"]]
