"""Builds every shipped plugin, and those that `mlsysim plugin new` writes, as projects of their own against an installed
package; each passes the installed kit, is found, and answers.

usage: out_of_tree.py <install prefix> <plugins folder> <work folder> <compiler launcher>
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
from xml.etree import ElementTree

PREFIX, PLUGINS, WORK = (pathlib.Path(p).resolve() for p in sys.argv[1:4])
LAUNCHER = sys.argv[4] if len(sys.argv) > 4 else ""
BIN = PREFIX / "bin"
ENVIRONMENT = {**os.environ, "XDG_DATA_HOME": str(WORK / "none"), "MLSYSIM_PLUGIN_PATH": ""}


def run(*command, expect=0, **environment):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**ENVIRONMENT, **environment})
    if done.returncode != expect:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(source, name):
    folder = WORK / "build" / name
    options = [f"-DCMAKE_PREFIX_PATH={PREFIX}", "-DCMAKE_BUILD_TYPE=Release"]
    if LAUNCHER:
        options += [f"-DCMAKE_C_COMPILER_LAUNCHER={LAUNCHER}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={LAUNCHER}"]
    run("cmake", "-S", source, "-B", folder, "-G", "Ninja", *options)
    run("cmake", "--build", folder)
    libraries = sorted(folder.glob("mlsysim-plugin-*.so"))
    if len(libraries) != 1:
        sys.exit(f"{source}: expected one plugin, found {libraries}")
    return libraries[0]


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "none").mkdir(parents=True)
    for source in sorted(PLUGINS.iterdir()):
        if (source / "CMakeLists.txt").exists():
            library = build(source, source.name)
            run(BIN / "mlsysim-plugin-check", library)
            print(f"{source.name}: built and passes")
    run(BIN / "mlsysim-plugin-check", PLUGINS / "class_devices/class-devices.plugin.yaml")
    for language in ("c", "cpp"):
        source = WORK / f"new_{language}"
        run(BIN / "mlsysim", "plugin", "new", "my_power", "--lang", language, "--folder", source)
        library = build(source, source.name)
        run(BIN / "mlsysim", "plugin", "check", library)
        path = {"MLSYSIM_PLUGIN_PATH": str(library.parent)}
        listed = json.loads(run(BIN / "mlsysim", "plugin", "list", "-o", "json", **path))["plugins"]
        if [(p["name"], p["state"], p["registers"]) for p in listed] != [
                ("my_power", "vetted", [{"kind": "model", "name": "my_power/PassEnergy"}])]:
            sys.exit(f"plugin list shows {listed}")
        answer = run(BIN / "mlsysim", "pipeline", "run", "my_power/PassEnergy", "hardware=H100", "duration=20 ms", **path)
        if "14 J" not in answer:  # 700 W for 20 ms
            sys.exit(f"the pipeline says {answer}")
        if "my_power/PassEnergy" not in run(BIN / "mlsysim", "resolver", "list", **path):
            sys.exit("resolver list does not show it")
        swept = json.loads(run(BIN / "mlsysim", "optimize", "my_power/PassEnergy", "hardware=H100", "duration=1 ms", "--axis",
                               "duration=1 ms..20 ms:20", "--maximize", "pass_energy", "-o", "json", **path))
        if swept["evaluated"] != 20 or "14" not in json.dumps(swept["best"][0]):
            sys.exit(f"the sweep says {swept['best']}")
        card = json.loads(run(BIN / "mlsysim", "eval", "Llama3_8B", "H100", "--also", "my_power/PassEnergy", "-o", "json", **path))
        if card["levels"]["my_power/PassEnergy"]["status"] != "SKIPPED":  # a scenario has no duration of a pass, and the card says so
            sys.exit(f"the scorecard says {card['levels'].keys()}")
        if run(BIN / "mlsysim", "--isolated", "my_power", "pipeline", "run", "my_power/PassEnergy", "hardware=H100", "duration=20 ms", **path) != answer:
            sys.exit("another answer in a process of its own")
        run(BIN / "mlsysim", "--isolated", "my_pwoer", "zoo", "list", expect=1, **path)
        report = WORK / f"{language}.xml"
        run(BIN / "mlsysim-plugin-check", library, "--junit", report)
        if ElementTree.parse(report).getroot().get("failures") != "0":
            sys.exit(f"{report} cannot be read")
        caps = [run(BIN / "mlsysim", "plugin", "caps", "my_power", "-o", "json", **path) for _ in range(2)]
        if caps[0] != caps[1]:
            sys.exit("plugin caps gives other bytes the second time")
        print(f"plugin new --lang {language}: built, passes, answers")
    path = {"MLSYSIM_PLUGIN_PATH": f"{PLUGINS / 'class_devices'}:{WORK / 'build/acme_npu'}"}
    run(BIN / "mlsysim", "eval", "Llama3_8B", "Class_NarrowBus", **path)
    card = json.loads(run(BIN / "mlsysim", "eval", "Llama3_8B", "Acme_NPU1", "--also", "acme_npu/AcmePredict", "-o", "json", **path))
    if card["levels"]["acme_npu/AcmePredict"]["metrics"]["step_time"]["display"] != "40.15 ms":  # 16.06 GB at 400 GB/s
        sys.exit(f"the scorecard says {card['levels'].keys()}")
    caps = json.loads(run(BIN / "mlsysim", "plugin", "caps", "acme-npu", "-o", "json", **path))
    device = caps["backends"][0]["devices"][0]
    if device["figures"] != "illustrative" or device["memory_spaces"][0]["capacity"] != "34.36 GB" or "bf16" not in device["peaks"]:
        sys.exit(f"plugin caps says {device}")
    run(BIN / "mlsysim", "sweep", "Llama3_8B", "Class_NarrowBus,Class_SlowMath", **path)
    run(BIN / "mlsysim", "support", "--program", "Llama3_8B", "--hardware", "Acme_NPU1", **path)
    run(BIN / "mlsysim", "support", "--program", "Llama3_70B", "--hardware", "Acme_NPU1", expect=1, **path)
    once = run(BIN / "mlsysim", "support", "--program", "ResNet50", "--hardware", "Acme_NPU1", expect=1, **path)
    if once.count("unknown_op conv") != 1:
        sys.exit("an operator that is not known is named once, with its count:\n" + once)
    table = json.loads(run(BIN / "mlsysim", "support", "-o", "json", **path))["answers"]
    verdicts = {a["verdict"] for a in table}
    if len(table) < 50 or not {"yes", "no"} <= verdicts or any(not a["reasons"] for a in table if a["verdict"] == "no"):
        sys.exit(f"support: {len(table)} answers, {verdicts}")
    print(f"support: {len(table)} answers, {sorted(verdicts)}")
    # Good ones among bad ones: reasons for each, right answers, and exit codes.
    bad = WORK / "bad"
    bad.mkdir()
    good = (WORK / "build/hello_c/mlsysim-plugin-hello-c.so").read_bytes()
    for i in range(12):
        (bad / f"mlsysim-plugin-cut{i}.so").write_bytes(good[: len(good) * i // 12])
    shutil.copy(WORK / "build/hello_c/mlsysim-plugin-hello-c.so", bad)
    shutil.copy(WORK / "build/acme_efficiency/mlsysim-plugin-acme-efficiency.so", bad)
    path = {"MLSYSIM_PLUGIN_PATH": str(bad)}
    listed = json.loads(run(BIN / "mlsysim", "plugin", "list", "-o", "json", **path))["plugins"]
    reasons = [p["failure"]["message"] for p in listed if "failure" in p]
    if len(listed) != 14 or len(reasons) != 12 or not all(reasons):
        sys.exit(f"12 bad and 2 good plugins: {listed}")
    answer = run(BIN / "mlsysim", "pipeline", "run", "hello/DecodeFloor", "hardware=H100", "weights=16 GB", **path)
    if "4.776" not in answer:  # 16 GB at 3.35 TB/s
        sys.exit(f"hello/DecodeFloor says {answer}")
    run(BIN / "mlsysim", "--strict-plugins", "pipeline", "run", "hello/DecodeFloor", "hardware=H100", "weights=16 GB", expect=3, **path)
    run(BIN / "mlsysim", "pipeline", "run", "hello/DecodeFloor", "hardware=H100", "weights=16 GB", expect=1, MLSYSIM_PLUGINS="none", **path)
    isolated = run(BIN / "mlsysim", "--isolate-plugins", "pipeline", "run", "hello/DecodeFloor", "hardware=H100", "weights=16 GB", **path)
    if isolated != answer:
        sys.exit(f"isolated: {isolated}")
    print("12 bad and 2 good plugins: listed, answered, strict")
    return 0


if __name__ == "__main__":
    sys.exit(main())
