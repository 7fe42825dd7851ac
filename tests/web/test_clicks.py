"""Clicks, keys and sliders of the explorer in headless Chromium, from file://; its policy lets no inline script run."""

import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from browser import tools

ROOT = pathlib.Path(__file__).parents[2]
SKIPPED = 77

# Runs beside the page, as a user would: what was seen goes into an element that the test reads.
CLICKS = """
"use strict";
const seen = {}, $ = (id) => document.getElementById(id), settled = () => new Promise((done) => setTimeout(done, 1));
const note = (name) => { seen[name] = { fits: $("hero").className, answer: $("answer").textContent, view: $("view").textContent, hash: location.hash, svgs: $("view").querySelectorAll("svg").length }; };
window.addEventListener("error", (e) => { seen.error = String(e.message); });
const choose = async (id, value) => { $(id).value = value; $(id).dispatchEvent(new Event("change")); await settled(); };
(async () => {
while (document.documentElement.dataset.ready !== "yes") await settled();
note("first");
const slider = document.querySelector("[data-name=batch_size]");
slider.value = 64; slider.dispatchEvent(new Event("input"));
note("batch");
for (const q of document.querySelectorAll("#questions button")) {
  q.click();
  note(`view ${explorer.state.view}`);
  for (const b of document.querySelectorAll("#views button")) { b.click(); note(`view ${b.dataset.view}`); }
}
const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
press("2");
note("key 2");
press("]");
note("key ]");
press("[");
note("key [");
press("?");
seen.help = $("keys").open;
$("keys").close();
press("/");
seen.model_focused = document.activeElement.id;
seen.csv = explorer.csvText();
$("questions").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
note("arrow");
seen.focus = document.activeElement.dataset.view;
const typed = $("number-batch_size"); typed.value = "24"; typed.dispatchEvent(new Event("change"));
note("typed");
press("r");
note("reset");
await choose("machine", "H200");
note("machine");
seen.theme = document.documentElement.className; $("theme").click(); seen.theme_after = document.documentElement.className;
press("t"); seen.theme_again = document.documentElement.className;
const begun = performance.now(); for (let k = 0; k < 20; k += 1) explorer.solved("H100"); seen.ms = (performance.now() - begun) / 20;
seen.shell = $("shell").textContent;
const e = document.createElement("pre"); e.id = "seen"; e.textContent = JSON.stringify(seen); document.body.append(e);
})();
"""
ODD = "<script>document.title='run'</script>"


def page_text(browser, folder, state):
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000", "--dump-dom", f"file://{folder}/index.html#{state}"]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout


def seen_in(text):
    found = re.search(r'<pre id="seen">(.*?)</pre>', text, re.DOTALL)
    assert found, text[:2000]
    return json.loads(html.unescape(found.group(1)))


def same(display, sentence):
    """Whether a sentence has a number of the program, which it shows with three digits."""
    number, unit = display.split()
    return any(text == unit and abs(float(n) / float(number) - 1) < 5e-3 for n, text in re.findall(r"([\d.]+) (\w+)", sentence))


def number(program, *words, name):
    answer = json.loads(subprocess.run([program, "--no-plugins", *words, "-o", "json"], capture_output=True, text=True, check=False).stdout)
    return answer["levels"]["performance"]["metrics"][name]["display"]


def main(program):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None or tools() is None:
        print("skipped: there is no Chromium to open the explorer in, or not its tools: scripts/web --tools")
        return SKIPPED
    types = subprocess.run([tools() / "tsc", "--project", ROOT / "bindings/web"], capture_output=True, text=True, check=False)
    assert types.returncode == 0, types.stdout
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, ROOT / "bindings/web/collect.py", program, folder, "--models", "Llama3_70B", "--machines", "H100", "H200"],
                       check=True, stdout=subprocess.DEVNULL)
        place = pathlib.Path(folder)
        page = (place / "index.html").read_text()
        (place / "clicks.js").write_text(CLICKS)
        (place / "index.html").write_text(page.replace("</body>", '<script defer src="clicks.js"></script></body>'))
        seen = seen_in(page_text(browser, folder, "model=Llama3_70B&machine=H100&other=H200"))
        # A model whose name is markup is shown as it is.
        data = place / "programs.js"
        data.write_text(data.read_text().replace('"Llama3_70B', '"' + ODD.replace("/", "\\/")))
        odd = page_text(browser, folder, "")
    assert "error" not in seen, seen["error"]
    itl = number(program, "eval", "Llama3_70B", "H100", "--accelerators", "8", name="itl")
    assert same(itl, seen["first"]["answer"]) and seen["first"]["fits"] == "yes", (itl, seen["first"])
    moved = number(program, "eval", "Llama3_70B", "H100", "--accelerators", "8", "--batch-size", "16", name="itl")
    assert same(moved, seen["batch"]["answer"]) and "x.batch_size=16" in seen["batch"]["hash"], seen["batch"]
    views = [name for name in seen if name.startswith("view ")]
    assert len(views) == 7
    for name in views:
        assert seen[name]["svgs"] >= 1 and "NaN" not in seen[name]["view"] and "undefined" not in seen[name]["view"], (name, seen[name])
    assert "view=memory" in seen["key 2"]["hash"] and "view=cost" in seen["arrow"]["hash"] and seen["focus"] == "cost"
    assert "view=cost" in seen["key ]"]["hash"] and "view=memory" in seen["key ["]["hash"] and seen["help"] and seen["model_focused"] == "model"
    assert "x.batch_size=24" in seen["typed"]["hash"] and "x." not in seen["reset"]["hash"]
    other = number(program, "eval", "Llama3_70B", "H200", "--accelerators", "8", name="itl")
    assert same(other, seen["machine"]["answer"])
    assert re.match(r",H100,H200,meaning\r\nmemory\.weights,", seen["csv"]) and seen["theme"] != seen["theme_after"] != seen["theme_again"]
    assert seen["shell"].startswith("mlsysim eval Llama3_70B H200 --accelerators 8")
    assert "<title>run</title>" not in odd and html.escape(ODD, quote=False) in odd
    print(f"{len(views)} views, {seen['ms']:.2f} ms a scorecard")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
