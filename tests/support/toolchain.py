"""The compiler and libraries of a build, from its tests/toolchain.json, for checks that compile files themselves."""

import json
import os
import pathlib


class Toolchain:
    def __init__(self, path):
        facts = json.loads(pathlib.Path(path).read_text())
        self.compiler = facts["compiler"]
        self.launcher = facts["launcher"].split(";") if facts["launcher"] else []
        self.compiler_id = facts["compiler_id"]
        self.compiler_version = facts["compiler_version"]
        self.source_dir = pathlib.Path(facts["source_dir"])
        self.binary_dir = pathlib.Path(facts["binary_dir"])
        self.python = facts["python"]
        self.link = facts["link"]
        self.flags = ["-std=c++20", "-Wall", "-Wextra", f"-I{self.source_dir / 'include'}"]
        if facts["sanitize"]:
            self.flags.append(f"-fsanitize={facts['sanitize']}")

    def syntax(self, source, *flags):
        """Command that checks `source` without writing anything."""
        return [self.compiler, *self.flags, *flags, "-fsyntax-only", str(source)]

    def program(self, source, output):
        """Command that makes the program `output` of `source`, linked with the libraries of the build."""
        return [*self.launcher, self.compiler, *self.flags, "-O1", str(source), "-o", str(output), *self.link,
                *(f"-Wl,-rpath,{pathlib.Path(l).parent}" for l in self.link if l.endswith(".so"))]

    def environment(self):
        """Messages in English, and the programs and Python package of the build first."""
        env = dict(os.environ)
        env["LC_ALL"] = "C.UTF-8"
        env["PATH"] = f"{self.binary_dir / 'bin'}:{env['PATH']}"
        env["PYTHONPATH"] = str(self.binary_dir / "python")
        env["MLSYSIM_ZOO_PATH"] = str(self.binary_dir / "share/mlsysim/zoo")  # programs of a snippet lie elsewhere
        return env
