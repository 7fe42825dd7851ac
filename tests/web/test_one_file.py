"""The explorer in one file (one_file.py): the page opens from a disk, alone in its folder, and shows what the folder's page shows."""

import pathlib
import subprocess
import sys
import tempfile

import browser

ROOT = pathlib.Path(__file__).parents[2]
SKIPPED = 77


def main(program):
    if browser.tools() is None:
        print("skipped: the page's tools are absent: scripts/web --tools")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        site, page = pathlib.Path(name) / "site", pathlib.Path(name) / "alone/explorer.html"
        page.parent.mkdir()
        subprocess.run([sys.executable, ROOT / "bindings/web/collect.py", program, site, "--models", "Llama3_8B", "--machines", "H100"], check=True,
                       stdout=subprocess.DEVNULL)
        for _ in range(2):
            before = page.read_bytes() if page.exists() else None
            subprocess.run([sys.executable, ROOT / "bindings/web/one_file.py", site, page], check=True, stdout=subprocess.DEVNULL)
            assert before in (None, page.read_bytes()), "the same folder gives the same page"
        text = page.read_text(encoding="utf-8")
        assert "src=" not in text.split("<script>")[0] and 'rel="stylesheet"' not in text and "'unsafe-inline'" not in text
        if browser.program() is None:
            print("written; not opened, for there is no Chromium")
            return 0
        shown = []
        with browser.Browser() as b:
            for address in (site / "index.html", page):
                b.open(address.as_uri())
                shown.append(b.run("document.body.innerText"))
        assert shown[0] == shown[1] and "Llama3_8B" in shown[1], shown
    print("the page in one file shows what the folder's page shows")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
