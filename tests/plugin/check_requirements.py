"""Every requirement of plugins has a line in tests/plugin/requirements.md, and every test that the page names exists.

usage: check_requirements.py <source folder> <mlsysim-plugin-check>
"""

import pathlib
import re
import subprocess
import sys

SOURCE, KIT = pathlib.Path(sys.argv[1]), sys.argv[2]
PAGE = SOURCE / "tests/plugin/requirements.md"
# How many requirements each group has.
GROUPS = {"ABI": 14, "ENT": 7, "DISC": 8, "LIFE": 13, "CAP": 6, "SUP": 7, "ERR": 5, "VER": 5, "SAFE": 6, "PY": 5, "CTS": 4}


def ctests():
    names = set()
    for file in [*SOURCE.glob("tests/**/CMakeLists.txt"), *SOURCE.glob("cmake/*.cmake")]:
        text = file.read_text()
        loops = re.findall(r"foreach\((\w+) ([^)]*)\)", text)
        for name in re.findall(r"add_test\(NAME (\S+)", text):
            names.add(name)
            for variable, values in loops:
                names |= {name.replace(f"${{{variable}}}", value) for value in values.split()}
        names |= {f"fuzz.{name}" for name in re.findall(r"mlsysim_fuzz\((\w+)[ )]", text)}
    return names


def known():
    cases = set()
    for file in SOURCE.glob("tests/**/*.cpp"):
        cases |= set(re.findall(r'TEST_CASE\("([^"]*)"', file.read_text()))
    functions = set()
    for file in SOURCE.glob("tests/python/*.py"):
        functions |= set(re.findall(r"^def (test_\w+)", file.read_text(), re.M))
    listed = subprocess.run([KIT, "--list"], capture_output=True, text=True, check=True).stdout
    bad = (SOURCE / "tests/plugin/bad/cases.txt").read_text().splitlines()
    return {"case": cases, "pytest": functions, "ctest": ctests(), "kit": set(re.findall(r"^([A-Z]\d\d) ", listed, re.M)),
            "bad": {line.split()[0] for line in bad if line and not line.startswith("#")}}


def main():
    text = PAGE.read_text()
    rows = dict(re.findall(r"^\| ([RS]-?[A-Z]*-?\d+) \|[^|]*\| (.*) \|$", text, re.M))
    wanted = {f"R-{group}-{i}" for group, count in GROUPS.items() for i in range(1, count + 1)} | {"R-OWN-7", "S1", "S2", "S3", "S4", "S5", "S9"}
    problems = [f"{PAGE.name}: no line for {name}" for name in sorted(wanted - set(rows))]
    problems += [f"{PAGE.name}: {name} is no requirement" for name in sorted(set(rows) - wanted)]
    there = known()
    references = 0
    for name, cell in rows.items():
        for kind, what in re.findall(r"`(case|pytest|ctest|kit|bad) ([^`]+)`", cell):
            references += 1
            if what not in there[kind]:
                problems.append(f"{name}: there is no {kind} '{what}'")
        if not cell.strip():
            problems.append(f"{name}: nothing shows it")
    print("\n".join(problems))
    print(f"{len(rows)} requirements, {references} references, {len(problems)} problems")
    return 1 if problems or references < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
