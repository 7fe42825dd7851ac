"""mlsysim.validation: tables, calibration with intervals, residuals."""

import math

import pytest

import mlsysim
from mlsysim import validation


def test_a_table():
    (table,) = validation.validate("kernels/azure_hbm_a100_h100")
    assert table["errors"]["rows"] == 10
    assert table["errors"]["median"] < table["roofline"]["median"]
    assert sum(group["rows"] for group in table["left_out"]) == table["records"] - 10
    assert "kernels/azure_hbm_a100_h100" in validation.tables()


def test_a_calibration_its_interval_and_its_overlay(tmp_path):
    fit = validation.calibrate("A100", "kernels/azure_hbm_a100_h100", constants="efficiency.memory")
    constant = fit.constants["efficiency.memory"]
    assert constant["identified"] and 0.7 < constant["value"] < 0.95
    interval = fit.interval("kernels/azure_hbm_a100_h100", 0)
    assert interval["p10"] < interval["p50"] < interval["p90"]
    assert interval["extrapolated"] == []
    assert math.isclose(interval["measured"], 1.61e12)
    overlay = tmp_path / "a100.yaml"
    overlay.write_text(fit.overlay("2026-11-21"))
    device = mlsysim.zoo.load(overlay)["A100_calibrated"]
    assert device.name == "A100_calibrated"
    assert "efficiency.memory" in repr(fit)


def test_residuals_of_own_measurements(tmp_path):
    csv = tmp_path / "mine.csv"
    csv.write_text("hardware,rows,columns,depth,measured [us]\n" + "".join(f"A100,{n},{n},{n},{20 + n / 64}\n" for n in (64, 128, 256, 512)))
    explanations = validation.compare(csv, "matrix_product")
    assert explanations[0]["explained"] >= explanations[-1]["explained"]
    assert {e["term"] for e in explanations} >= {"fixed time", "everything", "launch"}


def test_refusals(tmp_path):
    with pytest.raises(mlsysim.errors.LookupError, match="there is no table 'nothing'"):
        validation.validate("nothing")
    with pytest.raises(mlsysim.errors.LookupError, match="efficiency.memory"):
        validation.calibrate("A100", "kernels/azure_hbm_a100_h100", constants=["efficiency.memery"])
    csv = tmp_path / "mine.csv"
    csv.write_text("hardware,rows\nA100,1\n")
    with pytest.raises(mlsysim.errors.InputError, match="measured, columns, depth"):
        validation.compare(csv, "matrix_product")
