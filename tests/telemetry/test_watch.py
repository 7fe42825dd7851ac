"""mlsysim watch: recorded and fake engines on loopback, and who is called at all."""

import contextlib
import http.server
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import servers  # noqa: E402

PROGRAM = os.environ["MLSYSIM_PROGRAM"]
DATA = pathlib.Path(__file__).parents[1] / "data"
ASKED = ["--workload", "Llama3_8B", "--hardware", "H100", "--with", "precision=bf16"]


def watch(*words, code=0, env=None):
    done = subprocess.run([PROGRAM, "watch", *map(str, words), *ASKED], capture_output=True, text=True, timeout=60 * servers.SLOWER, check=False,
                          env={**os.environ, **(env or {})})
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


def page(requests, ttft, itl, engine="vllm", next_token="inter_token_latency_seconds"):
    tokens = requests * 100
    label = '{model_name="llama"}'
    return "".join(f"{engine}:{name}{label} {value}\n" for name, value in (
        ("time_to_first_token_seconds_sum", requests * ttft), ("time_to_first_token_seconds_count", requests),
        (f"{next_token}_sum", tokens * itl), (f"{next_token}_count", tokens),
        ("num_requests_running", 8), ("prompt_tokens_total", requests * 1024), ("generation_tokens_total", tokens)))


@contextlib.contextmanager
def engine(*answers):
    """A server that gives these in turn, the last one for ever: a page, a status, "half", "hang" or "huge"."""
    left, released, asked = list(answers), threading.Event(), []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.headers.get("Authorization"))
            answer = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(answer, int):
                self.send_response(answer)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(200)
            body = {"half": b"a 1\n", "hang": b"", "huge": b"a 1\n" * (5 << 20)}.get(answer, answer.encode())
            self.send_header("Content-Length", str(len(body) if answer not in ("half", "hang") else 1000))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(body)
            if answer == "hang":
                released.wait()
            self.close_connection = True

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/metrics", asked
    finally:
        released.set()
        server.shutdown()
        server.server_close()


def rows(done):
    head, *lines = [line.split(",") for line in done.stdout.splitlines()]
    return {line[head.index("number")]: dict(zip(head, line)) for line in lines}


def test_inside_and_outside_of_the_band(tmp_path):
    with engine("nothing_yet 1\n" + page(10, 1e-9, 1e-9)) as (url, _):
        first = rows(watch(url, "-o", "csv", code=1))
    ttft, itl = (float(first[n]["predicted [ms]"]) / 1e3 for n in ("ttft", "itl"))
    with engine(page(10, ttft, itl)) as (url, _):
        fine = rows(watch(url, "-o", "csv"))
        assert {r["place"] for r in fine.values()} == {"inside"}
        assert float(fine["itl"]["low [ms]"]) < float(fine["itl"]["predicted [ms]"]) < float(fine["itl"]["high [ms]"])
    metrics = tmp_path / "mlsysim.prom"
    with engine(page(10, ttft, 5 * itl, "sglang")) as (url, _):
        parted = watch(url, "--metrics", metrics, code=1)
        assert "alert: " in parted.stderr and "itl of llama is above its band" in parted.stderr
    text = metrics.read_text()
    assert f'mlsysim_watch_outside{{engine="sglang",model_name="llama",number="itl",server="{url}"}} 1\n' in text
    assert f'number="ttft",server="{url}"}} 0\n' in text
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_what_counts_is_the_time_between_two_askings():
    with engine(page(10, 1, 0.01), page(30, 1, 0.01)) as (url, asked):
        found = rows(watch(url, "--count", 2, "--interval", 0, "-o", "csv", code=1))
        assert found["itl"]["requests"] == "20" and len(asked) == 2


@pytest.mark.parametrize("answer, said", [
    (301, "301: redirected, which is not followed"), (400, "400: refused"), (404, "at /metrics"), (429, "429: too many requests"),
    (500, "500: an error of the server"), ("half", "no whole answer"),
    ("huge", "more than 16777216 B"), ("python_gc 1\n", "no metrics of vLLM or SGLang"),
    (page(0, 0, 0), "has not served a request")])
