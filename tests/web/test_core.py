"""The core in the browser says what the program says, byte for byte, and every view of the explorer is drawn by it.

Skipped where the core is not compiled for the web (scripts/web --tools), or was compiled from other sources. With MLSYSIM_WASM=build it is
compiled here, and MLSYSIM_WASM=FILE.wasm is taken as it is.
"""

import csv
import functools
import gzip
import http.server
import io
import itertools
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import browser

ROOT = pathlib.Path(__file__).parents[2]
SKIPPED = 77
H100 = ["Llama3_70B", "H100", "--accelerators", "8"]
LINES = [
    *([["eval", model, machine, "--accelerators", "8", "-o", "json"]
       for model in ("Llama3_70B", "Llama3_8B", "Qwen3_30B_A3B", "Mixtral_8x7B", "DeepSeek_V3")
       for machine in ("H100", "H200", "A100", "B200", "MI300X")]),
    *([["eval", *H100, "--batch-size", str(batch), "--seq-len", str(length), "-o", "json"] for batch in (1, 16, 200) for length in (128, 8192)]),
    ["eval", "ResNet50", "A100", "--batch-size", "64", "-o", "json"],
    ["eval", "Llama3_8B", "H100", "--mode", "train", "--accelerators", "64", "--pp-size", "4", "--batch-size", "256", "-o", "json"],
    ["eval", "Llama3_70B", "H100", "--mode", "train", "--accelerators", "512", "--tp-size", "8", "--pp-size", "8", "--batch-size", "1024", "-o", "json"],
    ["eval", "Llama3_70B", "H100"],
    ["explain", "Llama3_70B", "H100", "itl", "--accelerators", "8", "-o", "json"],
    ["explain", "Llama3_70B", "H100", "ttft", "--accelerators", "8"],
    ["sensitivity", "Llama3_70B", "H100", "itl", "--accelerators", "8", "-o", "json"],
    ["eval", *H100, "--interval", "80", "-o", "json"],
    ["uncertainty", "Llama3_8B", "H100", "itl", "--samples", "256", "-o", "json"],
    ["solve", "Llama3_70B", "H100", "itl <= 12 ms", "batch_size", "--accelerators", "8"],
    ["compare", "Llama3_70B", "H100", "itl", "--accelerators", "8", "--with", "hardware=H200", "-o", "json"],
    ["pareto", *H100, "--axis", "hardware=H100,H200", "--axis", "batch_size=1..64*2", "--minimize", "itl", "--maximize", "token_throughput", "-o", "json"],
    ["optimize", *H100, "--axis", "batch_size=1..64*2", "--maximize", "token_throughput", "--subject-to", "itl <= 12 ms"],
    ["plot", "roofline", *H100[:2], "itl", *H100[2:], "-o", "svg"],
    ["plot", "timeline", *H100[:2], "itl", *H100[2:], "-o", "vega"],
    ["plot", "timeline", *H100[:2], "itl", *H100[2:], "-o", "trace"],
    ["plot", "topology", "H100", "-o", "svg"],
    ["plot", "layers", "Qwen3_30B_A3B", "-o", "svg"],
    ["memory", "Llama3_70B", "H100", "--tensor-parallel", "8", "-o", "json"],
    ["import", "vllm serve meta-llama/Llama-3.1-8B --tensor-parallel-size 2", "--model", "Llama3_8B", "--hardware", "H100"],
    ["zoo", "show", "H100"],
    ["zoo", "list", "models", "-o", "csv"],
    ["walls", "7"],
    ["schema", "eval"],
    ["units", "convert", "3.35 TB/s", "GB/s"],
    ["resolver", "run", "TailLatencyModel", "--arrival-rate", "300 request/s", "--service-latency", "10 ms", "--num-replicas", "4"],
    ["eval", "Llama3_70B", "H1000"],
    ["eval", "Llama3_405B", "H100"],
    ["no-such-command"],
]
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32,
          "num_hidden_layers": 16, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072, "torch_dtype": "bfloat16",
          "tie_word_embeddings": True}
PLAN = 'version: "1"\nname: mine\nmode: serve\nworkload:\n  name: Llama3_8B\n  batch_size: 4\nhardware:\n  name: A100\n  accelerators: 2\n'
TRACE = "".join(json.dumps({"timestamp": 600 * k, "input_length": 2000 + 97 * k, "output_length": 300 + k * k, "hash_ids": [*range(4 + k % 3)]}) + "\n"
                for k in range(40))
