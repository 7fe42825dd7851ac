"""mlsysim validate: tables, records, tables of the user, refusals."""

import csv
import pathlib
import re
import xml.etree.ElementTree

import pytest

DEFINITION = """schema: mlsysim/validation@1
title: "two products"
data: mine.csv
source: {kind: measured, ref: own, recorded: 2026-11-21}
measurand: matrix_product
measured: {value: latency, unit: us}
inputs: {hardware: H100, precision: bf16, rows: m, columns: m, depth: m}
labels: [m]
"""


@pytest.fixture
def tables(tmp_path):
    folder = tmp_path / "tables" / "mine"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(DEFINITION)
    (folder / "mine.csv").write_text("m,latency\n4096,200\n8192,1500\n")
    return tmp_path / "tables"


def test_one_table(run):
    done = run("validate", "megatron_recompute_table5_a100", "-o", "json")
    assert done.code == 0, done.err
    (table,) = done.json()["tables"]
    assert table["table"] == "training/megatron_recompute_table5_a100"
    assert table["errors"]["rows"] == 8 and table["records"] == 8
    assert len(table["worst"]) == 5
    assert table["roofline"]["median"] > table["errors"]["median"]
    worst = table["worst"][0]
    assert abs(worst["error"]) == table["errors"]["max"]
    assert worst["predicted"] == pytest.approx(worst["measured"] * (1 + worst["error"]))


def test_a_topic_and_the_list(run):
    done = run("validate", "memory", "-o", "csv")
    assert done.code == 0
    assert all(line.startswith("memory/") for line in done.out.splitlines()[1:])
    listed = run("validate", "--list", "-o", "csv").out.splitlines()
    assert len(listed) > 55
    text = run("validate", "memory/megatron_recompute_fig1_states").out
    assert "model turing-530B" in text and "optimizer states" in text


def test_tables_of_the_user(run, tables, tmp_path):
    done = run("validate", "--tables", tables, "-o", "json")
    assert done.code == 0, done.err
    assert done.json()["tables"][0]["errors"]["rows"] == 2
    page = tmp_path / "page.html"
    assert run("validate", "--tables", tables, "--html", page).code == 0
    html = page.read_text()
    svg = html[html.index("<svg"): html.index("</svg>") + 6]
    assert len(xml.etree.ElementTree.fromstring(svg).findall("circle")) == 2


def test_files_of_other_kinds_are_skipped(run, refused, tables):
    (tables / "zoo").mkdir()
    (tables / "zoo" / "devices.yaml").write_text("schema: mlsysim/hardware@1\nentries: []\n")
    done = run("validate", "--tables", tables, "-o", "json")
    assert done.code == 0, done.err
    assert [t["table"] for t in done.json()["tables"]] == ["mine/mine"] and "zoo/devices.yaml" in done.err
    (tables / "zoo" / "devices.yaml").write_text("title: a definition without its schema\n")
    refused("validate", "--tables", tables, parts=["devices.yaml", "schema"])


def test_a_folder_with_references_is_read_beside_the_zoo(run, tmp_path):
    (tmp_path / "references.yaml").write_text('schema: mlsysim/references@1\nentries:\n- {key: our-cluster, text: "our cluster"}\n')
    done = run("zoo", "show", "H100", "--zoo", tmp_path, "-o", "json")
    assert done.code == 0, done.err


def test_rows_that_disagree_are_refused_and_forced(run, refused, tables):
    (tables / "mine" / "mine.csv").write_text("m,latency\n4096,200\n8192,1500\n4096,400\n")
    words = ("calibrate", "--device", "H100", "--table", tables / "mine" / "mine.yaml", "--constant", "efficiency.matrix")
    refused(*words, parts=["m 4096", "factor of 2.00", "--force"])
    done = run(*words, "--force", "-o", "json")
    assert done.code == 0, done.err
    assert done.json()["rows"] == 3


