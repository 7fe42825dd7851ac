"""Predictions against published measurements, calibration of devices and engines, and what explains residuals.

>>> from mlsysim import validation
>>> [table] = validation.validate("kernels/azure_hbm_a100_h100")
>>> table["errors"]["rows"]
10
"""

import json

from . import _mlsysim as _c
from .arguments import _texts


def tables(folder=""):
    """Names of the measured tables: those of the zoo, or those below a folder."""
    return _c._table_names(str(folder))


def validate(*names, folder=""):
    """Predicts the rows of tables (all of them without names) and returns one dict for each.

    Errors are shares of the measured value; `left_out` says which rows were not compared and why, `textbook` and `roofline`
    give the errors of simpler models, `without` those with one term taken away, `worst` the worst five rows.
    """
    return json.loads(_c._validate([str(n) for n in names], str(folder)))["tables"]


class Calibration:
    """A fit of the constants of a device or engine. `result` is what `mlsysim calibrate -o json` prints."""

    def __init__(self, fit):
        self._fit = fit
        self.result = json.loads(fit.json)

    @property
    def constants(self):
        """Field of the device or engine -> dict with value, p10 to p90 spread, prior, and whether the data identify it."""
        return {c["field"]: c for c in self.result["constants"]}

    def interval(self, table, row, folder=""):
        """p10, p50, p90 of a row of a table [base unit], the measured value, and the inputs that lie beyond the fit's rows."""
        return self._fit.interval(str(table), row, str(folder))

    def overlay(self, date):
        """The device or engine with its fitted constants, as the text of a zoo file. `date` of the fit: "2026-11-21"."""
        return self._fit.overlay(date)

    def __repr__(self):
        return self._fit.text


def calibrate(device, *names, constants=(), folder=""):
    """Fits the constants of a device to the rows of tables that were measured on it. Returns a Calibration."""
    return Calibration(_c._calibrate("device", device, [str(n) for n in names], _texts(constants), str(folder)))


def calibrate_engine(engine, *names, constants=(), folder=""):
    """Fits the host times of a serving engine to the rows of tables that were measured with it. Returns a Calibration."""
    return Calibration(_c._calibrate("engine", engine, [str(n) for n in names], _texts(constants), str(folder)))


def compare(csv, measurand):
    """What explains how measurements in a CSV file differ from predictions: one dict for each explanation, best first."""
    return _c._compare(str(csv), measurand)
