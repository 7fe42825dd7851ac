"""Recipes of packagers for the static program: each is parsed, as far as its tool is here, and names what a release holds."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(os.environ["MLSYSIM_SOURCE_DIR"])
PACKAGING = ROOT / "packaging"
FILLED = {"@VERSION@": "1.2.3", "@SHA256@": "0" * 64, "@DIST@": "/srv/dist"}


def filled(name):
    text = (PACKAGING / name).read_text()
    for mark, value in FILLED.items():
        text = text.replace(mark, value)
    assert not re.search(r"@[A-Z]\w*@", text), "scripts/release fills three marks and no other"
    return text


def parses(tool, *words, text):
    """Where the tool is here it must accept the text."""
    if shutil.which(tool):
        done = subprocess.run([tool, *words], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_recipe_of_conda():
    recipe = yaml.safe_load(filled("conda/recipe.yaml"))
    assert recipe["package"]["name"] == "mlsysim" and recipe["context"]["version"] == "1.2.3"
    assert recipe["source"]["url"].endswith("/mlsysim-${{ version }}-linux-x86_64.tar.xz") and recipe["source"]["sha256"] == "0" * 64
    assert "MLSYSIM_RELEASE_URL" in recipe["source"]["url"]
    assert recipe["about"]["license"] == "Apache-2.0" and recipe["tests"][0]["script"]


def test_the_formula_of_homebrew():
    text = filled("homebrew/mlsysim.rb")
    parses("ruby", "-c", "-", text=text)
    assert "class Mlsysim < Formula" in text and 'version "1.2.3"' in text and f'sha256 "{"0" * 64}"' in text
    assert re.search(r"HOMEBREW_MLSYSIM_RELEASE_URL.*/mlsysim-1\.2\.3-linux-x86_64\.tar\.xz", text)
    opened = re.findall(r"^\s*(?:class|def)\b|\bdo$", text, re.M)
    assert len(opened) == len(re.findall(r"^\s*end$", text, re.M))


def test_the_derivation_of_nix():
    text = filled("nix/default.nix")
    parses("nix-instantiate", "--parse", "-", text=text)
    assert 'version = "1.2.3"' in text and f'sha256 = "{"0" * 64}"' in text
    for opening, closing in ("{}", "[]", "()"):
        assert text.count(opening) == text.count(closing)


def test_the_image_of_docker():
    text = (PACKAGING / "docker/Dockerfile").read_text()
    lines = [line for line in re.sub(r"\\\n", " ", text).splitlines() if line and not line.startswith("#")]
    words = [line.split()[0] for line in lines]
    assert set(words) <= {"FROM", "COPY", "RUN", "USER", "ENTRYPOINT"} and words[0] == "FROM"
    stages = re.findall(r"^FROM \S+ AS (\w+)", text, re.M)
    assert set(re.findall(r"--from=(\w+)", text)) <= set(stages)
    assert 'ENTRYPOINT ["/usr/local/bin/mlsysim"]' in lines
    # The zoo lies where the program looks for it: ../share/mlsysim/zoo.
    assert "/usr/local/share/mlsysim/zoo" in text


@pytest.mark.parametrize("script", ["packaging/install.sh"])
def test_the_shell_of_posix_reads_install(script):
    shells = [shell for shell in (("dash",), ("busybox", "sh"), ("sh",)) if shutil.which(shell[0])]
    assert shells
    for shell in shells:
        subprocess.run([*shell, "-n", ROOT / script], check=True)


def test_scripts_release_fills_every_recipe():
    release = (ROOT / "scripts/release").read_text()
    for name in ("conda/recipe.yaml", "homebrew/mlsysim.rb", "nix/default.nix", "docker/Dockerfile"):
        assert name in release
    for mark in FILLED:
        assert mark in release
