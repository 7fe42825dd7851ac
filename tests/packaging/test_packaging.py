"""Packages made of a build: Debian's, the bill of materials, the recipes of Conan and vcpkg.

Tools that not every machine has are found in the folder that MLSYSIM_ORACLES names (`.ci/run` makes it), else the test is skipped.
"""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ["MLSYSIM_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["MLSYSIM_BINARY_DIR"])
VERSION = re.search(r'MLSYSIM_VERSION_TEXT "([^"]+)"', (ROOT / "include/mlsysim/version.hpp").read_text())[1]


def run(*words, **how):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **how)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def tool(name):
    """The path of a tool; skips the test where there is none."""
    path = shutil.which(name, path=os.environ.get("MLSYSIM_ORACLES", "")) or shutil.which(name)
    if not path:
        pytest.skip(f"{name} is not here: pip install it into the folder of MLSYSIM_ORACLES")
    return path


def recorded():
    """name -> (packages of Debian, use)"""
    rows = [line.split("|") for line in (BUILD / "dependencies.txt").read_text().splitlines() if line]
    return {name: (debian.split(), use) for name, debian, _, use in rows}


@pytest.fixture(scope="module")
def debian(tmp_path_factory):
    if not shutil.which("dpkg-deb") or not shutil.which("cpack"):
        pytest.skip("dpkg-deb or cpack is not here")
    folder = tmp_path_factory.mktemp("deb")
    run("cpack", "-G", "DEB", "-B", folder, cwd=BUILD)
    files = {path.name.split("_")[0]: path for path in folder.glob("*.deb")}
    prefix = folder / "root"
    for path in files.values():
        run("dpkg-deb", "-x", path, prefix)
    return files, prefix


def test_the_debian_package_runs_where_it_is_unpacked(debian):
    files, prefix = debian
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(prefix)}
    answer = json.loads(run(prefix / "usr/bin/mlsysim", "zoo", "show", "H100", "-o", "json", env=environment))
    assert "H100" in json.dumps(answer)
    assert "Llama3_8B" in run(prefix / "usr/bin/mlsysim", "eval", "Llama3_8B", "H100", env=environment)
    needed = run("dpkg-deb", "-f", files["mlsysim"], "Depends")
    assert "libstdc++6" in needed and "libyaml-cpp" in needed and "-dev" not in needed and "openmpi" not in needed
    if "MPI" in recorded():
        assert "openmpi" in run("dpkg-deb", "-f", files["mlsysim-mpi"], "Depends")
        assert (prefix / "usr/libexec/mlsysim/mlsysim-mpi.so").exists()


def test_the_development_package_is_enough_for_find_package(debian, tmp_path):
    files, prefix = debian
    needed = run("dpkg-deb", "-f", files["libmlsysim-dev"], "Depends")
    assert f"mlsysim (= {VERSION})" in needed
    for name, (packages, use) in recorded().items():
        if use == "linked" and name != "Threads":
            assert packages[0] in needed, f"libmlsysim-dev does not depend on {packages[0]}, whose library is linked"
    (tmp_path / "main.cpp").write_text(
        "#include <mlsysim/mlsysim.hpp>\nint main() { return mlsysim::standard_zoo().find<mlsysim::Workload>(\"Llama3_8B\") == nullptr; }\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES CXX)\nfind_package(mlsysim CONFIG REQUIRED)\n"
        "add_executable(user main.cpp)\ntarget_link_libraries(user PRIVATE mlsysim::mlsysim)\n")
    run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}/usr",
        f"-DCMAKE_CXX_COMPILER={os.environ['MLSYSIM_COMPILER']}")
    run("cmake", "--build", tmp_path / "b")
    run(tmp_path / "b/user", env={"PATH": "/usr/bin:/bin"})


def test_the_bill_of_materials_names_what_the_build_found():
    text = run(sys.executable, ROOT / "scripts/sbom", BUILD)
    assert text == run(sys.executable, ROOT / "scripts/sbom", BUILD), "the same build has the same bill"
    bill = json.loads(text)
    assert bill["metadata"]["component"]["version"] == VERSION
    assert {c["name"] for c in bill["components"]} == set(recorded()) | {"numpy"}
    assert {c["name"] for c in bill["components"] if c["scope"] == "excluded"} == {n for n, (_, use) in recorded().items() if use == "build"}


