"""Pages in a headless Chromium: the report with everything on it, and the page of compile records. Nothing is fetched, nothing runs."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from servers import SLOWER

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "web")]
import browser  # noqa: E402

PROGRAM = os.environ["MLSYSIM_PROGRAM"]
HOSTILE = "<script>document.title = 'taken'</script> &#x27; <img src=x onerror=\"document.title = 'taken'\">"
needs_browser = pytest.mark.skipif(browser.program() is None, reason="no Chromium: apt-get install chromium")


def run(*words):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120 * SLOWER, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def document(path, commit, reasons):
    breaks = [{"index": i, "type": kind, "reason": kind + "\n  Explanation: the whole text", "graph_break": True,
               "stack": [{"file": "pkg/model.py", "line": 3 + i, "function": "forward"}]} for i, kind in enumerate(reasons)]
    path.write_text(json.dumps({"schema": "mlsysim.dynamo_explain/1", "model": {"family": "Text", "name": "tiny", "commit": commit}, "status": "ok",
                                "graph_count": len(reasons) + 1, "graph_break_count": len(reasons), "op_count": 9, "graphs": [], "breaks": breaks,
                                "guards": {"count": 5}, "compile_times": {"unit": "s", "total": 2.5, "phases": {"dynamo": [2.5]}}}))
    return path


@pytest.fixture
def records(tmp_path):
    before = document(tmp_path / "before.json", "c1", ["Dynamic shape operator", "print"])
    after = document(tmp_path / "after.json", "c2", ["Dynamic shape operator", "Dynamic shape operator", HOSTILE])
    return before, after


def needs_nothing(html):
    """Whether a page loads and runs nothing, by its text."""
    assert "Content-Security-Policy" in html and "default-src 'none'" in html
    for tag in re.findall(r"<[a-zA-Z][^>]*>", html):  # in texts a < is escaped
        assert not re.match(r"<(script|link|iframe|img|object|embed|base|form)\b", tag, re.I) and not re.search(r"\s(on\w+|(src|href|xlink:href)=(?!\"#))", tag), tag
        assert not re.search(r"url\((?!#)", tag), tag
    for style in re.findall(r"<style>(.*?)</style>", html, flags=re.S):
        assert "@import" not in style and "url(" not in style


def test_the_report_holds_everything_and_needs_nothing(tmp_path, records):
    before, after = records
    page = tmp_path / "report.html"
    run("report", "Llama3_8B", "H100", "--accelerators", 8, "--output-tokens", 256, "--records", before, "--records", after, "--records-before", before,
        "--pipeline", "SingleNodeModel", "--pipeline", "workload=Llama3_8B", "--pipeline", "hardware=H100", "-o", page)
    html = page.read_text()
    needs_nothing(html)
    # Escaped once: neither markup, nor a second time.
    assert "&lt;script&gt;document.title" in html and "&amp;#x27;" in html and "&amp;amp;" not in html and "&amp;lt;" not in html
    if browser.program() is None:
        pytest.skip("no Chromium: the page was not opened")
    with browser.Browser() as tab:
        tab.open(page.as_uri(), ready="document.readyState === 'complete'")
        seen = tab.run("document.body.textContent")
        assert HOSTILE in seen and tab.run("document.title") != "taken" and tab.run("document.scripts.length") == 0
        titles = tab.run("[...document.querySelectorAll('svg')].map((s) => s.querySelector('title').textContent)")
        for part in ("roofline", "memory while answers grow", "Graph breaks of each commit by reason", "memory of one device"):
            assert any(part in title for title in titles), (part, titles)
        assert len(tab.run("[...document.querySelectorAll('section')].find((s) => s.textContent.startsWith('\\nPipeline')).querySelector('svg').textContent")) > 20
        assert tab.run("[...document.querySelectorAll('svg')].every((s) => s.getBoundingClientRect().width > 100 && s.querySelector('desc') !== null)")
        # Each table with a choice shows all of its rows, and of a choice those alone.
        rows = "[...document.querySelectorAll('tbody')].filter((b) => b.querySelector('tr[class]')).map((b) => [...b.rows].filter((r) => r.offsetParent !== null).length)"
        whole = tab.run(rows)
        assert whole[0] == 5
        tab.run("[...document.querySelectorAll('label')].find((l) => l.textContent.startsWith('dynamic_shape')).click()")
        assert tab.run(rows) == [3, *whole[1:]]
        tab.run("[...document.querySelectorAll('label')].find((l) => l.textContent.startsWith('new')).click()")
        assert tab.run(rows)[1] == 1
        assert tab.run("document.title") != "taken"


@needs_browser
def test_the_page_of_compile_records_opens_from_a_file(tmp_path, records):
    page = tmp_path / "page.html"
    run("compile", "ingest", *records, "--html", page)
    needs_nothing(page.read_text())
    with browser.Browser() as tab:
        tab.open(page.as_uri(), ready="document.readyState === 'complete'")
        assert HOSTILE in tab.run("document.body.textContent") and tab.run("document.scripts.length") == 0
        shown = tab.run("document.body.innerText")
        assert "5 graph breaks in 2 records" in shown and "c1" in shown and "c2" in shown and "pkg/model.py:3 forward" in shown
        assert "the whole text" not in shown
        tab.run("document.querySelector('tbody details summary').click()")
        assert "the whole text" in tab.run("document.body.innerText")


def test_the_report_for_a_terminal_is_as_wide_as_it(tmp_path, records):
    import pty  # noqa: PLC0415
    import fcntl  # noqa: PLC0415
    import struct  # noqa: PLC0415
    import termios  # noqa: PLC0415

    def on_terminal(columns, *words):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        child = subprocess.Popen([PROGRAM, *map(str, words)], stdout=theirs, stderr=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm", "NO_COLOR": ""})
        os.close(theirs)
        out = b""
        try:
            while piece := os.read(ours, 1 << 16):
                out += piece
        except OSError:  # the terminal ends with its last writer
            pass
        os.close(ours)
        assert child.wait() == 0
        return out.decode().replace("\r", "")

    words = ("report", "Llama3_8B", "H100", "--accelerators", 8, "--records", records[1], "--text")
    for columns in (80, 110):
        text = on_terminal(columns, *words)
        assert "\x1b[1m" in text
        plain = re.sub(r"\x1b\[\d*m", "", text)
        assert max(map(len, plain.splitlines())) <= columns, max(plain.splitlines(), key=len)
        assert "Graph breaks" in plain and "taken as" in plain and "c2" in plain
    piped = run(*words)
    assert "\x1b" not in piped and max(map(len, piped.splitlines())) <= 96