NUMBERS = "answer memory cost sensitivity curve front comparison".split()
DRAWN = "roofline timeline schedule derivation uncertainty machine model walls decide".split()
VIEWS = NUMBERS + DRAWN
READY = "document.documentElement.dataset.ready === 'yes'"
PHONE = {"width": 360, "height": 780, "deviceScaleFactor": 1, "mobile": True}


def module():
    """The compiled core, or why there is none that is current."""
    folder, given = ROOT / "build/wasm", os.environ.get("MLSYSIM_WASM", "")
    if given.endswith(".wasm"):
        return pathlib.Path(given), None
    if not (folder / "mlsysim.wasm").exists():
        return None, "the core is not compiled for the web: scripts/web --tools, then scripts/web"
    if given == "build":
        subprocess.run(["ninja", "-C", folder, "--quiet"], check=True)
    elif "no work to do" not in subprocess.run(["ninja", "-C", folder, "-n"], capture_output=True, text=True, check=False).stdout:
        return None, "the core for the web was compiled from other sources: scripts/web (MLSYSIM_WASM=build does it here)"
    return folder / "mlsysim.wasm", None


def about(words, own, theirs):
    """Whether answers with intervals differ in last digits alone: their ends are exponentials, and those are the C library's own."""
    return (words[0] == "uncertainty" or "--interval" in words) and own[::2] == theirs[::2] and close(json.loads(own[1]), json.loads(theirs[1]))


def same_words(page, program):
    """Every line above, in the page and by the program."""
    got = json.loads(page.run(f"(async () => {{ const out = []; for (const w of {json.dumps(LINES)}) out.push(await explorer.command(...w)); return JSON.stringify(out); }})()"))
    different = []
    for words, answer in zip(LINES, got):
        done = subprocess.run([program, "--no-plugins", *words], capture_output=True, check=False)
        own = (answer["code"], answer["text"], answer["notes"])
        theirs = (done.returncode, done.stdout.decode(), done.stderr.decode())
        if own != theirs and not about(words, own, theirs):
            at = next((i for i, (a, b) in enumerate(zip(str(own), str(theirs))) if a != b), 0)
            different.append(f"{' '.join(words)}:\n  page    {str(own)[max(at - 60, 0):at + 60]}\n  program {str(theirs)[max(at - 60, 0):at + 60]}")
    assert not different, f"{len(different)} of {len(got)} differ\n" + "\n".join(different)
    return len(got)


def itl_of(program, folder, words):
    """What the program says of words and files in a folder."""
    done = subprocess.run([program, "--no-plugins", "eval", *words, "-o", "json"], capture_output=True, text=True, check=False, cwd=folder)
    return json.loads(done.stdout)["levels"]["performance"]["metrics"]["itl"]["value"]


def files_of_a_user(page, program, folder):
    """A config.json, a plan, a launch and a machine: the numbers are those of the program for the same file."""
    def take(name, text):
        return page.run(f"explorer.take({json.dumps(name)}, new TextEncoder().encode({json.dumps(text)}))")

    def itl(words):
        return itl_of(program, folder, words)

    (pathlib.Path(folder) / "config.json").write_text(json.dumps(CONFIG))
    (pathlib.Path(folder) / "plan.yaml").write_text(PLAN)
    assert "the model" in take("config.json", json.dumps(CONFIG))
    assert page.run("explorer.solved(explorer.state.machine).n.itl") == itl(["config.json", "H100", "--accelerators", "8"])
    assert "the plan" in take("plan.yaml", PLAN)
    assert page.run("explorer.solved(explorer.state.machine).n.itl") == itl(["plan.yaml"])
    assert page.run("explorer.solved(explorer.state.other).n.itl") == itl(["Llama3_8B", "H200", "--accelerators", "2", "--batch-size", "4"])
    assert "the launch" in take("launch", "vllm serve meta-llama/Meta-Llama-3-8B --tensor-parallel-size 2"), page.run("document.getElementById('taken').textContent")
    assert page.run("document.getElementById('answer').textContent").startswith("launch ")
    assert "launch=vllm" in page.run("location.hash")
    refused = take("model.onnx", "no ONNX")
    assert "model.onnx" in refused and page.run("document.getElementById('hero').className") == ""