def test_the_bill_of_materials_follows_its_schema(tmp_path):
    code = ("import sys; from cyclonedx.schema import SchemaVersion; from cyclonedx.validation.json import JsonStrictValidator; "
            "fault = JsonStrictValidator(SchemaVersion.V1_5).validate_str(sys.stdin.read()); sys.exit(str(fault) if fault else 0)")
    python = sys.executable if importlib.util.find_spec("cyclonedx") else pathlib.Path(os.environ.get("MLSYSIM_ORACLES", "/none")) / "python"
    if subprocess.run([python, "-c", "import cyclonedx.validation.json, jsonschema"], capture_output=True).returncode if pathlib.Path(python).exists() else True:
        pytest.skip("cyclonedx-python-lib[json-validation] is not here: pip install it into the folder of MLSYSIM_ORACLES")
    text = run(sys.executable, ROOT / "scripts/sbom", BUILD)
    run(python, "-c", code, input=text)
    broken = subprocess.run([python, "-c", code], input=text.replace('"library"', '"libary"'), capture_output=True, text=True)
    assert broken.returncode != 0, "a type that there is not must be refused, or nothing is checked"


# Names of the same things elsewhere.
ELSEWHERE = {"nlohmann_json": "nlohmann-json", "ZLIB": "zlib", "Protobuf": "protobuf", "Eigen3": "eigen", "CLI11": "cli11", "SQLite3": "sqlite3"}
SYSTEM = {"libmd", "Threads"}  # from the system, as the recipes say
LEFT_OUT = {"cpp-httplib", "NLopt", "Pagmo", "pybind11", "MPI"}  # optional, or of the Python package


def needed_elsewhere():
    return {ELSEWHERE.get(name, name) for name, (_, use) in recorded().items() if use not in ("build", "component") and name not in SYSTEM | LEFT_OUT}


def test_the_recipe_of_conan_requires_what_is_linked():
    text = (ROOT / "packaging/conan/conanfile.py").read_text()
    required = {name.replace("_", "-") for name in re.findall(r'self\.requires\("([\w-]+)/', text)}
    assert required == needed_elsewhere()
    conan = tool("conan")
    facts = json.loads(run(conan, "inspect", ROOT / "packaging/conan", "--format=json"))
    assert facts["name"] == "mlsysim" and facts["version"] == VERSION and facts["license"] == "Apache-2.0"


def test_conan_exports_the_sources_that_a_build_reads(tmp_path):
    conan = tool("conan")
    environment = {**os.environ, "CONAN_HOME": str(tmp_path)}
    run(conan, "export", ROOT / "packaging/conan", env=environment)
    exported = {path.name for path in tmp_path.rglob("es/*")}
    assert {"CMakeLists.txt", "cmake", "include", "src", "zoo", "LICENSE"} <= exported


def test_the_port_of_vcpkg_requires_what_is_linked():
    port = json.loads((ROOT / "packaging/vcpkg/mlsysim/vcpkg.json").read_text())
    assert port["name"] == "mlsysim" and port["version"] == VERSION and port["license"] == "Apache-2.0"
    names = [d if isinstance(d, str) else d["name"] for d in port["dependencies"] + port["features"]["program"]["dependencies"]]
    libraries = {"eigen" if n == "eigen3" else n for n in names if not n.startswith("vcpkg-")}
    assert libraries == needed_elsewhere()
    options = set(re.findall(r"-D(MLSYSIM_\w+)=", (ROOT / "packaging/vcpkg/mlsysim/portfile.cmake").read_text()))
    cmake = (ROOT / "CMakeLists.txt").read_text() + (ROOT / "cmake/MlsysimDependencies.cmake").read_text()
    known = set(re.findall(r"(?:option|set)\((MLSYSIM_\w+)", cmake)) | {f"MLSYSIM_WITH_{n}" for n in re.findall(r"mlsysim_optional\((\w+)", cmake)}
    assert options <= known, f"the port sets options that there are not: {options - known}"


def test_bindings_for_another_python_take_the_libraries_that_are_there(tmp_path):
    """Which commands ninja would run: those of bindings/python, and none of the library."""
    words = ["cmake", "-G", "Ninja", "-S", ROOT, f"-DMLSYSIM_CORE={BUILD}", f"-DCMAKE_CXX_COMPILER={os.environ['MLSYSIM_COMPILER']}"]
    if "Python3" not in recorded() or "pybind11" not in recorded():
        pytest.skip("this build has no Python package")
    run(*words, "-B", tmp_path / "b")
    compiled = re.findall(r" -o (\S+\.o) ", run("ninja", "-C", tmp_path / "b", "-t", "commands"))
    assert compiled and all(path.startswith("bindings/python/") for path in compiled)
    other = subprocess.run([str(w) for w in words if "MLSYSIM_CORE" not in str(w)] + [f"-DMLSYSIM_CORE={tmp_path}", "-B", str(tmp_path / "c")],
                           capture_output=True, text=True)
    said = " ".join(other.stderr.split())  # CMake breaks its lines where they are long
    assert other.returncode != 0 and "no build folder of mlsysim" in said, said


def test_the_page_on_installing_names_every_package():
    page = (ROOT / "docs/how-to/install.md").read_text()
    for name, (packages, use) in recorded().items():
        if use in ("linked", "headers") and name not in {"Threads", "NLopt", "Pagmo", "pybind11", "MPI"}:
            assert all(package in page for package in packages), f"install.md does not name {packages}"
