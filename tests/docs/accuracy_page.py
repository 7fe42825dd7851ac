"""Predictions are within the record, and docs/reference/accuracy.md is the page of the present ones.

usage: accuracy_page.py PROGRAM
"""

import difflib
import os
import pathlib
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/accuracy.md"


def main():
    # The page is that of the samples that ship, wherever a shell names whole tables.
    environment = {name: value for name, value in os.environ.items() if name != "MLSYSIM_TABLES"}
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "accuracy.md"
        done = subprocess.run([sys.argv[1], "validate", "--check", "--page", made, "-o", "csv"], env=environment,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"validate --check ended with {done.returncode}\n{done.stderr}")
        new = made.read_text()
    difference = list(difflib.unified_diff(PAGE.read_text().splitlines(), new.splitlines(), PAGE.name, "now", lineterm=""))
    print("\n".join(difference) or f"{PAGE.name}: {len(new.splitlines())} lines, as predicted now")
    raise SystemExit(1 if difference else 0)


main()