def close(a, b):
    """Whether two answers have the same members and texts, and numbers that differ by rounding alone."""
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(close(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    return math.isclose(a, b, rel_tol=1e-12) if isinstance(a, float) and isinstance(b, float) else a == b


def traffic_of_a_user(page, program, folder):
    """Recorded requests, also packed, are read as the program reads them; what one page cannot do is refused in words."""
    for name, data in (("trace.jsonl", TRACE.encode()), ("trace.jsonl.gz", gzip.compress(TRACE.encode()))):
        (pathlib.Path(folder) / name).write_bytes(data)
        assert f"mlsysim trace show {name}" in page.run(f"explorer.take({json.dumps(name)}, new Uint8Array({json.dumps(list(data))}))")
        for words in (["traffic", "show", name, "--verbose"], ["traffic", "show", name, "-o", "json"], ["traffic", "import", name, "Llama3_8B", "H100"],
                      ["eval", "Llama3_8B", "H100", "--traffic-file", name, "-o", "json"]):
            got = json.loads(page.run(f"(async () => JSON.stringify(await explorer.command(...{json.dumps(words)})))()"))
            done = subprocess.run([program, "--no-plugins", *words], capture_output=True, text=True, check=False, cwd=folder)
            # The gamma function is that of the C library: of laws that were fitted with it, the last digits are its own.
            fitted = words[0] == "traffic" and words[-1] == "json"
            same = close(json.loads(got["text"]), json.loads(done.stdout)) if fitted else got["text"] == done.stdout
            assert done.returncode == 0 and same and (got["code"], got["notes"]) == (0, done.stderr), (words, got, done)
    for words, said in ((["optimize", *H100, "--axis", "batch_size=1..64*2", "--maximize", "token_throughput", "--mpi"], "mlsysim.web.001"),
                        (["ci", "run", "predictions.yaml"], "'ci'"), (["watch", "http://127.0.0.1/metrics"], "'watch'"), (["course", "list"], "'course'")):
        got = json.loads(page.run(f"(async () => JSON.stringify(await explorer.command(...{json.dumps(words)})))()"))
        assert got["code"] == 1 and said in got["notes"], (words, got)


def ask(page, **changes):
    """Puts a question to the page."""
    asked = {"model": "Llama3_70B", "machine": "H100", "other": "H200", "mode": "serve", "of": "itl", "changes": {}, "options": {}, "load": {}} | changes
    page.run(f"(async () => {{ Object.assign(explorer.state, {json.dumps(asked)}); await explorer.chosen(); }})()")


def look(page, view):
    """The text of a view, once it is drawn."""
    page.run(f"""for (const question of document.querySelectorAll('#questions button')) {{
      question.click();
      const tab = document.querySelector('#views [data-view={view}]');
      if (tab) {{ tab.click(); break; }}
    }}""")
    if view in DRAWN:
        page.wait(f"document.getElementById('drawn')?.dataset.drawn === {json.dumps(view)}")
    return page.run("document.getElementById('view').textContent")


def open_groups(page):
    page.run("(async () => { let shut; while ((shut = document.querySelectorAll('#sliders details:not([open])')).length) { for (const d of shut) d.open = true; await new Promise((done) => setTimeout(done, 30)); } })()")


def command(page, line):
    """Types a command into the console below the views, and runs it."""
    page.run(f"(() => {{ const line = document.getElementById('line'); line.value = {json.dumps(line)}; line.dispatchEvent(new Event('input')); }})()")
    page.run("new Promise((done) => setTimeout(done, 20))")
    page.run("document.getElementById('run').click()")


# What views of docs/gallery.md are asked; the others get the question of `ask`.
PICTURES = {"roofline": {"of": "ttft"}, "memory": {"mode": "train", "model": "Llama3_8B", "of": "step_latency"}, "sensitivity": {"of": "cost_per_token"},
            "schedule": {"mode": "train", "model": "Llama3_8B", "of": "step_latency", "changes": {"pp_size": 4, "batch_size": 32}}}


def picture(page, name, night=False, **size):
    """The screen as a picture: into $MLSYSIM_GALLERY (scripts/gallery --explorer), else into nothing."""
    page.call("Emulation.setDeviceMetricsOverride", **({"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False} | size))
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if night else "light"}])
    page.run("new Promise((done) => setTimeout(done, 60))")
    page.screen(pathlib.Path(os.environ["MLSYSIM_GALLERY"]) / f"explorer-{name}.png" if "MLSYSIM_GALLERY" in os.environ else os.devnull)


def said_keys(page):
    """Keys that a reader sees in place of labels; the program's texts and pictures, code, and names of files and engines are not the page's words."""
    words = page.run("""(() => {
      const copy = document.getElementById('explorer').cloneNode(true);
      for (const e of copy.querySelectorAll('pre, code, option, title, desc, svg.picture, #measured, #take-along')) e.remove();
      return [...copy.querySelectorAll('*')].flatMap((e) => [...e.childNodes]).filter((n) => n.nodeType === 3).map((n) => n.data).join('\\n');
    })()""")
    return re.findall(r"\b[a-z]+(?:_[a-z0-9]+)+\b|\b[a-z]{2,}\.(?!json|yaml)[a-z]\w*", words)


def levers(page):
    """What is offered to change is on the left, too, and goes to values that the core takes; sliders stand at their values, with their units."""
    for mode, model, of in (("serve", "Llama3_70B", "itl"), ("train", "Llama3_8B", "step_latency")):
        ask(page, mode=mode, model=model, of=of)
        look(page, "sensitivity")
        open_groups(page)
        inputs = set(json.loads(page.run("JSON.stringify([...document.querySelectorAll('#sliders [data-name]')].map((e) => e.dataset.name))")))
        rows = list(csv.reader(io.StringIO(page.run("explorer.csvText()"))))[1:]
        assert len(rows) > 3 and not (strange := {row[0] for row in rows} - inputs), (mode, strange)
        # A step goes to a value that the core takes.
        low = json.loads(page.run("JSON.stringify(Object.fromEntries(explorer.solved(explorer.state.machine).p.inputs.filter((i) => i.unit === '').map((i) => [i.name, i.low ?? 0])))"))
        assert all(float(to.replace(",", "")) >= low[row[0]] for row in rows if row[0] in low for to in (row[2], row[4]) if to), rows
        # Sliders stand at the value in the field beside them, which has the unit that the input has.
        wrong = json.loads(page.run("""JSON.stringify([...document.querySelectorAll('#sliders .slider')].filter((e) => {
          const range = e.querySelector('[type=range]'), input = explorer.solved(explorer.state.machine).p.input(range.dataset.name);
          const typed = Number(e.querySelector('[type=text]').value) * input.scale, at = Number(range.value) / (range.min === '0' && range.max === '100' ? 100 : 16);
          const stands = range.min === '0' && range.max === '100' ? Math.abs(at - typed) < 0.011 : Math.abs(at - Math.log2(typed / input.value)) < 0.1;
          return !stands || (input.unit !== '') !== (e.querySelector('i') !== null);
        }).map((e) => e.textContent))"""))
        assert not wrong, (mode, wrong)
    for along, ends in (("straggler_factor", (1, 16)), ("overlap_efficiency", (0, 1)), ("batch_size", (1, 512))):
        ask(page, mode="train", model="Llama3_8B", of="step_latency", along=along)
        look(page, "curve")
        at = [float(row[0]) for row in list(csv.reader(io.StringIO(page.run("explorer.csvText()"))))[1:]]
        assert len(at) > 5 and ends[0] <= at[0] < at[-1] <= ends[1], (along, at[0], at[-1])


def views(page):
    """Every view draws something of its own, on a telephone too; names come as text, never as markup."""
    seen, keys = {}, set()
    for view in VIEWS:
        ask(page, **PICTURES.get(view, {}))
        seen[view] = look(page, view)
        if view == "front":
            page.wait("document.getElementById('sure')?.dataset.banded === 'yes' && document.querySelectorAll('#view polygon').length === 2")
        if view == "decide":
            rank(page)
        picture(page, view)
        assert len(seen[view]) > 20 and "undefined" not in seen[view] and "NaN" not in seen[view], (view, seen[view])
        keys |= {(view, key) for key in said_keys(page)}
    assert len(set(seen.values())) == len(VIEWS) and not keys, keys
    for view in ("roofline", "timeline", "machine", "model"):
        look(page, view)
        assert page.run("document.getElementById('view').querySelectorAll('svg.picture title').length") >= 1, view
    ask(page)
    look(page, "curve")
    picture(page, "dark", night=True)
    assert page.run("getComputedStyle(document.body).backgroundColor") != page.run("document.documentElement.className = 'light', getComputedStyle(document.body).backgroundColor")
    page.run("document.documentElement.className = ''")
    look(page, "answer")
    picture(page, "phone", **PHONE)
    look(page, "roofline")
    assert page.run("(async () => (await explorer.pictureBits(explorer.pictureText(document.getElementById('view')))).size)()") > 5000
    page.run("document.getElementById('take-along').open = true")
    command(page, "mlsysim units convert '80 GiB' GB")
    page.wait("document.getElementById('take-along').textContent.includes('exit code 0')")
    look(page, "curve")
    page.call("Emulation.setDeviceMetricsOverride", **PHONE)
    page.wait("document.querySelector('#view svg.chart').viewBox.baseVal.width < 360")
    for view in VIEWS:
        look(page, view)
        width = page.run("document.documentElement.scrollWidth")
        assert width <= PHONE["width"], (view, width)
    page.call("Emulation.clearDeviceMetricsOverride")
    ask(page, changes={"batch_size": 64})
    assert "--batch-size 64" in look(page, "roofline")
    return page.run("document.getElementById('plan').textContent"), page.run("explorer.solved(explorer.state.machine).n.itl")


def rank(page):
    page.run("document.getElementById('decide').click()")
    page.wait("document.getElementById('decision')")


def decided(page, program):
    """The ranking of machines for a load is that of the program for the same words."""
    ask(page, model="Llama3_8B", options={"precision": "bf16"}, load={"rate": "20/s", "on": "H100,H200,A100", "ttft": "p99 1 s"})
    look(page, "decide")
    rank(page)
    words = [w.strip("'") for w in re.findall(r"'[^']*'|\S+", page.run("document.querySelector('#drawn details pre').textContent"))][1:]
    done = subprocess.run([program, "--no-plugins", *words, "-o", "json"], capture_output=True, text=True, check=True)
    best = json.loads(done.stdout)["options"][0]
    assert {"--precision", "bf16", "p99 1 s", "20/s"} <= set(words) and page.run("document.getElementById('decision').dataset.best") == best["machine"], words
    assert [row[0] for row in csv.reader(io.StringIO(page.run("explorer.csvText()")))][1] == best["machine"] and "d.rate=20" in page.run("location.hash")
    ask(page)


def moved_figures(page, program, folder):
    """Figures of a device that a slider moved are in what the core draws, and in a file to take along: the same number everywhere."""
    changes = {"hardware.memory.bandwidth": 4e12, "hardware.compute.dense.fp16": 1.2e15, "hardware.power.tdp": 900, "links.level1.bandwidth": 3e11, "batch_size": 32}
    ask(page, changes=changes)
    derived, replayed = look(page, "derivation"), page.run("explorer.solved('H100').n.itl")
    assert "Drawn without" not in derived, derived
    page.wait("document.getElementById('machine-file')")
    # At once after a move there is nothing to take, rather than the machine as it was published.
    assert page.run("(() => { explorer.state.changes['hardware.power.tdp'] = 800; explorer.update(); return document.getElementById('shell') === null && document.getElementById('take-along').textContent.includes('is being written'); })()")
    page.run("(() => { explorer.state.changes['hardware.power.tdp'] = 900; explorer.update(); })()")
    page.wait("document.getElementById('machine-file')")
    (pathlib.Path(folder) / "H100-moved.yaml").write_text(page.run("document.getElementById('machine-file').textContent"))
    words = [w.strip("'") for w in re.findall(r"'[^']*'|\S+", page.run("document.getElementById('shell').textContent"))]
    assert itl_of(program, folder, words[2:]) == replayed, words
    (pathlib.Path(folder) / "moved.yaml").write_text(page.run("document.getElementById('plan').textContent"))
    assert itl_of(program, folder, ["moved.yaml"]) == replayed
    ask(page, changes={"facility.pue": 1.5})
    look(page, "roofline")
    assert "PUE" in page.run("document.querySelector('#drawn .note').textContent")
    ask(page)


def training(page, program, folder):
    """Training has sliders, too; on as many devices as hold it; its pipeline is drawn."""
    ask(page, mode="train", model="Llama3_8B", of="step_latency", changes={"batch_size": 32, "seq_len": 4096})
    assert "32 sequences" in page.run("document.getElementById('answer').textContent")
    words = [w.strip("'") for w in re.findall(r"'[^']*'|\S+", page.run("document.getElementById('shell').textContent"))]
    done = subprocess.run([program, "--no-plugins", "eval", *words[2:], "-o", "json"], capture_output=True, text=True, check=False, cwd=folder)
    said = json.loads(done.stdout)["levels"]["performance"]["metrics"]["step_latency"]["value"]
    assert page.run("explorer.solved('H100').n.step_latency") == said, words
    look(page, "schedule")
    page.run("document.getElementById('pipeline').click()")
    page.wait("document.getElementById('drawn')?.dataset.drawn === 'schedule' && document.querySelectorAll('#drawn svg.picture').length === 2")
    for view in NUMBERS:
        text = look(page, view)
        assert "NaN" not in text and "undefined" not in text, (view, text)
    ask(page, model="ResNet50", machine="A100", changes={"batch_size": 64})
    assert page.run("explorer.state.mode") == "infer" and "batch of 64" in page.run("document.getElementById('answer').textContent")


def choose(page, field, name):
    page.run(f"(() => {{ const s = document.getElementById({json.dumps(field)}); s.value = {json.dumps(name)}; s.dispatchEvent(new Event('change')); }})()")


def which_machine(page, folder):
    """A new user's question, by clicks alone: which of two machines serves my model cheaper, why, and what would flip it."""
    page.open(f"file://{folder}/index.html")
    for field, name in (("model", "Qwen3_32B"), ("machine", "H200"), ("other", "A100")):
        choose(page, field, name)
    page.wait(READY)
    said = json.loads(page.run("JSON.stringify({ ...document.getElementById('verdict').dataset })"))
    assert said["by"] == "cost_per_token" and said["flip"] == "unit_cost", said
    best, price = said["best"], float(said["at"])
    other = {"H200": "A100", "A100": "H200"}[best]
    costs = {m: page.run(f"explorer.solved('{m}').n.cost_per_token") for m in ("H200", "A100")}
    assert min(costs, key=costs.get) == best
    # The flip is one: a slider a step below it leaves the order, a step above turns it.
    for field, name in (("machine", best), ("other", other)):
        choose(page, field, name)
    page.wait(READY)
    for factor, winner in ((0.99, best), (1.01, other)):
        page.run(f"(async () => {{ explorer.state.changes = {{ unit_cost: {price * factor} }}; explorer.update(); }})()")
        assert page.run("document.getElementById('verdict').dataset.best") == winner, (factor, price)
    page.run("document.querySelector('[data-name=unit_cost]').value = 64")
    page.run("document.querySelector('[data-name=unit_cost]').dispatchEvent(new Event('input'))")
    assert page.run("document.getElementById('verdict').dataset.best") == other
    assert "x.unit_cost=" in page.run("location.hash")


def named_kinks(page):
    """The curve names where another part becomes the longest, and where no more fits."""
    ask(page, of="itl", along="batch_size", changes={"seq_len": 256})
    look(page, "curve")
    rows = list(csv.reader(io.StringIO(page.run("explorer.csvText()"))))
    parts = {column: [row[column] for row in rows[1:]] for column in range(len(rows[0])) if rows[0][column].startswith("longest part")}
    wanted = sorted(f"{b} becomes the longest part" for each in parts.values() for a, b in itertools.pairwise(each) if a and b and a != b)
    wanted += ["more does not fit" for each in parts.values() if each[-1] == ""]
    assert len(parts) == 2 and len(wanted) >= 2, rows[:3]
    assert sorted(json.loads(page.run("JSON.stringify([...document.querySelectorAll('#view text.note')].map((e) => e.textContent))"))) == sorted(wanted)


def front(page, program):
    """The front has bands, the intervals of the program, and measured points with what is predicted for their own conditions."""
    ask(page, model="Qwen3_32B", changes={"accelerators": 4, "tp_size": 4})
    look(page, "front")
    page.wait("document.getElementById('sure').dataset.banded === 'yes' && document.querySelectorAll('#view polygon').length === 2")
    dots = page.run("document.querySelectorAll('#view .da').length")
    said = json.loads(subprocess.run([program, "--no-plugins", "validate", "inference/hopper_dense_tpot", "--worst", "100000", "-o", "json"], capture_output=True, text=True, check=True).stdout)
    here = [row for row in said["tables"][0]["worst"] if (row["inputs"]["workload"], row["inputs"]["hardware"], row["inputs"]["tp_size"]) == ("Qwen3_32B", "H100", 4)]
    assert 10 < dots <= len(here), (dots, len(here))
    row = page.run("document.querySelector('#measured tbody tr').textContent")
    assert row.startswith("H100") and "%" in row, row
    ask(page)
    look(page, "front")
    assert (page.run("document.querySelectorAll('#view .da').length") > 0) == (int(page.run("document.getElementById('sure').dataset.measured")) > 0)


def whole_systems(page, program, folder):
    """Nodes and clusters are machines: they have the devices that they have."""
    ask(page, model="Llama3_8B", machine="Research_256", other="DGX_H200")
    answer = page.run("document.getElementById('answer').textContent")
    assert "Research_256 (256 devices)" in answer and page.run("document.getElementById('hero').className") == "yes", answer
    assert page.run("explorer.solved('Research_256').n.itl") == itl_of(program, folder, ["Llama3_8B", "Research_256", "--batch-size", "32"])
    assert page.run("explorer.solved('DGX_H200').n.itl") == itl_of(program, folder, ["Llama3_8B", "DGX_H200"])
    assert page.run("document.querySelector('[data-name=accelerators]') === null && [...document.querySelectorAll('#machine optgroup[label=clusters] option')].some((o) => o.value === 'Research_256')")
    ask(page, model="Llama3_8B", machine="Research_256", other="H100", changes={"batch_size": 64, "accelerators": 16})
    words = [w.strip("'") for w in re.findall(r"'[^']*'|\S+", page.run("document.getElementById('shell').textContent"))]
    assert "--accelerators" not in words and itl_of(program, folder, words[2:]) == page.run("explorer.solved('Research_256').n.itl"), words
    (pathlib.Path(folder) / "system.yaml").write_text(page.run("document.getElementById('plan').textContent"))
    assert itl_of(program, folder, ["system.yaml"]) == page.run("explorer.solved('Research_256').n.itl")


def long_work(page):
    """The console tells the share, the rate and the time left of long work, and ends it; what follows is answered."""
    ask(page)
    line = "pareto Llama3_8B H100 --axis batch_size=1..100000 --axis seq_len=1..100000 --minimize itl --maximize token_throughput"
    command(page, line)
    page.wait(r"/[\d.]+ % .*points\/s .* s left/.test(document.getElementById('progress')?.textContent ?? '')")
    page.run("document.getElementById('stop').click()")
    page.wait("document.getElementById('take-along').textContent.includes('stopped')")
    assert page.run("explorer.command('version')").get("code") == 0
    assert page.run("document.getElementById('stop').disabled") is True


def what_is_in_the_way(page):
    """What does not fit is put on more devices, or gets the changes that make it fit; what is no program has the core's scorecard."""
    ask(page, model="Llama3_405B", machine="A100")
    assert re.search(r"16 . A100 \(8 ", page.run("document.getElementById('answer').textContent")) and page.run("document.getElementById('hero').className") == "yes"
    ask(page, model="Llama3_70B", changes={"accelerators": 1, "tp_size": 1})
    look(page, "answer")
    page.wait("document.getElementById('remedies')")
    assert page.run("document.getElementById('hero').className") == "no" and "needs" in page.run("document.getElementById('remedies').textContent")
    ask(page, model="DLRM")
    page.wait("document.getElementById('drawn')?.dataset.drawn === 'scorecard'")
    assert "DLRM on" in page.run("document.getElementById('view').textContent")


def taken_along(page):
    """The timeline is saved as a trace; the Python and the C++ of the question are such that they run and compile."""
    ask(page)
    look(page, "timeline")
    page.run("""(() => {
      const [make, click] = [URL.createObjectURL, HTMLAnchorElement.prototype.click];
      URL.createObjectURL = (blob) => { window.saved = blob; return '#'; };
      HTMLAnchorElement.prototype.click = () => Object.assign(URL, { createObjectURL: make }) && Object.assign(HTMLAnchorElement.prototype, { click });
      document.getElementById('trace').click();
    })()""")
    page.wait("window.saved && URL.createObjectURL(new Blob([])).startsWith('blob:')")
    assert page.run("(async () => JSON.parse(await window.saved.text()).traceEvents.length)()") > 100
    ask(page, changes={"batch_size": 8, "kwh_price": 4e-8})
    python, cpp = (page.run(f"document.getElementById('{name}').textContent") for name in ("python", "cpp"))
    asked = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True, check=False)
    if "No module named 'mlsysim'" not in asked.stderr:
        assert asked.returncode == 0 and float(asked.stdout.split()[0]) == float(f"{page.run('explorer.solved(explorer.state.machine).n.itl') * 1e3:.6g}"), (python, asked)
    compiler = shutil.which("g++")
    if compiler:
        done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'include'}", "-xc++", "-"], input=cpp, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (cpp, done.stderr)


