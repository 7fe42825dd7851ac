"""The pages of the site that are made of the library: nothing public is missing, every link leads somewhere, and the site is built."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import site_pages  # noqa: E402


def main(program):
    import mlsysim

    with tempfile.TemporaryDirectory() as folder:
        docs = pathlib.Path(folder) / "docs"
        shutil.copytree(ROOT / "docs", docs)
        made = docs / "generated"
        site_pages.write(program, docs)
        pages = {p.relative_to(made).as_posix(): p.read_text() for p in made.rglob("*.md")}
        assert set(site_pages.PAGES) <= set(pages), sorted(pages)
        headers = [p.relative_to(ROOT / "include").as_posix() for p in (ROOT / "include/mlsysim").glob("*/**/*.hpp") if "detail" not in p.parts]
        everything = "\n".join(pages.values())
        assert not (absent := [name for name in headers if f"## {name}" not in everything]), absent
        assert not (absent := [name for name in mlsysim.laws.names() if f"## {name}\n" not in pages["laws.md"]]), absent
        assert "Source: " in pages["laws.md"] and "[GB]" in pages["laws.md"] and "batch_size" in pages["laws.md"]
        assert "## ask\n" in pages["python.md"] and "Subject.pareto(" in pages["python.md"]
        resolvers = (docs / "reference/resolvers/README.md").read_text()
        assert resolvers == (ROOT / "docs/reference/resolvers/README.md").read_text(), "run: mlsysim resolver docs --write docs/reference/resolvers"
        names = set(re.findall(r"^\| \[(\w+)\]", resolvers, re.M))
        assert len(names) > 20 and {f"{name}.md" for name in names} | {"README.md"} == {p.name for p in (docs / "reference/resolvers").iterdir()}
        assert pages["accuracy-tables.md"].count("\n## ") > 100 and "| H100 |" in pages["figures.md"] and "| mutants |" in pages["trust.md"]
        assert pages["walls.md"].count("\n|") == 22 + 2 and "H100" in pages["zoo/hardware.md"]
        for name, text in pages.items():
            for link in re.findall(r"(?<!\\)\]\(([^)#\s]+)\)", re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.M | re.S)):
                assert re.match(r"[a-z]+:", link) or ((made / name).parent / link).exists(), (name, link)
        print(f"{len(pages)} pages, {len(headers)} headers, {len(mlsysim.laws.names())} laws")
        mkdocs = ROOT / "build/site-venv/bin/mkdocs"
        if not mkdocs.exists():
            print("the site itself is not built here: scripts/site installs mkdocs-material for it")
            return 0
        done = subprocess.run([mkdocs, "-q", "build", "--strict", "--site-dir", f"{folder}/site"], cwd=ROOT, env={"MLSYSIM_SITE_DOCS": str(docs), "PATH": "/usr/bin:/bin"},
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        for name in ("search/search_index.json", "generated/laws/index.html", "generated/cpp/physics/index.html", "gallery/index.html"):
            assert (pathlib.Path(folder) / "site" / name).exists(), name
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
