"""scripts/web where the core does not compile: it says so, ends with an error, and leaves the page that was there."""

import os
import pathlib
import subprocess
import sys
import tempfile

import browser

ROOT = pathlib.Path(__file__).parents[2]
SKIPPED = 77
# In the place of the Python that writes the core's build: one whose only object does not compile.
BUILDS_NOTHING = """#!/bin/sh
printf 'rule cxx\\n  command = echo undeclared identifier >&2; false\\nbuild mlsysim.wasm: cxx\\n' > "$2/build.ninja"
"""


def main():
    if browser.tools() is None:
        print("skipped: the page's tools are absent: scripts/web --tools")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        core, site = pathlib.Path(name) / "core", pathlib.Path(name) / "site"
        for folder in (core / "tools/bin", core / "sources/yaml-cpp", site):
            folder.mkdir(parents=True)
        (core / "tools/bin/python").write_text(BUILDS_NOTHING)
        (core / "tools/bin/python").chmod(0o755)
        (site / "index.html").write_text("the last page")
        done = subprocess.run([ROOT / "scripts/web", site], env=os.environ | {"MLSYSIM_WEB_CORE": str(core)}, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "the core does not compile" in done.stderr and "--models" in done.stderr, done
        assert "undeclared identifier" in done.stdout + done.stderr, done
        assert [(f.name, f.read_text()) for f in site.iterdir()] == [("index.html", "the last page")]
    print("a core that does not compile is an error in words")
    return 0


if __name__ == "__main__":
    sys.exit(main())
