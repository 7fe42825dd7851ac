"""What a user chooses, moves and takes along in the explorer with its core: every input, fronts over every plan, launches, links, code that runs.

Skipped where web.core is. Budgets are counted in loops of this browser, by the time of the processor.
"""

import csv
import io
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import browser
from test_core import CONFIG, SKIPPED, ask, choose, itl_of, look, module, open_groups

ROOT = pathlib.Path(__file__).parents[2]
# A loop that takes about a millisecond.
LOOP = "(() => { let x = 0; for (let k = 1; k < 1000000; k += 1) x += 1 / k; return x; })()"


def type_into(page, name, text):
    page.run(f"(() => {{ const e = document.getElementById({json.dumps(name)}); e.value = {json.dumps(text)}; e.dispatchEvent(new Event('change')); }})()")
    page.wait("document.documentElement.dataset.ready === 'yes'")


def itl(page, machine="explorer.state.machine"):
    return page.run(f"explorer.solved({machine}).n.itl")


def every_input(page, program):
    """The inputs on the page are those of the plan's schema, each mode with its own; none is in a list of the page."""
    schema = json.loads(subprocess.run([program, "schema", "plan"], capture_output=True, text=True, check=True).stdout)
    inputs = {}
    for section in [schema, *(s for s in schema["properties"].values() if "properties" in s)]:
        for name, s in section["properties"].items():
            if name not in ("name", "mode", "version") and ("enum" in s or "x-kind" in s or "pattern" in s or s.get("type") in ("boolean", "number", "integer")):
                inputs[name] = s
    assert {"weight_format", "power_cap", "prefill_chunk_tokens", "lora_rank", "schedule", "grid", "fidelity"} <= inputs.keys()
    for mode in ("serve", "train", "infer"):
        ask(page, model="Llama3_8B", mode=mode, of="latency" if mode == "infer" else "itl" if mode == "serve" else "step_latency")
        open_groups(page)
        seen = set(json.loads(page.run("JSON.stringify([...document.querySelectorAll('#sliders [data-name], #sliders select, #sliders input')].map((e) => e.dataset.name ?? e.id.replace(/^option-/, '')))")))
        wanted = {name for name, s in inputs.items() if mode in s.get("x-modes", [mode])}
        assert not (absent := wanted - seen), (mode, absent)
        assert not (spare := (inputs.keys() & seen) - wanted), (mode, spare)
    return len(inputs)


def said_inputs(page, program, folder):
    """A choice and a number that the program does not have are the options of the command line, and stay in the address."""
    ask(page, model="Llama3_8B", machine="RTX4090", options={"accelerators": "1"})
    plain = itl(page)
    choose(page, "option-weight_format", "int4")
    page.wait("document.documentElement.dataset.ready === 'yes'")
    words = ["Llama3_8B", "RTX4090", "--accelerators", "1", "--weight-format", "int4"]
    assert itl(page) == itl_of(program, folder, words) < plain and "o.weight_format=int4" in page.run("location.hash")
    formats = json.loads(subprocess.run([program, "eval", *words, "-o", "json"], capture_output=True, text=True, check=False).stdout)["assumptions"]
    precision = next(each["value"] for each in formats if each["name"] == "precision")
    assert page.run("document.querySelector('#option-precision option').textContent").endswith(precision)  # the default says which format it is
    open_groups(page)
    type_into(page, "option-power_cap", "250 W")
    assert itl(page) == itl_of(program, folder, [*words, "--power-cap", "250 W"]) and page.run("document.querySelector('[data-name=power_cap]') !== null")
    address = page.run("location.href")
    choose(page, "option-weight_format", "")
    page.wait("document.documentElement.dataset.ready === 'yes'")
    assert itl(page) == itl_of(program, folder, ["Llama3_8B", "RTX4090", "--accelerators", "1", "--power-cap", "250 W"])
    page.run(f"location.href = {json.dumps(address)}")
    page.wait("document.documentElement.dataset.ready === 'yes' && 'weight_format' in explorer.state.options")
    assert itl(page) == itl_of(program, folder, [*words, "--power-cap", "250 W"])


