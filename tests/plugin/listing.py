"""What the command line says about plugins that are broken, hostile or misspelt.

usage: listing.py <mlsysim> <folder of bad plugins> <a good plugin>
"""

import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

MLSYSIM, BAD, GOOD = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
CACHE = ""
ASK = ("pipeline", "run", "hello/DecodeFloor", "hardware=H100", "weights=16 GB")


def run(*words, folder="", **environment):
    return subprocess.run([MLSYSIM, *map(str, words)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "MLSYSIM_PLUGIN_PATH": str(folder), "XDG_DATA_HOME": "/nonexistent",
                               "MLSYSIM_PLUGINS": "all", "XDG_CACHE_HOME": CACHE, **environment})


def expect(condition, what, done):
    if not condition:
        sys.exit(f"{what}: exit {done.returncode}\n{done.stdout}{done.stderr}")


def manifest(folder, name, *lines, library=None):
    (folder / f"{name}.plugin.yaml").write_text("\n".join(
        ["schema: mlsysim/plugin@1", f"name: {name}", "version: 1.0.0", f"library: {library or f'mlsysim-plugin-{name}.so'}", *lines, ""]))


def broken_behind_manifests(top):
    """Each is refused in the list with its reason, and nothing of it is executed."""
    folder = top / "broken"
    folder.mkdir()
    good = GOOD.read_bytes()
    for name, data in (("empty", b""), ("cut", good[: len(good) // 2]), ("digest", good), ("writable", good), ("fine", good)):
        (folder / f"mlsysim-plugin-{name}.so").write_bytes(data)
        manifest(folder, name, *([f"sha256: {hashlib.sha256(b'another').hexdigest()}"] if name == "digest" else []))
    (folder / "mlsysim-plugin-writable.so").chmod(0o777)
    manifest(folder, "gone")
    (folder / "data.plugin.yaml").write_text("schema: mlsysim/plugin@1\nname: data\nversion: 1.0.0\nzoo: [data.yaml]\n")
    (folder / "data.yaml").write_text("schema: mlsysim/hardware@1\nentries:\n- {name: Odd, colour: red}\n")
    done = run("plugin", "list", "-o", "json", folder=folder)
    expect(done.returncode == 0, "plugin list", done)
    rows = {row["name"]: row for row in json.loads(done.stdout)["plugins"]}
    for name, reason in (("empty", "no usable library"), ("cut", "no usable library"), ("digest", "not the file that its manifest means"),
                         ("writable", "everybody can write"), ("gone", "no usable library"), ("data", "colour")):
        expect(rows[name]["state"] == "refused" and reason in rows[name]["failure"]["message"], f"{name} is not refused for '{reason}'", done)
    expect(rows["fine"]["state"] == "vetted", "the good one is not vetted", done)
    expect(run("--strict-plugins", "plugin", "list", folder=folder).returncode == 3, "--strict-plugins plugin list", done)


def bad_manifests(top):
    """The number of problems, the reason in the list, each problem once, and no escape sequence reaches the terminal."""
    folder = top / "manifests"
    folder.mkdir()
    manifest(folder, "odd", "colour: red", "priority: high")
    manifest(folder, "loud", 'summary: "a\\e[31m b"', 'license: "\\u009b31m"', '"\\e[2J": 1')
    done = run("plugin", "list", folder=folder)
    flat = " ".join(done.stdout.split())
    expect(done.returncode == 0 and "2 problems" in flat and "unknown key" in flat, "plugin list does not say why", done)
    listed = json.loads(run("plugin", "list", "-o", "json", folder=folder).stdout)["plugins"]
    message = next(row for row in listed if row["name"] == "odd")["failure"]["message"]
    expect(message.count("unknown key 'colour'") == 1 and message.count("'priority' is no whole number") == 1, "a problem is not told once", done)
    for words in (("plugin", "list"), ("plugin", "show", "loud"), ("plugin", "show", folder / "loud.plugin.yaml"), ("zoo", "list", "hardware")):
        done = run(*words, folder=folder)
        expect(not any(c in done.stdout + done.stderr for c in "\x1b\x9b\x07"), f"{words}: raw control characters", done)
    shown = run("plugin", "show", folder / "odd.plugin.yaml")
    expect(shown.stderr.count("unknown key 'colour'") == 1, "plugin show tells a problem twice", shown)
    (folder / "loud.plugin.yaml").unlink()
    (folder / "mlsysim-plugin-hello-c.so").write_bytes(GOOD.read_bytes())
    manifest(folder, "hello-c", 'config: {"a\\e[2J": 1}')
    shown = run("plugin", "show", "hello-c", folder=folder)
    expect(shown.returncode == 1 and "\x1b" not in shown.stderr and "a text holds a control character" in shown.stderr, "the escape sequence is not shown", shown)


def ends_the_process(top):
    """A library that ends the process while it is opened is listed safely, and a run says which one it was."""
    for case, ended in (("entry_aborts", -signal.SIGABRT), ("constructor_crashes", -signal.SIGSEGV), ("exits", 1)):
        folder = top / case
        folder.mkdir()
        library = folder / f"mlsysim-plugin-{case}.so"
        if case == "exits":
            source = folder / "exits.c"
            source.write_text("#include <stdlib.h>\n__attribute__((visibility(\"default\"))) const void* mlsysim_get_plugin_api(void) { exit(0); }\n")
            subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library, source], check=True)
        else:
            library.write_bytes((BAD / library.name).read_bytes())
        (folder / "mlsysim-plugin-hello-c.so").write_bytes(GOOD.read_bytes())
        done = run("plugin", "list", "-o", "json", folder=folder)
        expect(done.returncode == 0, f"plugin list with {case}", done)
        states = {row["name"]: row["state"] for row in json.loads(done.stdout)["plugins"]}
        expect(states == {case: "refused", "hello-c": "initialised"}, f"{case}: {states}", done)
        done = run(*ASK, folder=folder)
        expect(done.returncode == 0 and "4.776" in done.stdout and f"plugin '{case}' is left out" in done.stderr, f"a run with {case}", done)
        # What names nothing of a plugin opens none.
        for words, part in ((("units", "convert", "1 GB", "MB"), "1000"), (("zoo", "show", "H100"), "H100"), (("eval", "Llama3_8B", "H100"), "FITS")):
            done = run(*words, folder=folder)
            expect(done.returncode == 0 and part in done.stdout and done.stderr == "", f"{words} with {case}", done)
        done = run("--isolate-plugins", *ASK, folder=folder)
        expect(done.returncode == 0 and "4.776" in done.stdout and case in done.stderr, f"an isolated run with {case}", done)


def ends_the_process_later(top):
    """A plugin that crashes or leaves while it computes is named, never looks like success, and has its own process from then on."""
    for case, word in (("crashes", "by SIGSEGV"), ("stack_overflow", "by SIGSEGV"), ("aborts", "by SIGABRT"), ("exits", "by exit")):
        folder = top / f"later_{case}"
        folder.mkdir()
        library = folder / f"mlsysim-plugin-{case}.so"
        library.write_bytes((BAD / library.name).read_bytes())
        ask = ("pipeline", "run", "bad/Model", "x=1 s")
        done = run(*ask, folder=folder)
        expect(done.returncode not in (0, 2) and done.stdout == "", f"a run with {case}", done)
        expect(f"the plugin '{library}' ended the process {word} in solve" in done.stderr, f"nobody is named for {case}", done)
        done = run(*ask, folder=folder)
        expect(done.returncode == 1 and "it ended a process before" in done.stderr and "ended during solve" in done.stderr, f"a second run with {case}", done)
        library.write_bytes((BAD / "mlsysim-plugin-good.so").read_bytes())  # a new file is a new plugin
        done = run(*ask, folder=folder)
        expect(done.returncode == 0 and "before" not in done.stderr, f"the mended {case}", done)


def prints(top):
    """What a plugin prints is no part of the answer."""
    folder = top / "prints"
    folder.mkdir()
    (folder / "mlsysim-plugin-prints.so").write_bytes((BAD / "mlsysim-plugin-prints.so").read_bytes())
    done = run("pipeline", "run", "bad/Model", "x=5 s", "-o", "json", folder=folder)
    expect(done.returncode == 0 and json.loads(done.stdout) and "y = " in done.stderr, "a plugin that prints", done)


def places(top):
    """A library is not opened where somebody else could put another in its place."""
    def ask(path):
        done = run("--plugin", path, *ASK)
        return done

    good = GOOD.read_bytes()
    shared, safe = top / "shared", top / "safe"
    (shared / "below").mkdir(parents=True)
    safe.mkdir()
    shared.chmod(0o777)
    hidden = shared / "below" / GOOD.name
    hidden.write_bytes(good)
    expect("everybody can write" in ask(hidden).stderr, "a folder below one that everybody can write to", ask(hidden))
    link = safe / GOOD.name
    link.symlink_to(hidden)
    expect("everybody can write" in ask(link).stderr, "a link into such a folder", ask(link))
    if os.geteuid() == 0:
        theirs = top / "theirs"
        theirs.mkdir()
        (theirs / GOOD.name).write_bytes(good)
        os.chown(theirs / GOOD.name, 12345, 12345)
        expect("belongs to another user" in ask(theirs / GOOD.name).stderr, "a library of another user", ask(theirs / GOOD.name))
        os.chown(theirs / GOOD.name, 0, 0)
        os.chown(theirs, 12345, 12345)
        expect("belongs to another user" in ask(theirs / GOOD.name).stderr, "a library in a folder of another user", ask(theirs / GOOD.name))
    expect(run("--plugin", link, "--allow-insecure-plugins", *ASK).returncode == 0, "--allow-insecure-plugins", ask(link))
    empty = run("--plugin", "", "plugin", "list")
    expect(empty.returncode == 1 and "a plugin has no path" in empty.stderr, "an empty path", empty)


def secure_zoo(top):
    """A secure process reads no zoo that the environment names; one that the caller names is read."""
    mine = top / "mine.yaml"
    mine.write_text("schema: mlsysim/hardware@1\nentries:\n- {name: Odd, colour: red}\n")
    done = run("eval", "Llama3_8B", "H100", MLSYSIM_ZOO_PATH=str(mine), MLSYSIM_SECURE="1")
    expect(done.returncode == 0, "MLSYSIM_ZOO_PATH in a secure process", done)
    for words, secure_mode in (((), "0"), (("--zoo", mine), "1")):
        done = run(*words, "eval", "Llama3_8B", "H100", **({} if words else {"MLSYSIM_ZOO_PATH": str(mine)}), MLSYSIM_SECURE=secure_mode)
        expect(done.returncode == 1 and "colour" in done.stderr, "a zoo that is named", done)


def asked_for(top):
    """What --isolated names must be there and open, as with --plugin."""
    folder = top / "asked"
    folder.mkdir()
    (folder / "mlsysim-plugin-entry_aborts.so").write_bytes((BAD / "mlsysim-plugin-entry_aborts.so").read_bytes())
    done = run("--isolated", "entry_aborts", "zoo", "list", folder=folder)
    expect(done.returncode == 1 and "'entry_aborts' cannot be used" in done.stderr, "--isolated", done)


def secure(top):
    """A secure process starts no program that the environment names."""
    marker, program = top / "marker", top / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    words = ("--plugin", GOOD, "--isolate-plugins", *ASK)
    done = run(*words, MLSYSIM_PLUGIN_WORKER=str(program), MLSYSIM_SECURE="1")
    expect(done.returncode == 0 and not marker.exists(), "the program of MLSYSIM_PLUGIN_WORKER ran in a secure process", done)
    run(*words, MLSYSIM_PLUGIN_WORKER=str(program))
    expect(marker.exists(), "the program of MLSYSIM_PLUGIN_WORKER does not run elsewhere", done)


def allowed_names(top):
    """MLSYSIM_PLUGINS may name a package of Python, which this program does not know: a warning, and an answer."""
    folder = top / "allowed"
    folder.mkdir()
    (folder / "mlsysim-plugin-hello-c.so").write_bytes(GOOD.read_bytes())
    done = run(*ASK, folder=folder, MLSYSIM_PLUGINS="hello-c,my-power")
    expect(done.returncode == 0 and "warning: plugin 'my-power' is left out" in done.stderr and "4.776" in done.stdout, "a name that is not found", done)
    done = run("--strict-plugins", *ASK, folder=folder, MLSYSIM_PLUGINS="hello-c,my-power")
    expect(done.returncode == 3, "a name that is not found, strictly", done)


def misspelt_variable(top):
    done = run("--plugin", GOOD, *ASK, MLSYSIM_PLUGIN_HELLO_C_GAINN="5")
    expect(done.returncode == 0 and "MLSYSIM_PLUGIN_HELLO_C_GAINN names no option of 'hello-c'" in done.stderr, "a misspelt variable", done)
    done = run("--plugin", GOOD, *ASK)
    expect("warning" not in done.stderr, "a warning without a reason", done)


def main():
    global CACHE
    with tempfile.TemporaryDirectory() as top:
        CACHE = f"{top}/cache"
        for test in (broken_behind_manifests, bad_manifests, ends_the_process, ends_the_process_later, prints, places, secure_zoo, asked_for, secure, allowed_names, misspelt_variable):
            test(pathlib.Path(top))
            print(f"{test.__name__}: as it should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
