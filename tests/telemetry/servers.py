"""Pushgateway, Prometheus and stubs of servers on loopback, for tests and for scripts/observe-demo."""

import contextlib
import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request


SLOWER = int(os.environ.get("MLSYSIM_TIME_FACTOR", "1"))  # more than 1 where the program is sanitized
PLAIN = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}  # a sanitizer is for Python, not for servers


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def get(url, timeout=5 * SLOWER):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read().decode()


def until(what, ask, tries=600 * SLOWER):
    """Asks until there is an answer; servers take a moment to start."""
    for _ in range(tries):
        with contextlib.suppress(OSError, KeyError, IndexError, ValueError):
            if (answer := ask()) is not None:
                return answer
        time.sleep(0.1)
    raise RuntimeError(f"{what} gave no answer")


def missing():
    return [name for name in ("prometheus", "prometheus-pushgateway", "promtool") if shutil.which(name) is None]


def query(prometheus, expression, time=None):
    """{labels: value} of an instant query, now or at a time [s since 1970]."""
    words = {"query": expression, **({} if time is None else {"time": time})}
    answer = json.loads(get(f"{prometheus}/api/v1/query?" + urllib.parse.urlencode(words)))
    assert answer["status"] == "success", answer
    return {tuple(sorted(row["metric"].items())): float(row["value"][1]) for row in answer["data"]["result"]}


ROOT = pathlib.Path(__file__).parents[2]
BUILT = pathlib.Path(os.environ.get("MLSYSIM_OBSERVE_CACHE", pathlib.Path.home() / ".cache" / "mlsysim" / "observe")) / "bin"


def has_prometheus_3():
    """Whether scripts/observe-servers prometheus has built the one with a receiver of OpenTelemetry."""
    return (BUILT / "prometheus").exists()


@contextlib.contextmanager
def running(rules=None, history=None, otlp=False):
    """A Pushgateway and a Prometheus that scrapes it, with the history of a file in OpenMetrics: (their URLs). With `otlp` it is
    Prometheus 3, which takes metrics of OpenTelemetry, too."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if history is not None:
            subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", history, folder / "data"], check=True, capture_output=True, env=PLAIN)
        gateway, prometheus = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        config = {"global": {"scrape_interval": "1s"}, "rule_files": [str(rules)] if rules else [],
                  "scrape_configs": [{"job_name": "pushgateway", "honor_labels": True,
                                      "static_configs": [{"targets": [gateway]}]}]}
        (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        commands = [["prometheus-pushgateway", f"--web.listen-address={gateway}", "--persistence.file="],
                    [BUILT / "prometheus" if otlp else "prometheus", *(["--web.enable-otlp-receiver"] if otlp else []), f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
                     f"--web.listen-address={prometheus}"]]
        processes = []
        try:
            for command in commands:
                processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=PLAIN))
            for url in (f"http://{gateway}/-/ready", f"http://{prometheus}/-/ready"):
                until(url, lambda url=url: get(url))
            yield f"http://{gateway}", f"http://{prometheus}"
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


def has_loki():
    """Whether scripts/observe-servers loki has built it."""
    return (BUILT / "loki").exists()


@contextlib.contextmanager
def running_loki():
    """A Loki with the configuration of the compose file: its URL."""
    with tempfile.TemporaryDirectory() as name:
        folder, port = pathlib.Path(name), free_port()
        config = (ROOT / "examples" / "observe" / "compose" / "loki.yml").read_text().replace("/loki", name).replace(
            "{http_listen_port: 3100}", f"{{http_listen_address: 127.0.0.1, http_listen_port: {port}, grpc_listen_port: {free_port()}}}")
        (folder / "loki.yml").write_text(config)
        process = subprocess.Popen([BUILT / "loki", f"-config.file={folder / 'loki.yml'}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=PLAIN)
        try:
            url = f"http://127.0.0.1:{port}"
            until(url, lambda: get(f"{url}/ready"))
            yield url
        finally:
            process.terminate()
            process.wait()


def query_loki(url, expression):
    """Rows of labels and a value; of a query of lines, those of the last ten minutes, each with its text and 1."""
    lines = not expression.startswith(("sum", "topk", "count"))
    words = {"query": expression, **({"start": int((time.time() - 600) * 1e9), "limit": 1000} if lines else {})}
    found = json.loads(get(f"{url}/loki/api/v1/query{'_range' if lines else ''}?" + urllib.parse.urlencode(words)))
    assert found["status"] == "success", found
    if lines:
        return [{"labels": {"line": text}, "value": 1.0} for stream in found["data"]["result"] for _, text in stream["values"]]
    return [{"labels": row["metric"], "value": float(row["value"][1])} for row in found["data"]["result"]]


@contextlib.contextmanager
def stub(answers):
    """A server that gives these statuses in turn (the last one for ever), and keeps what it was sent. Words are bad manners: it closes
    without an answer, hangs until the caller goes, trickles an answer that never ends, or ends half way."""
    taken, left, gone = [], list(answers), threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            taken.append((self.command, self.path, dict(self.headers), body))
            status = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(status, str):
                self.close_connection = True
                with contextlib.suppress(OSError):
                    if status == "half":
                        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
                    if status == "trickle":
                        self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
                        while not gone.wait(0.02):
                            self.wfile.write(b"x")
                    if status == "hang":
                        self.connection.recv(1)  # until the caller goes
                return
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(b"said the server")

        do_PUT = do_DELETE = do_POST

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", taken
    finally:
        gone.set()
        server.shutdown()
        server.server_close()