def every_plan(page, program):
    """The front over every plan is what the program finds of the same space, bit for bit."""
    ask(page, plans="all", against="")
    look(page, "front")
    rows = list(csv.DictReader(io.StringIO(page.run("explorer.csvText()"))))
    tried = page.run("document.getElementById('tried').textContent")
    batches = sorted({int(row["batch_size"]) for row in rows})
    assert int(re.match(r"H100: (\d+) plans", tried)[1]) > 5000 and len(batches) > 3, tried
    axes = [f"--axis={name}=1,2,4,8" for name in ("tp_size", "pp_size", "ep_size")]
    for machine in ("H100", "H200"):
        mine = [tuple(int(r[name]) for name in ("tp_size", "pp_size", "ep_size", "batch_size")) for r in rows if r["machine"] == machine]
        done = subprocess.run([program, "--no-plugins", "pareto", "Llama3_70B", machine, "--accelerators", "8", *axes, f"--axis=batch_size={','.join(map(str, batches))}", "--minimize", "itl",
                               "--maximize", "throughput_per_accelerator", "-o", "json"], capture_output=True, text=True, check=True)
        # Of plans that are equal in both numbers one stands for all. The program prints milliseconds.
        theirs = {(p["objectives"]["itl"], p["objectives"]["throughput_per_accelerator"]) for p in json.loads(done.stdout)["front"]}
        ours = json.loads(page.run(f"""JSON.stringify({json.dumps(mine)}.map(([tp_size, pp_size, ep_size, batch_size]) => {{
          const n = explorer.solved({json.dumps(machine)}, {{ tp_size, pp_size, ep_size, batch_size }}).n; return [n.itl * 1e3, n.throughput_per_accelerator]; }}))"""))
        assert {tuple(n) for n in ours} == theirs, (machine, sorted(map(tuple, ours))[:3], sorted(theirs)[:3])
    page.run("document.getElementById('plans').click()")
    choose(page, "against", "cost_per_token")
    assert "against=cost_per_token" in page.run("location.hash") and "Cost per token" in page.run("document.getElementById('view').textContent")
    ask(page, plans="one", against="")


def examples(page):
    """Every example above the page is answered, in every part of it."""
    links = json.loads(page.run("JSON.stringify([...document.querySelectorAll('#examples a')].map((a) => a.getAttribute('href')))"))
    assert len(links) >= 5
    for link in links:
        page.run(f"document.querySelector('#examples a[href=\"{link}\"]').click()")
        # The event comes later than the click.
        page.run("new Promise((done) => setTimeout(done, 20))")
        page.wait("document.documentElement.dataset.ready === 'yes'")
        assert page.run("document.getElementById('hero').className") == "yes", (link, page.run("document.getElementById('answer').textContent"))


def launches(page, program):
    ask(page, changes={"batch_size": 16})
    page.run("document.getElementById('take-along').open = true")
    page.wait("document.querySelectorAll('#engine option').length > 4")
    for engine, said in (("vllm", "vllm serve"), ("sglang", "--tp"), ("megatron", "mlsysim.launch")):
        choose(page, "engine", engine)
        page.wait(f"(document.getElementById('launch-text')?.textContent ?? '').includes({json.dumps(said)})")
    choose(page, "engine", "vllm")
    page.wait("(document.getElementById('launch-text')?.textContent ?? '').includes('vllm serve')")
    done = subprocess.run([program, "--no-plugins", "export", *H100_16, "--to", "vllm"], capture_output=True, text=True, check=True)
    assert page.run("document.getElementById('launch-text').textContent") == done.stdout + done.stderr


H100_16 = ["Llama3_70B", "H100", "--accelerators", "8", "--batch-size", "16"]