def walls(page):
    """A number on the card of a wall is the page's own, whatever the task; a lesson says whether it answers the page, and a move of its slider moves it."""
    for question, least in (({}, 9), ({"mode": "train", "model": "Llama3_8B", "of": "step_latency"}, 7), ({"mode": "infer", "model": "ResNet50", "machine": "A100", "of": "latency"}, 4)):
        ask(page, **question)
        look(page, "walls")
        cards = json.loads(page.run("JSON.stringify([...document.querySelectorAll('.cards button')].map((c) => [c.querySelector('output')?.dataset.result ?? '', c.textContent.replace(/^\\d+ /, '')]))"))
        numbers, results = {name for name, _ in cards if name}, json.loads(page.run("JSON.stringify(Object.keys(explorer.solved(explorer.state.machine).n))"))
        assert len(cards) == 22 and len(numbers) >= least and numbers <= set(results), (question, cards)
        assert not any(re.search(r"\d", text) for name, text in cards if not name), cards
    ask(page)
    look(page, "walls")
    tile = {name: page.run(f"document.querySelector('#tiles [data-result={name}] strong').textContent") for name in ("ttft", "itl")}
    assert tile["ttft"] in page.run("document.querySelector('.cards [data-result=ttft]').textContent")
    # The memory wall belongs to resolvers of training and of one device: none of them has the page's numbers.
    for wall, about in (("2", "other"), ("9", "example"), ("4", "page")):
        page.run(f"document.querySelector('[data-wall=\"{wall}\"]').click()")
        page.wait(f"document.querySelector('#lesson table') && document.getElementById('lesson').textContent.startsWith('{wall} ')")
        assert page.run("document.getElementById('about').dataset.about") == about, (wall, page.run("document.getElementById('about').textContent"))
    for text in tile.values():
        page.wait(f"[...document.querySelectorAll('#lesson tr')].some((row) => row.textContent.includes({json.dumps(text)}))")
    before = page.run("document.querySelector('#lesson table').textContent")
    page.run("(() => { const r = document.querySelector('#lesson input[type=range][aria-label=\"input tokens\"]'); r.value = 4; r.dispatchEvent(new Event('input')); })()")
    page.wait(f"document.querySelector('#lesson table')?.textContent !== {json.dumps(before)}")


