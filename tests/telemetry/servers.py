"""Pushgateway, Prometheus and stubs of servers on loopback, for tests and for scripts/observe-demo."""

import contextlib
import http.server
import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def get(url, timeout=5):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read().decode()


def until(what, ask, tries=600):
    """Asks until there is an answer; servers take a moment to start."""
    for _ in range(tries):
        with contextlib.suppress(OSError, KeyError, IndexError, ValueError):
            if (answer := ask()) is not None:
                return answer
        time.sleep(0.1)
    raise RuntimeError(f"{what} gave no answer")


def missing():
    return [name for name in ("prometheus", "prometheus-pushgateway", "promtool") if shutil.which(name) is None]


def query(prometheus, expression):
    """{labels: value} of an instant query."""
    answer = json.loads(get(f"{prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": expression})))
    assert answer["status"] == "success", answer
    return {tuple(sorted(row["metric"].items())): float(row["value"][1]) for row in answer["data"]["result"]}


@contextlib.contextmanager
def running(rules=None):
    """A Pushgateway and a Prometheus that scrapes it: (their URLs)."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        gateway, prometheus = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        config = {"global": {"scrape_interval": "1s"}, "rule_files": [str(rules)] if rules else [],
                  "scrape_configs": [{"job_name": "pushgateway", "honor_labels": True,
                                      "static_configs": [{"targets": [gateway]}]}]}
        (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        commands = [["prometheus-pushgateway", f"--web.listen-address={gateway}", "--persistence.file="],
                    ["prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
                     f"--web.listen-address={prometheus}"]]
        processes = []
        try:
            for command in commands:
                processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            for url in (f"http://{gateway}/-/ready", f"http://{prometheus}/-/ready"):
                until(url, lambda url=url: get(url))
            yield f"http://{gateway}", f"http://{prometheus}"
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


@contextlib.contextmanager
def stub(answers):
    """A server that gives these statuses in turn (the last one for ever), and keeps what it was sent."""
    taken, left = [], list(answers)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            taken.append((self.command, self.path, dict(self.headers), body))
            status = left.pop(0) if len(left) > 1 else left[0]
            if status == "close":
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(b"said the server")

        do_PUT = do_POST

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", taken
    finally:
        server.shutdown()
        server.server_close()