def code_runs(page, folder):
    """The Python below the page says what the page says: of systems, moved machines, files and plans, too."""
    def says(result="itl", unit=1e3):
        python = page.run("document.getElementById('python').textContent")
        done = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True, check=False, cwd=folder)
        if "No module named 'mlsysim'" in done.stderr:
            return
        # Some print all digits, some as many as a scorecard.
        assert done.returncode == 0 and math.isclose(float(done.stdout.split()[0]), page.run(f"explorer.solved(explorer.state.machine).n.{result}") * unit, rel_tol=5e-4), (python, done)

    place = pathlib.Path(folder)
    ask(page, model="Llama3_8B", machine="Research_256", other="DGX_H200")
    says()
    ask(page, model="Llama3_8B", machine="DGX_H200", changes={"batch_size": 8})
    says()
    ask(page, changes={"hardware.memory.bandwidth": 4e12, "batch_size": 4}, options={"precision": "fp8"})
    page.wait("document.getElementById('machine-file')")
    (place / "H100-moved.yaml").write_text(page.run("document.getElementById('machine-file').textContent"))
    says()
    (place / "config.json").write_text(json.dumps(CONFIG))
    ask(page)
    page.run(f"explorer.take('config.json', new TextEncoder().encode({json.dumps(json.dumps(CONFIG))}))")
    says()
    plan = 'version: "1"\nname: mine\nworkload: {name: Llama3_8B, batch_size: 4}\nhardware:\n  name: A100\n  accelerators: 2\n'
    page.run(f"explorer.take('plan.yaml', new TextEncoder().encode({json.dumps(plan)}))")
    (place / "plan.yaml").write_text(page.run("document.getElementById('plan').textContent"))
    says()
    # What was moved on a plan stands behind it.
    page.run("(() => { explorer.state.changes = { batch_size: 8 }; explorer.update(); })()")
    shell = page.run("document.getElementById('shell').textContent")
    assert shell == "mlsysim eval plan.yaml --batch-size 8", shell


def budgets(page):
    """A move of a slider takes less of the processor than a loop of a millisecond for its numbers and 16 for its view, a front of 10,000 points for
    each machine less than 80; the page is painted before the core is there."""
    ask(page)
    loop = page.processor(f"for (let k = 0; k < 20; k += 1) {LOOP}") / 20
    took = {"card": page.processor("for (let k = 0; k < 100; k += 1) explorer.solved('H100')") / 100}
    for view in ("answer", "sensitivity", "curve"):
        look(page, view)
        took[view] = page.processor("for (let k = 0; k < 10; k += 1) { explorer.state.changes = { batch_size: 2 + k }; explorer.update(); }") / 10
    look(page, "front")
    took["front"] = page.processor("for (let k = 0; k < 3; k += 1) { Object.assign(explorer.state, { plans: 'all', changes: { seq_len: 1000 + k } }); explorer.update(); }") / 3
    tried = [int(n) for n in re.findall(r"(\d+) plans", page.run("document.getElementById('tried').textContent"))]
    assert len(tried) == 2 and sum(tried) > 10000, tried
    page.run("Object.assign(explorer.state, { plans: 'one' })")
    assert took["card"] < loop and max(took[view] for view in ("answer", "sensitivity", "curve")) < 16 * loop and took["front"] < 80 * loop, (loop, took)
    # The first paint waits for a style sheet and two scripts, never for the core.
    paint, core = json.loads(page.run("JSON.stringify([performance.getEntriesByType('paint')[0].startTime, performance.getEntriesByName('core')[0].startTime])"))
    assert paint < core, (paint, core)
    return ", ".join(f"{name} {ms:.2f}" for name, ms in (("loop", loop), *took.items()))


def main(program):
    program = str(pathlib.Path(program).resolve())
    wasm, why = module()
    if wasm is None or browser.program() is None or browser.tools() is None:
        print("skipped:", why or "there is no Chromium to open the explorer in, or not its tools: scripts/web --tools")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder, browser.Browser() as page:
        subprocess.run([sys.executable, ROOT / "bindings/web/collect.py", program, folder, "--core", wasm], check=True, stdout=subprocess.DEVNULL)
        page.open(f"file://{folder}/index.html#model=Llama3_70B&machine=H100&other=H200")
        took = budgets(page)
        count = every_input(page, program)
        said_inputs(page, program, folder)
        every_plan(page, program)
        launches(page, program)
        examples(page)
        code_runs(page, folder)
    print(f"{count} inputs of plans; milliseconds of the processor: {took}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
