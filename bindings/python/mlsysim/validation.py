"""Predictions against published measurements, and calibration of devices and engines.

>>> from mlsysim import validation
>>> [table] = validation.validate("kernels/azure_hbm_a100_h100")
>>> table["errors"]["rows"]
10
"""

import json

from . import _mlsysim as _c
from .arguments import _texts


def tables(folder=""):
    """List measured tables.

    Parameters
    ----------
    folder : path, optional
        A folder with tables; without one, those of the zoo.

    Returns
    -------
    list of str

    Examples
    --------
    >>> "kernels/azure_hbm_a100_h100" in tables()
    True
    """
    return _c._table_names(str(folder))


def validate(*names, folder=""):
    """Predict the rows of measured tables and compute the errors.

    Parameters
    ----------
    *names : str
        Tables; all of them without names.
    folder : path, optional
        A folder with tables; without one, those of the zoo.

    Returns
    -------
    list of dict
        One for each table. Errors are shares of the measured value. left_out lists rows that were not compared, with the reason;
        textbook, roofline and without are errors of simpler models; worst has the worst five rows.

    Raises
    ------
    LookupError
        There is no such table.

    Examples
    --------
    >>> validate("kernels/azure_hbm_a100_h100")[0]["errors"]["rows"]
    10
    """
    return json.loads(_c._validate([str(n) for n in names], str(folder)))["tables"]


class Calibration:
    """Fitted constants of a device or engine; `calibrate` makes it.

    Attributes
    ----------
    result : dict
        What `mlsysim calibrate -o json` prints.
    """

    def __init__(self, fit):
        self._fit = fit
        self.result = json.loads(fit.json)

    @property
    def constants(self):
        """{field: {value, spread, prior, ...}} of the fitted constants, and whether the data identify each."""
        return {c["field"]: c for c in self.result["constants"]}

    def interval(self, table, row, folder=""):
        """Compute the interval of a row of a table.

        Parameters
        ----------
        table : str
            The table.
        row : int
            Its row, from 0.
        folder : path, optional
            Folder of the table.

        Returns
        -------
        dict
            p10, p50, p90 and measured [base unit], and extrapolated: inputs beyond the rows of the fit.

        Raises
        ------
        LookupError
            There is no such table or row.

        Examples
        --------
        >>> fit = calibrate("A100", "kernels/azure_hbm_a100_h100", constants="efficiency.memory")
        >>> row = fit.interval("kernels/azure_hbm_a100_h100", 0)
        >>> row["p10"] < row["p50"] < row["p90"]
        True
        """
        return self._fit.interval(str(table), row, str(folder))

    def overlay(self, date):
        """Write the device or engine with its fitted constants.

        Parameters
        ----------
        date : str
            Date of the fit: "2026-11-21".

        Returns
        -------
        str
            Text of a zoo file.

        Examples
        --------
        >>> fit = calibrate("A100", "kernels/azure_hbm_a100_h100", constants="efficiency.memory")
        >>> "A100_calibrated" in fit.overlay("2026-11-21")
        True
        """
        return self._fit.overlay(date)

    def __repr__(self):
        return self._fit.text


def calibrate(device, *names, constants=(), folder=""):
    """Fit the constants of a device to measured tables.

    Parameters
    ----------
    device : str
        Name of the device.
    *names : str
        Tables with rows of the device, at least one.
    constants : iterable of str, optional
        Fields to fit; all without any.
    folder : path, optional
        A folder with tables; without one, those of the zoo.

    Returns
    -------
    Calibration

    Raises
    ------
    LookupError
        A device, table or constant is not known.
    InputError
        No row of the tables was measured on the device.

    Examples
    --------
    >>> fit = calibrate("A100", "kernels/azure_hbm_a100_h100", constants="efficiency.memory")
    >>> 0.5 < fit.constants["efficiency.memory"]["value"] < 1
    True
    """
    return Calibration(_c._calibrate("device", device, [str(n) for n in names], _texts(constants), str(folder)))


def calibrate_engine(engine, *names, constants=(), folder=""):
    """Fit the host times of a serving engine to measured tables.

    Parameters
    ----------
    engine : str
        Name of the engine.
    *names : str
        Tables with rows of the engine, at least one.
    constants : iterable of str, optional
        Fields to fit; all without any.
    folder : path, optional
        A folder with tables; without one, those of the zoo.

    Returns
    -------
    Calibration

    Raises
    ------
    LookupError
        An engine, table or constant is not known.
    InputError
        No row of the tables was measured with the engine.

    Examples
    --------
    >>> calibrate_engine("vllm", "kernels/azure_hbm_a100_h100").constants                   # doctest: +SKIP
    """
    return Calibration(_c._calibrate("engine", engine, [str(n) for n in names], _texts(constants), str(folder)))


def compare(csv, measurand):
    r"""Explain the differences between measurements in a CSV file and predictions.

    Parameters
    ----------
    csv : path
        File with the inputs as columns, and the column "measured [UNIT]".
    measurand : str
        What was measured, such as "token_time" or "matrix_product".

    Returns
    -------
    list of dict
        Explanations, best first: term, factor, explained, median_before, median_after and advice.

    Raises
    ------
    InputError
        The file cannot be read.

    Examples
    --------
    >>> with open("mine.csv", "w") as file:
    ...     _ = file.write("hardware,rows,columns,depth,measured [us]\nA100,64,64,64,21\nA100,256,256,256,24\nA100,512,512,512,28\n")
    >>> "launch" in [row["term"] for row in compare("mine.csv", "matrix_product")]
    True
    """
    return _c._compare(str(csv), measurand)
