"""Every number of the explorer is that of the program, bit for bit, also where figures were moved, and that of columns is that of each point."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import browser

ROOT = pathlib.Path(__file__).parents[2]
SKIPPED = 77

# Prints {"model|machine": {name: number in base units}} for changes that the call names.
EVALUATE = """
const fs = require("fs");
const { Program } = require(process.argv[1]);
const data = JSON.parse(fs.readFileSync(process.argv[2], "utf8").replace(/^const MLSYSIM = /, "").replace(/;\\n$/, ""));
const changes = JSON.parse(process.argv[3]), out = {};
for (const [key, json] of Object.entries(data.programs)) {
  const p = new Program(json), point = p.point(changes), names = [...p.results.keys()], batches = Float64Array.of(1, 7, 300), many = p.columns(point, { batch_size: batches }, names);
  out[key] = p.answer(point);
  batches.forEach((batch_size, i) => { const one = p.answer(p.point({ ...changes, batch_size })); for (const name of names) if (!Object.is(one[name], many[name][i])) throw new Error(`${key} ${name}: ${one[name]}, and ${many[name][i]} in a column`); });
}
process.stdout.write(JSON.stringify(out));
"""
CASES = [({}, []), ({"batch_size": 16, "seq_len": 4096}, ["--batch-size", "16", "--seq-len", "4096"]),
         ({"accelerators": 4, "tp_size": 4, "duration_days": 7}, ["--accelerators", "4", "--tp-size", "4", "--duration-days", "7"])]


def scorecard(program, pair, options):
    """{name: number in base units} of the program's answer."""
    words = [program, "--no-plugins", "eval", *pair.split("|"), "--mode", "serve", *options, "-o", "json"]
    answer = json.loads(subprocess.run(words, capture_output=True, text=True, check=False).stdout)
    return {name: metric["value"] for level in answer["levels"].values() for name, metric in level["metrics"].items()
            if isinstance(metric["value"], (int, float))}


def main(program):
    node = shutil.which("node") or shutil.which("nodejs")
    if node is None or browser.tools() is None:
        print("skipped: there is no node to run the explorer's programs, or not its tools: scripts/web --tools")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, ROOT / "bindings/web/collect.py", program, folder, "--models", "Llama3_70B", "Qwen3_30B_A3B",
                        "--machines", "H100", "MI300X"], check=True, stdout=subprocess.DEVNULL)
        replay = pathlib.Path(folder) / "program.cjs"
        subprocess.run([ROOT / "bindings/web/node_modules/.bin/esbuild", ROOT / "bindings/web/src/program.ts", "--bundle", "--format=cjs", f"--outfile={replay}",
                        "--log-level=warning"], check=True)
        compared, different = 0, []
        for changes, options in CASES:
            if "--accelerators" not in options:
                options = [*options, "--accelerators", "8"]
            done = subprocess.run([node, "-e", EVALUATE, replay, f"{folder}/programs.js", json.dumps(changes)],
                                  capture_output=True, text=True, check=True)
            for pair, numbers in json.loads(done.stdout).items():
                for name, value in scorecard(program, pair, options).items():
                    if name not in numbers:
                        continue
                    compared += 1
                    if numbers[name] != value:
                        different.append(f"{pair} {changes} {name}: {numbers[name]!r} in the page, {value!r} by the program")
    print(f"{compared} numbers, {len(different)} differ")
    print("\n".join(different))
    return 1 if different or compared < 150 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
