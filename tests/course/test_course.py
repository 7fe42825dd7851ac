"""Grading in both languages: solutions pass, files to begin with and wrong answers fail by name, with found and expected."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

PROGRAM = os.environ["MLSYSIM_PROGRAM"]
COURSE = pathlib.Path(__file__).parents[2] / "examples" / "course"
LIBRARIES = pathlib.Path(os.environ["COURSE_LIBRARIES"])
ASSIGNMENTS = sorted(path.parent.name for path in COURSE.glob("*/checks.yaml"))


def mlsysim(*words, code=0):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def check(folder, *words, code=0):
    return mlsysim("course", "check", folder, *words, code=code).stdout


def library(kind):
    (found,) = (LIBRARIES / kind).glob("*.so")
    return "--library", found


def failed(text):
    return re.findall(r"^  FAILED  (.*)$", text, re.M)


def changed(tmp_path, name, *replacements, file="submission.py"):
    """A copy of a solution in Python with texts replaced."""
    folder = tmp_path / name
    shutil.copytree(COURSE / "solutions" / name / "python", folder, ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / file).read_text()
    for old, new in replacements:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / file).write_text(text)
    return folder, "--course", COURSE


def test_there_are_six():
    assert len(ASSIGNMENTS) == 6
    listed = json.loads(mlsysim("course", "list", "--course", COURSE, "-o", "json").stdout)
    assert [row[0] if isinstance(row, list) else row["name"] for row in listed["rows"]] == ASSIGNMENTS


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_statement_lists_what_is_graded(name):
    rows = re.findall(r"^\| (.+) \| (\d+) \|$", (COURSE / name / "README.md").read_text(), re.M)
    graded = json.loads(check(COURSE / "solutions" / name / "cpp", *library("a5" if name == "a5_plugin" else "solutions"), "-o", "json"))
    assert rows == [(row["name"], str(row["points"]).removesuffix(".0")) for row in graded["checks"]]
    assert graded["points"] == graded["of"] == sum(int(points) for _, points in rows)


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_starters_of_cpp_fail_helpfully(name):
    text = check(COURSE / name / "starter" / "cpp", *library("starters"), code=3)
    assert re.search(r"^0 of \d+ checks passed, 0 of", text, re.M), text
    assert failed(text) and re.search("not written yet|expected|there is no resolver", text) and "called: " in text


def test_wrong_answers_of_cpp_are_named():
    text = check(COURSE / "solutions" / "a1_law" / "cpp", *library("wrong"), code=3)
    assert failed(text) == ["eight devices exchange 16 GB"]
    assert "transfer: found 35 ms, expected 70 ms (half: a factor of 2 left out?)" in text
    assert "hint: halving and doubling each take" in text and "7 of 10 points" in text


def test_a_crash_of_cpp_is_a_failed_check():
    text = check(COURSE / "solutions" / "a6_pipeline" / "cpp", *library("wrong"), code=3)
    assert "a better facility" in failed(text) and "passed  energy of the facility" in text and "found an error" in text


def test_what_is_no_submission_is_refused(tmp_path):
    assert "submission.yaml" in mlsysim("course", "check", tmp_path, code=1).stderr
    (tmp_path / "submission.yaml").write_text("schema: mlsysim/submission@1\nassignment: a9\nlanguage: cpp\nfile: x.cpp\n")
    said = mlsysim("course", "check", tmp_path, "--course", COURSE, code=1).stderr
    assert "there is no assignment 'a9'" in said and "a1_law" in said
    (tmp_path / "submission.yaml").write_text("schema: mlsysim/submission@1\nassignment: a1_law\nlanguage: fortran\nfile: x.f\n")
    assert "cpp or python" in mlsysim("course", "check", tmp_path, "--course", COURSE, code=1).stderr


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_solutions_of_python_pass(name):
    graded = json.loads(check(COURSE / "solutions" / name / "python", "--course", COURSE, "-o", "json"))
    assert graded["points"] == graded["of"] > 0 and all(row["passed"] for row in graded["checks"])


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_starters_of_python_fail_helpfully(name):
    text = check(COURSE / name / "starter" / "python", code=3)
    assert re.search(r"^0 of \d+ checks passed, 0 of", text, re.M), text
    assert failed(text) and re.search("not written yet|expected|there is no resolver", text) and "called: " in text


def test_wrong_answers_of_python_are_named(tmp_path):
    text = check(*changed(tmp_path, "a3_solver", ("batch_size * cache", "cache")), code=3)
    assert failed(text) == ["weights and the caches of a batch"]
    assert "required_bw: found 1.625 TB/s, expected 3.2 TB/s" in text and "a cache for each request" in text
    text = check(*changed(tmp_path, "a4_optimizer", ("time <= target_latency and ", "")), code=3)
    assert failed(text)[0] == "the latency decides" and "expected no result, and the reason, found a result" in text
    text = check(*changed(tmp_path, "a6_pipeline", ("power * duration * pue", "power * duration")), code=3)
    assert "energy of the facility" in failed(text) and "a better facility" not in failed(text)


def test_a_wrong_unit_of_python_is_named(tmp_path):
    text = check(*changed(tmp_path, "a2_model", ('/ (batch_size * Quantity("1 token"))).to("J/token")', '/ batch_size).to("J")')), code=3)
    assert "energy_per_token: found 4 J, energy [J], expected 4 J/token" in text
    text = check(*changed(tmp_path, "a1_law", ("log2(ranks) * alpha", "log2(ranks)")), code=3)
    assert failed(text) == ["it can be imported"] and "DimensionError" in text


def test_faults_of_python_modules_are_said(tmp_path):
    folder, *course = changed(tmp_path, "a2_model", ("class DecodeEnergy(BaseModel):", "print('loud')\n\n\nclass DecodeEnrgy(BaseModel):"))
    text = check(folder, *course, code=3)
    assert "there is no resolver 'DecodeEnergy'" in text and "loud" not in text
    (folder / "submission.py").write_text("import os\nos.abort()\n")
    text = check(folder, *course, code=3)
    assert failed(text) == ["it does not crash"] and "signal 6" in text
    (folder / "submission.py").write_text("import signal\nsignal.raise_signal(signal.SIGALRM)\n")  # as the limit of its time does
    assert "loop without end" in failed(check(folder, *course, code=3))[0]
    (folder / "submission.py").write_text("raise ValueError('broken on purpose')\n")
    assert "broken on purpose" in check(folder, *course, code=3)
    refused = mlsysim("course", "check", folder, *course, "--python", "no-such-python", "-o", "json", code=1)
    assert json.loads(refused.stdout)["id"] == "mlsysim.course.008"


def test_a_class_of_python_is_a_table(tmp_path):
    folders = [COURSE / "solutions" / "a1_law" / "python", COURSE / "a1_law" / "starter" / "python", tmp_path]
    done = mlsysim("course", "check", *folders, "--course", COURSE, "-o", "json", code=1)
    right, starter, empty = json.loads(done.stdout)["submissions"]
    assert right["points"] == right["of"] and starter["points"] == 0 and empty["status"] == "not graded" and "submission.yaml" in empty["error"]
    lines = mlsysim("course", "check", *folders[:2], "--course", COURSE, "-o", "csv", code=3).stdout.splitlines()
    assert len(lines) == 3 and lines[1].split(",")[3] == "10"


def test_the_kit_of_python_packages_is_asked(tmp_path):
    text = check(*changed(tmp_path, "a5_plugin", ('DieCost = "submission:DieCost"', 'DieCosts = "submission:DieCost"'), file="pyproject.toml"), code=3)
    assert failed(text) == ["the kit finds nothing wrong"] and "the class is called DieCost" in text
