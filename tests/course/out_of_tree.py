"""As students build: files to begin with from an installation, an edit, a compiler that complains, a grade."""

import json
import os
import pathlib
import subprocess

PROGRAM = pathlib.Path(os.environ["COURSE_PREFIX"]) / "bin" / "mlsysim"
SOLUTIONS = pathlib.Path(__file__).parents[2] / "examples" / "course" / "solutions"


def mlsysim(*words, code=0, cwd=None, program=PROGRAM):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_from_new_to_a_grade(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert "a6_pipeline" in mlsysim("course", "list")
    mlsysim("course", "new", "a2_model", tmp_path / "mine")
    assert {"README.md", "submission.yaml", "submission.cpp", "CMakeLists.txt"} <= {p.name for p in (tmp_path / "mine").iterdir()}
    source = tmp_path / "mine" / "submission.cpp"
    solution = (SOLUTIONS / "a2_model" / "cpp" / "submission.cpp").read_text()
    source.write_text(solution.replace("*tdp * pass /", "*tdp / pass /"))  # a wrong unit does not compile
    text = mlsysim("course", "check", tmp_path / "mine", code=3)
    assert "FAILED  it compiles" in text and "submission.cpp:" in text and "error" in text
    source.write_text(solution)
    assert "9 of 9 points" in mlsysim("course", "check", tmp_path / "mine")
    assert not (tmp_path / "mine" / "build").exists()  # a folder that is handed in holds what its author wrote


def test_a_program_where_it_was_built_grades_too(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    built = os.environ["MLSYSIM_PROGRAM"]
    solution = SOLUTIONS / "a1_law" / "cpp"
    grade = json.loads(mlsysim("course", "check", solution, "--course", SOLUTIONS.parent, "-o", "json", program=built))
    assert grade["status"] == "graded" and grade["points"] == grade["of"] == 10
    assert list((tmp_path / "cache" / "mlsysim" / "installed").glob("*/bin/mlsysim"))
