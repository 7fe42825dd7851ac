"""The C header compiles as C11 and as C++17 without a warning, and a member that no size constant names is an error.

usage: check_header.py <include folder> <C compiler> <C++ compiler>
"""

import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDE, CC, CXX = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
HEADER = INCLUDE / "mlsysim/plugin/mlsysim_plugin.h"


def compiles(command, source):
    run = subprocess.run([*command, "-fsyntax-only", source], capture_output=True, text=True)
    return run.returncode == 0, run.stderr


def main():
    text = HEADER.read_text()
    problems = []
    others = set(re.findall(r"#include <(.*?)>", text)) - {"stdbool.h", "stddef.h", "stdint.h"}
    if others:
        problems.append(f"includes {', '.join(sorted(others))}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        c, cpp = folder / "use.c", folder / "use.cpp"
        for source in (c, cpp):
            source.write_text("#include <mlsysim/plugin/mlsysim_plugin.h>\nint main(void) { return (int)(sizeof(MlsField) > 0) - 1; }\n")
        strict = ["-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]
        for command, source in (([CC, "-std=c11", *strict], c), ([CXX, "-std=c++17", *strict], cpp)):
            fine, errors = compiles(command, source)
            if not fine:
                problems.append(f"{' '.join(command)}:\n{errors}")
        # A dummy member at the end of each struct: the size constant is then that of another member.
        names = re.findall(r"MLS_LAST_MEMBER\((Mls\w+), \w+\)", text)
        if len(names) < 12:
            problems.append(f"only {len(names)} structs have a size constant")
        for name in names:
            broken, count = re.subn(r"(struct " + name + r" \{.*?)(\n\})", r"\1\n  double dummy;\2", text, count=1, flags=re.S)
            place = folder / name / "mlsysim/plugin"
            place.mkdir(parents=True)
            (place / "mlsysim_plugin.h").write_text(broken)
            fine, errors = compiles([CC, "-std=c11", f"-I{folder / name}"], c)
            if not count or fine or "is not its last member" not in errors:
                problems.append(f"a member appended to {name} is not noticed")
    print("\n".join(problems) if problems else f"{len(names)} structs, C11 and C++17")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