def test_a_fit_that_makes_systems_worse_is_refused(run, tables, tmp_path):
    """Streams at half of the bandwidth: a device that serves as fast as published cannot have it."""
    (tables / "mine" / "slow.yaml").write_text(DEFINITION.replace("mine.csv", "slow.csv").replace("matrix_product", "memory_stream").replace(
        "unit: us", "unit: GB/s").replace("precision: bf16, rows: m, columns: m, depth: m", "values: m, reads: 2, writes: 1"))
    (tables / "mine" / "slow.csv").write_text("m,latency\n" + "".join(f"{2 ** n},{1400 + n}\n" for n in range(24, 32)))
    overlay = tmp_path / "h100.yaml"
    words = ("calibrate", "--device", "H100", "--table", tables / "mine" / "slow.yaml", "--constant", "efficiency.memory", "--write", overlay)
    done = run(*words, "-o", "json")
    assert done.code == 3 and not overlay.exists() and "refused" in done.err
    worse = [s for s in done.json()["systems"] if s["worse"]]
    assert worse and all(s["after"] > s["before"] for s in worse) and all(s["table"] in done.err for s in worse)
    assert run(*words, "--force").code == 0 and overlay.exists()


def test_check_against_a_record(run, tables):
    record = tables / "record.yaml"
    assert run("validate", "--tables", tables, "--write-record").code == 0
    assert "mine/mine: {rows: 2," in record.read_text()
    assert run("validate", "--tables", tables, "--check").code == 0
    (tables / "mine" / "mine.csv").write_text("m,latency\n4096,2000\n8192,15000\n")
    done = run("validate", "--tables", tables, "--check")
    assert done.code == 3
    assert "worse: mine/mine: median error: recorded" in done.err
    (tables / "mine" / "mine.csv").write_text("m,latency\n4096,200\n")
    done = run("validate", "--tables", tables, "--check")
    assert done.code == 3 and "rows: recorded 2, found 1" in done.err
    (tables / "mine" / "mine.yaml").rename(tables / "mine" / "other.yaml")
    done = run("validate", "--tables", tables, "--check")
    assert done.code == 3 and "worse: mine/mine: rows, the table is not compared any more: recorded 2, found 0" in done.err
    assert "mine/mine" not in run("validate", "mine/other", "--tables", tables, "--check").err


def test_refusals(refused, tables):
    refused("validate", "nothing", parts=["there is no table 'nothing'", "mlsysim validate --list"])
    refused("validate", "--tables", tables / "not_there", parts=["cannot be read"])
    refused("validate", "mlperf", "--write-record", parts=["no table"])
    (tables / "mine" / "mine.csv").write_text("m,latency\n4096,fast\n")
    refused("validate", "--tables", tables, parts=["mine.csv:2:6", "'fast'", "not a number"])
    (tables / "mine" / "mine.csv").write_text("m,latency\n4096,200\n")
    (tables / "mine" / "mine.yaml").write_text(DEFINITION.replace("H100", "H1000"))
    refused("validate", "--tables", tables, parts=["the zoo has no hardware 'H1000'", "H100"])


def test_every_definition_is_installed_beside_the_zoo(run):
    here = pathlib.Path(__file__).parents[2] / "zoo" / "validation"
    listed = {line.split(",")[0] for line in run("validate", "--list", "-o", "csv").out.splitlines()[1:]}
    assert listed == {p.relative_to(here).with_suffix("").as_posix() for p in here.glob("*/*.yaml")}


def test_large_tables_ship_as_samples():
    """A table of more than 300 records stays where it comes from; its definition says how many there are."""
    here = pathlib.Path(__file__).parents[2] / "zoo" / "validation"
    sizes = {}
    for path in here.glob("*/*.csv"):
        with path.open(newline="") as file:
            sizes[path] = sum(1 for _ in csv.DictReader(file))
    assert len(sizes) > 50 and {p.name: n for p, n in sizes.items() if n > 300} == {}
    for definition in here.glob("*/*.yaml"):
        said = dict(re.findall(r"^(data|sample_of): (\S+)$", definition.read_text(), re.M))
        assert "sample_of" not in said or sizes[definition.parent / said["data"]] < int(said["sample_of"]), definition


STREAMS = "hardware,values,reads,writes,measured [GB/s]\n" + "".join(
    f"A100,{2 ** n},{r},1,{(r + 1) * 8 * 2 ** n / (6e-6 + (r + 1) * 8 * 2 ** n / 1.4e12) / 1e9}\n" for n in range(20, 30) for r in (1, 2))