def test_servers_that_give_nothing_are_named_and_the_others_are_asked(answer, said):
    with engine(answer) as (bad, _), engine(page(10, 1, 1)) as (good, _):
        done = watch(bad, good, "-o", "csv", code=5)
        assert f"error: {bad}: " in done.stderr and said in done.stderr
        assert rows(done)["itl"]["server"] == good


def test_each_server_is_a_group_of_its_own():
    with servers.stub([200]) as (gateway, taken), engine(page(10, 1, 1)) as (one, _), engine(page(10, 1, 1)) as (two, _):
        watch(one, "--push", gateway, code=1)
        watch(two, "--push", gateway, code=1)
    paths = [row[1] for row in taken]
    assert len(paths) == 2 and len(set(paths)) == 2 and all(path.startswith("/metrics/job/mlsysim-watch/server@base64/") for path in paths), paths
    assert one in taken[0][3].decode() and two not in taken[0][3].decode()


@pytest.mark.parametrize("line", [b"X-A: " + b"b" * 8000 + b"\r\n", b"b" * 8000])
def test_a_head_without_end_takes_no_memory(line):
    """Lines without end, and one line without end."""
    def serve(listener):
        with contextlib.suppress(OSError):
            taken, _ = listener.accept()
            with taken:
                taken.recv(4096)
                taken.sendall(b"HTTP/1.1 200 OK\r\n")
                while True:
                    taken.sendall(line * 16)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,), daemon=True)
        server.start()
        running = subprocess.Popen([PROGRAM, "watch", f"http://127.0.0.1:{listener.getsockname()[1]}", *ASKED, "--timeout", str(10 * servers.SLOWER)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = running.stderr.read().decode()
        running.stderr.close()
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    assert running.returncode == 5 and "more than" in said, said
    assert servers.SLOWER > 1 or used.ru_maxrss < 200_000  # [KiB]; the server sends gigabytes


def test_a_server_that_hangs_is_waited_for_as_long_as_was_said():
    with engine("hang") as (url, asked):
        assert "no whole answer within 0.05 s" in watch(url, "--timeout", 0.05, code=5).stderr and len(asked) <= 1


def test_secrets_stay_secret():
    with engine(500) as (url, asked):
        done = watch(url.replace("//", "//me:canary1@"), "--credentials-env", "SECRET", code=5, env={"SECRET": "me:canary2"})
        assert "canary" not in done.stdout + done.stderr and asked[0].startswith("Basic ")


SPY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
/* Every socket of a network is noted; sockets of this machine's processes are none. */
int socket(int domain, int type, int protocol) {
  const char* note = getenv("SPY_NOTE");
  if (note != NULL && (domain == AF_INET || domain == AF_INET6)) close(open(note, O_CREAT | O_WRONLY, 0600));
  return ((int (*)(int, int, int))dlsym(RTLD_NEXT, "socket"))(domain, type, protocol);
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler for the spy")
def test_no_network_call_unless_a_url_is_given(tmp_path):
    (tmp_path / "spy.c").write_text(SPY)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "spy.so", tmp_path / "spy.c", "-ldl"], check=True)
    note = tmp_path / "note"

    def called(*words):
        note.unlink(missing_ok=True)
        subprocess.run([PROGRAM, *map(str, words)], capture_output=True, timeout=60 * servers.SLOWER, check=False,
                       env={**os.environ, "LD_PRELOAD": str(tmp_path / "spy.so"), "SPY_NOTE": str(note),
                            "ASAN_OPTIONS": "verify_asan_link_order=0"})  # the spy comes before a sanitizer
        return note.exists()

    matrix = DATA.parent / "ci" / "predictions.yaml"
    for words in (["eval", "Llama3_8B", "H100"], ["compile", "ingest", DATA / "compile"], ["compile", "export", DATA / "compile"],
                  ["compile", "diff", DATA / "compile", DATA / "compile"],
                  ["ci", "run", matrix, "--history", tmp_path / "h.sqlite", "--report", f"html={tmp_path / 'x.html'}"],
                  ["sweep", "Llama3_8B", "H100", "--axis", "batch_size=1..4"], ["zoo", "lint", DATA.parents[1] / "zoo" / "hardware"]):
        assert not called(*words), words
    # The spy sees what it should see.
    assert called("compile", "export", DATA / "compile", "--push", "http://127.0.0.1:1", "--retry-wait", "0")
    assert called("watch", "http://127.0.0.1:1/metrics", *ASKED)
