"""Every row of docs/explanation/differences.md names a test case that exists."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[2]


def main():
    tests = set()
    for path in [*(ROOT / "tests" / "unit").rglob("*.cpp"), *(ROOT / "tests" / "identity").glob("*.cpp")]:
        tests.update(re.findall(r'TEST_CASE\("((?:[^"\\]|\\.)*)"', path.read_text()))
    for path in (ROOT / "tests" / "python").glob("test_*.py"):
        tests.update(re.findall(r"^def (test_\w+)\(", path.read_text(), re.M))
    rows = [line for line in (ROOT / "docs/explanation/differences.md").read_text().splitlines()
            if line.startswith("| ") and not line.startswith(("| question", "| ---"))]
    wrong = 0
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        name = cells[-1].strip("` ")
        if len(cells) != 5 or name not in tests:
            print(f"no such test, or not five cells: {row}")
            wrong += 1
    if len(rows) < 20:
        print(f"only {len(rows)} differences were found in the page")
    return 1 if wrong or len(rows) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
