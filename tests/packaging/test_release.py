"""What scripts/release makes: the static program, its archive, its wheel, install.sh and the recipes.

The static program is that of this build (target mlsysim_static); without it these tests are skipped. Nothing is compiled.
"""

import concurrent.futures
import functools
import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import threading
import time
import venv

import pytest

ROOT = pathlib.Path(os.environ["MLSYSIM_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["MLSYSIM_BINARY_DIR"])
STATIC, ORDINARY = BUILD / "static/mlsysim", BUILD / "bin/mlsysim"
VERSION = re.search(r'MLSYSIM_VERSION_TEXT "([^"]+)"', (ROOT / "include/mlsysim/version.hpp").read_text())[1]
NAME = f"mlsysim-{VERSION}-linux-x86_64"
BUSYBOX = shutil.which("busybox")
QUESTION = ("eval", "Llama3_8B", "H100", "-o", "json")
pytestmark = pytest.mark.skipif(not STATIC.exists(), reason="target mlsysim_static is not built (MLSYSIM_STATIC_PROGRAM)")


def call(*words, **how):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, **how)


def run(*words, **how):
    done = call(*words, **how)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def release(folder, *parts):
    """scripts/release on this build, packed quickly."""
    run(ROOT / "scripts/release", "--build", BUILD, "--as-built", *parts, cwd=ROOT,
        env={**os.environ, "MLSYSIM_DIST": str(folder), "MLSYSIM_PACK_LEVEL": "1", "SOURCE_DATE_EPOCH": "1700000000"})
    return folder


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    return release(tmp_path_factory.mktemp("release") / "dist", "program", "wheel", "sbom")


@pytest.fixture
def alone(tmp_path):
    """The static program in a folder of its own, and an environment in which it has a cache folder and nothing else."""
    program = tmp_path / "alone/mlsysim"
    program.parent.mkdir()
    shutil.copy(STATIC, program)
    (tmp_path / "home").mkdir()
    return program, {"HOME": str(tmp_path / "home")}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The same, once for questions that leave nothing behind."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copy(STATIC, folder / "mlsysim")
    return folder / "mlsysim", {"HOME": str(folder)}


def sums(folder):
    return {p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()}


def test_the_program_needs_no_library():
    head = STATIC.read_bytes()[:64 * 1024]
    assert b"ld-linux" not in head, "it asks for a dynamic loader"
    if shutil.which("readelf"):
        assert "(NEEDED)" not in run("readelf", "-d", STATIC)
        assert ".symtab" not in run("readelf", "-S", "-W", STATIC), "it is not stripped"


@pytest.mark.parametrize("words", [
    QUESTION, ("eval", "Llama3_70B", "H100", "--accelerators", "8", "--verbose"), ("explain", "Llama3_8B", "H100", "itl"),
    ("sweep", "Llama3_8B", "A100,H100", "--batch-size", "1,8", "-o", "csv"), ("zoo", "list", "-o", "json"), ("zoo", "show", "B200"),
    ("memory", "Llama3_8B", "H100"), ("plot", "roofline", "Llama3_8B", "H100", "-o", "svg"), ("schema", "plan"), ("validate", "inference", "-o", "json"),
    ("eval", "Llama3_8B", "H1000")], ids=" ".join)
def test_answers_are_those_of_the_ordinary_program(unpacked, words):
    program, environment = unpacked
    static, ordinary = call(program, *words, env=environment), call(ORDINARY, "--no-plugins", *words, env=environment)
    assert (static.returncode, static.stdout, static.stderr) == (ordinary.returncode, ordinary.stdout, ordinary.stderr)


def test_a_model_file_is_read(unpacked, tmp_path):
    program, environment = unpacked
    (tmp_path / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 16,
        "num_hidden_layers": 8, "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 4096, "torch_dtype": "bfloat16"}))
    words = ("eval", tmp_path / "config.json", "H100", "-o", "json")
    assert run(program, *words, env=environment) == run(ORDINARY, *words, env=environment)


def test_what_it_does_not_have_says_so(unpacked):
    program, environment = unpacked
    for words, said in ((("plugin", "list"), "component 'plugins'"), (("course", "list"), "component 'course'")):
        done = call(program, *words, env=environment)
        assert done.returncode != 0 and said in done.stderr, done.stderr
    picture = call(program, "plot", "roofline", "Llama3_8B", "H100", "-o", "png", env=environment)
    assert picture.returncode != 0 and "librsvg" in picture.stderr


def test_the_zoo_is_unpacked_once_and_whole(alone, tmp_path):
    program, environment = alone
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = set(pool.map(lambda _: run(program, *QUESTION, env=environment), range(4)))
    assert len(answers) == 1
    cache = tmp_path / "home/.cache/mlsysim"
    (zoo,) = cache.iterdir()
    packed = {p.relative_to(ROOT / "zoo").as_posix(): p.read_bytes() for p in (ROOT / "zoo").rglob("*") if p.is_file()}
    unpacked = {p.relative_to(zoo).as_posix(): p.read_bytes() for p in zoo.rglob("*") if p.is_file()}
    assert unpacked.pop("zoo.cache")
    assert unpacked == packed
    before = zoo.stat().st_mtime_ns
    run(program, *QUESTION, env=environment)
    assert zoo.stat().st_mtime_ns == before
    other = tmp_path / "other"
    run(program, *QUESTION, env={"HOME": "/", "XDG_CACHE_HOME": str(other)})
    assert [p.name for p in (other / "mlsysim").iterdir()] == [zoo.name]


def test_a_cache_that_others_can_write_to_is_not_used(alone, tmp_path):
    program, environment = alone
    cache = tmp_path / "home/.cache/mlsysim"
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    run(program, *QUESTION, env=environment)
    assert not list(cache.iterdir())
    shutil.rmtree(f"/tmp/mlsysim-{os.geteuid()}", ignore_errors=True)


def test_a_zoo_of_ones_own_comes_first(alone, tmp_path):
    program, environment = alone
    shutil.copytree(ROOT / "zoo", tmp_path / "zoo")
    run(program, *QUESTION, env={**environment, "MLSYSIM_ZOO_PATH": str(tmp_path / "zoo")})
    assert not (tmp_path / "home/.cache").exists()


def test_packing_twice_gives_the_same_bytes(dist, tmp_path):
    """Apart from recipes, which name the folder that they lie in, and the sums of these."""
    def own(folder):
        return {name: digest for name, digest in sums(folder).items() if not name.startswith("recipes/") and name != "SHA256SUMS"}
    first = own(dist)
    assert len(first) == 5
    assert own(release(tmp_path / "again", "program", "wheel", "sbom")) == first


def test_the_sums_are_those_of_the_files(dist):
    listed = dict(reversed(line.split("  ", 1)) for line in (dist / "SHA256SUMS").read_text().splitlines())
    here = sums(dist)
    del here["SHA256SUMS"]
    assert listed == here
    assert {f"{NAME}.tar.xz", f"{NAME}.tar.gz", "install.sh", f"mlsysim-{VERSION}.cdx.json"} <= set(here)


def test_the_archive_holds_the_program_and_the_licences(dist, tmp_path):
    run("tar", "-xf", dist / f"{NAME}.tar.xz", "-C", tmp_path)
    assert sorted(p.name for p in (tmp_path / NAME).iterdir()) == ["LICENSE", "THIRD-PARTY-NOTICES", "mlsysim"]
    notices = (tmp_path / NAME / "THIRD-PARTY-NOTICES").read_text()
    for package in ("libfmt-dev", "libyaml-cpp-dev", "libprotobuf-dev", "zlib1g-dev", "libminizip-dev"):
        assert f"==== {package} ====" in notices


@pytest.fixture
def bare(dist, tmp_path):
    """A root folder with busybox, the release and nothing else; and what runs a command in it."""
    if not BUSYBOX or b"ld-linux" in pathlib.Path(BUSYBOX).read_bytes()[:64 * 1024]:
        pytest.skip("no static busybox here: apt-get install busybox-static")
    top = tmp_path / "bare"
    for folder in ("bin", "dev", "home", "tmp"):
        (top / folder).mkdir(parents=True)
    shutil.copy(BUSYBOX, top / "bin/busybox")
    for applet in "sh tar xz gzip wget sha256sum sed uname mkdir cp mv rm grep dirname cat".split():
        (top / "bin" / applet).symlink_to("busybox")
    (top / "dev/null").touch(0o666)
    shutil.copytree(dist, top / "dist")
    before = () if os.geteuid() == 0 else ("unshare", "-r")
    if call(*before, "chroot", top, "/bin/busybox", "true").returncode != 0:
        pytest.skip("chroot is not permitted here")

    def inside(*words):
        return run(*before, "chroot", top, "/bin/busybox", "env", "-i", "PATH=/bin", "HOME=/home", *words)
    return inside


def test_from_a_bare_system_to_an_answer_in_ten_seconds(bare):
    begun = time.monotonic()
    said = bare("sh", "/dist/install.sh", "--from", "/dist")
    answer = bare("/home/.local/bin/mlsysim", *QUESTION)
    took = time.monotonic() - begun
    assert f"mlsysim {VERSION}" in said and "/home/.local/bin/mlsysim eval Llama3_8B H100" in said
    assert answer == run(ORDINARY, "--no-plugins", *QUESTION)
    print(f"install.sh to answer: {took:.2f} s")
    assert took <= 10


def test_a_system_without_xz_installs_as_well(bare, tmp_path):
    (tmp_path / "bare/bin/xz").unlink()
    bare("sh", "/dist/install.sh", "--to", "/home/bin")
    assert bare("/home/bin/mlsysim", *QUESTION)


def test_a_damaged_archive_is_not_installed(dist, tmp_path):
    shutil.copytree(dist, tmp_path / "dist")
    archive = tmp_path / "dist" / f"{NAME}.tar.xz"
    archive.write_bytes(archive.read_bytes()[:-1] + b"x")
    done = call("sh", tmp_path / "dist/install.sh", "--to", tmp_path / "bin")
    assert done.returncode == 1 and "does not match its checksum; nothing was installed" in done.stderr
    assert list((tmp_path / "bin").iterdir()) == []


@pytest.mark.parametrize("words, said", [
    (("--from", "/nowhere"), "cannot read SHA256SUMS from /nowhere"), (("--to",), "--to needs a value"), (("x",), "expected --from or --to"),
    (("--from", "http://127.0.0.1:9/"), "cannot read SHA256SUMS")])
def test_install_says_what_is_wrong(dist, tmp_path, words, said):
    done = call("sh", dist / "install.sh", *words, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    assert done.returncode == 1 and said in done.stderr, done.stderr
    assert not (tmp_path / ".local/bin/mlsysim").exists()


def test_install_from_a_server(dist, tmp_path):
    if not shutil.which("curl") and not shutil.which("wget"):
        pytest.skip("neither curl nor wget is here")
    handler = functools.partial(type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None}), directory=dist)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        run("sh", dist / "install.sh", env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "no_proxy": "*",
                                            "MLSYSIM_RELEASE_URL": f"http://127.0.0.1:{server.server_port}"})
        server.shutdown()
    assert stat.S_IMODE((tmp_path / ".local/bin/mlsysim").stat().st_mode) & 0o111
    assert not [p for p in (tmp_path / ".local/bin").iterdir() if p.name != "mlsysim"]


def test_from_the_wheel_to_an_answer_in_five_seconds(dist, tmp_path):
    (wheel,) = dist.glob("mlsysim_cpp_program-*-py3-none-manylinux_*.whl")
    try:
        venv.create(tmp_path / "env", with_pip=True)
    except subprocess.CalledProcessError:
        pytest.skip("this Python makes no environments with pip")
    begun = time.monotonic()
    run(tmp_path / "env/bin/pip", "install", "-q", "--no-index", "--disable-pip-version-check", wheel)
    answer = run(tmp_path / "env/bin/mlsysim", *QUESTION, env={"HOME": str(tmp_path)})
    took = time.monotonic() - begun
    assert answer == run(ORDINARY, "--no-plugins", *QUESTION)
    print(f"wheel to answer: {took:.2f} s")
    assert took <= 5
