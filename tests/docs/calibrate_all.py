"""scripts/calibrate-all on the samples that ship: what it fits, what it refuses, and an overlay that the zoo takes.

usage: calibrate_all.py MLSYSIM
"""

import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/calibrate-all"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def median(*more):
    code, text = run(PROGRAM, "validate", "collectives/aiconfigurator_nccl_a100_node", "-o", "csv", *more)
    assert code == 0, text
    header, row = text.splitlines()[:2]
    return float(dict(zip(header.split(","), row.split(",")))["median"])


def a_constant_that_its_data_do_not_identify_is_refused(report, overlay):
    """The sample of gathers has too few rows to tell what copies cost: no range, no note of a fit, no new value."""
    line = next(l for l in report.splitlines() if "collectives.copy_ratio" in l)
    assert "refused" in line and re.search(r"2\.76 -> 2\.76", line), line
    assert "copy_ratio" not in overlay
    assert "refused  A100 collectives.copy_ratio" in report


def one_overlay_has_the_fits_of_all_lines(report, overlay):
    assert report.count("device A100: ") == 3, report
    for table in ("gemm_bf16_a100", "attention_decode_a100", "nccl_a100_node"):
        assert re.search(rf'note: "fitted to \d+ rows of [^"]*{table}', overlay), table
    for figure in re.findall(r"value: .*\n(?:(?!value:).*\n)*?.*fitted to", overlay):
        assert "range: [" in figure, figure


def the_overlay_predicts(folder):
    fitted = median("--zoo", str(folder), "--with", "A100=A100_calibrated")
    assert fitted < 1.1 * median(), fitted


def unknown_names_and_open_figures_end_badly():
    code, text = run(sys.executable, SCRIPT, "--program", PROGRAM, "--only", "H101")
    assert code != 0 and "H101" in text, text


with tempfile.TemporaryDirectory() as folder:
    code, report = run(sys.executable, SCRIPT, "--program", PROGRAM, "--only", "A100", "--write", folder, "--strict")
    assert code == 3, report  # a sample identifies less than the whole tables do
    overlay = (pathlib.Path(folder) / "A100.yaml").read_text()
    a_constant_that_its_data_do_not_identify_is_refused(report, overlay)
    one_overlay_has_the_fits_of_all_lines(report, overlay)
    the_overlay_predicts(folder)
    unknown_names_and_open_figures_end_badly()