def served(page, folder):
    """The same page from a server, which needs no core.js, says the same."""
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        answer = page.run("document.getElementById('answer').textContent")
        page.open(f"http://127.0.0.1:{server.server_port}/index.html{page.run('location.hash')}")
        assert page.run("document.getElementById('answer').textContent") == answer and page.run("typeof MLSYSIM_CORE") == "undefined"
        server.shutdown()


# What a server sends; core.js is for pages without one.
SENT = {"index.html", "style.css", "explorer.js", "programs.js", "zoo.bin", "mlsysim.wasm"}


def packed(file):
    """Bytes of a file by brotli at its highest, as node has it."""
    script = "const z = require('zlib'); process.stdout.write(String(z.brotliCompressSync(require('fs').readFileSync(process.argv[1])).length))"
    return int(subprocess.run(["node", "-e", script, file], check=True, capture_output=True, text=True).stdout)


def main(program):
    program = str(pathlib.Path(program).resolve())
    wasm, why = module()
    if wasm is None or browser.program() is None or browser.tools() is None:
        print("skipped:", why or "there is no Chromium to open the explorer in, or not its tools: scripts/web --tools")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder, browser.Browser() as page:
        subprocess.run([sys.executable, ROOT / "bindings/web/collect.py", program, folder, "--core", wasm], check=True, stdout=subprocess.DEVNULL)
        page.open(f"file://{folder}/index.html#model=Llama3_70B&machine=H100&other=H200")
        paint = page.run("performance.getEntriesByType('paint').find((e) => e.name === 'first-contentful-paint').startTime")
        assert page.run("document.getElementById('verdict').dataset.flip") == "unit_cost"
        compared = same_words(page, program)
        files_of_a_user(page, program, folder)
        traffic_of_a_user(page, program, folder)
        plan, shown = views(page)
        moved_figures(page, program, folder)
        training(page, program, folder)
        walls(page)
        levers(page)
        decided(page, program)
        what_is_in_the_way(page)
        taken_along(page)
        named_kinks(page)
        front(page, program)
        whole_systems(page, program, folder)
        long_work(page)
        which_machine(page, folder)
        (pathlib.Path(folder) / "shown.yaml").write_text(plan)
        assert itl_of(program, folder, ["shown.yaml"]) == shown, plan
        ms = page.run("(async () => { const out = []; for (let k = 0; k < 5; k += 1) out.push((await explorer.command('eval', 'Llama3_70B', 'H100', '--accelerators', '8', '-o', 'json')).ms); return Math.min(...out); })()")
        served(page, folder)
        sent = sum(map(packed, (f for f in pathlib.Path(folder).glob("*.*") if f.name in SENT)))
    assert sent < 2e6, f"{sent} bytes are sent where 2 MB are the bar"
    print(f"{compared} answers are the program's, {len(VIEWS)} views; {ms:.1f} ms a command, first paint after {paint:.0f} ms, {sent / 1e6:.3f} MB by brotli")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
