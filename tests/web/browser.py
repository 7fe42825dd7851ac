"""A headless Chromium that a test drives over a pipe (the DevTools protocol): pages, expressions, pictures of the screen."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile


def program():
    """Path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def tools():
    """Folder of the programs that make the page from TypeScript, or None."""
    folder = pathlib.Path(__file__).parents[2] / "bindings/web/node_modules/.bin"
    return folder if (folder / "esbuild").exists() and (folder / "tsc").exists() else None


class Browser:
    """Use it in `with`; one page at a time."""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        reads, self.to = os.pipe()
        self.read, writes = os.pipe()
        command = [program(), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,900", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "about:blank"]
        # The browser takes its commands from descriptor 3 and answers on 4.
        plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}  # a sanitizer is for Python, not for the browser
        self.child = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{reads} 4>&{writes}', "bash", *command], pass_fds=(reads, writes),
                                      stderr=subprocess.DEVNULL, env=plain)
        os.close(reads)
        os.close(writes)
        self.rest, self.last = b"", 0
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return self

    def __exit__(self, *_):
        os.close(self.to)
        self.child.terminate()
        self.child.wait()
        os.close(self.read)
        self.profile.cleanup()

    def call(self, method, **parameters):
        """The result of a command; events are passed over."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                piece = os.read(self.read, 1 << 16)
                if not piece:
                    raise RuntimeError("the browser ended")
                self.rest += piece
            one, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(one)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, address, ready="document.documentElement?.dataset.ready === 'yes'"):
        """Opens a page, and waits until an expression holds in it."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.wait(ready)

    def wait(self, condition):
        """Returns once an expression holds; what does not come in two minutes does not come."""
        self.run(f"new Promise((done, failed) => {{ const last = Date.now() + 120000, look = () => ({condition}) ? done(true) : Date.now() > last "
                 f"? failed(new Error({json.dumps('did not come: ' + condition)} + document.body?.innerText.slice(0, 2000))) : setTimeout(look, 5); look(); }})")

    def run(self, expression):
        """The value of an expression of the page, awaited."""
        got = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in got:
            raise AssertionError(got["exceptionDetails"].get("exception", {}).get("description", got["exceptionDetails"]["text"]))
        return got["result"].get("value")

    def processor(self, statements):
        """Milliseconds of the processor that statements take of the page's thread, whatever else runs on the machine."""
        def now():
            return next(m["value"] for m in self.call("Performance.getMetrics")["metrics"] if m["name"] == "TaskDuration")

        self.call("Performance.enable", timeDomain="threadTicks")
        before = now()
        self.run(f"(() => {{ {statements} }})()")  # without a function the last value would be sent
        return 1e3 * (now() - before)

    def screen(self, file):
        with open(file, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