def test_residuals_of_own_measurements(run, refused, tmp_path):
    (tmp_path / "own.csv").write_text(STREAMS)
    done = run("compare", "--against", tmp_path / "own.csv", "--measurand", "memory_stream", "-o", "csv")
    assert done.code == 0, done.err
    shares = [float(line.split(",")[2]) for line in done.out.splitlines()[1:]]
    assert shares == sorted(shares, reverse=True) and shares[0] > 0.5
    refused("compare", "--against", tmp_path / "own.csv", "--measurand", "matrix_product", parts=["no input of 'matrix_product'", "label reads"])
    (tmp_path / "short.csv").write_text("hardware,rows\nA100,1\n")
    refused("compare", "--against", tmp_path / "short.csv", "--measurand", "matrix_product", parts=["lacks columns", "measured, columns, depth"])
    refused("compare", "--against", tmp_path / "own.csv", "--measurand", "memory_strem", parts=["memory_stream"])
    assert "inputs at their defaults: value_bytes (8, doubles)" in done.err
    refused("compare", "--against", tmp_path / "own.csv", parts=["no measurand", "--measurand token_time"])
    (tmp_path / "typo.csv").write_text(STREAMS.replace("values,", "value_bites,", 1))
    refused("compare", "--against", tmp_path / "typo.csv", "--measurand", "memory_stream", parts=["'value_bites'", "did you mean 'value_bytes'"])


def test_residuals_of_a_table_that_is_not_compared(refused):
    table = pathlib.Path(__file__).parents[2] / "zoo" / "validation" / "collectives" / "allreduce_4node_pytorch_sweep.yaml"
    refused("compare", "--against", table, parts=["the table is kept without being compared", "which devices"])
    refused("compare", "--against", table, "--measurand", "collective", parts=["states its measurand itself"])


def test_calibration_writes_an_overlay_that_predicts_better(run, refused, tmp_path):
    table = "kernels/azure_hbm_a100_h100"
    overlay = tmp_path / "a100.yaml"
    done = run("calibrate", "--device", "A100", "--table", table, "--constant", "efficiency.memory", "--write", overlay,
               "--date", "2026-11-21", "-o", "json")
    assert done.code == 0, done.err
    fit = done.json()
    (constant,) = fit["constants"]
    assert constant["identified"] and constant["low"] <= constant["value"] <= constant["high"]
    assert fit["after"]["bias"] ** 2 <= fit["before"]["bias"] ** 2
    text = overlay.read_text()
    assert "recorded: 2026-11-21" in text and "fitted to 5 rows" in text
    shown = run("zoo", "show", "A100_calibrated", "--zoo", overlay)
    assert shown.code == 0, shown.err
    plain = ("validate", table, "--zoo", overlay, "-o", "json")
    before, after = (run(*plain, *more).json()["tables"][0]["errors"] for more in ((), ("--with", "A100=A100_calibrated")))
    assert before["rows"] == after["rows"] and before["mean"] != after["mean"]
    assert abs(after["mean"] - before["mean"]) < 0.05
    refused(*plain, "--with", "A100=A100_calibrate", parts=["the zoo has no device 'A100_calibrate'", "did you mean 'A100_calibrated'"])
    refused(*plain, "--with", "vlm=A100", parts=["no device or engine 'vlm'"])
    refused(*plain, "--with", "V100=A100_calibrated", parts=["no row of these tables names 'V100'"])
    refused(*plain, "--with", "A100=A100_calibrated", "--write-record", "--record", tmp_path / "r.yaml", parts=["are those of the zoo"])
    refused("calibrate", "--device", "A100", "--table", table, "--constant", "efficiency.memory", "--write", overlay, "--date", "hello",
            parts=["'hello'", "YYYY-MM-DD"])
    refused("calibrate", "--device", "A101", "--table", table, parts=["A100"])
    refused("calibrate", "--table", table, parts=["neither --device nor --engine", "calibrate --device H100"])
    refused("calibrate", "--device", "V100", "--table", table, parts=["no row of these tables is measured on the device 'V100'"])
