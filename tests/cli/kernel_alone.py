"""What the program does without components: it answers, and commands of components say to which one they belong.

usage: kernel_alone.py PROGRAM       PROGRAM: of a build with every MLSYSIM_WITH_... of a component OFF
"""

import json
import subprocess
import sys

PROGRAM = sys.argv[1]
ANSWERS = [
    ["eval", "Llama3_70B", "H100", "--accelerators", "8"],
    ["eval", "Llama3_8B", "H100", "--mode", "train"],
    ["sweep", "Llama3_8B", "H100,A100"],
    ["explain", "Llama3_8B", "H100", "itl"],
    ["sensitivity", "Llama3_8B", "H100", "itl"],
    ["optimize", "Llama3_8B", "H100", "--axis", "batch_size=1..64*2", "--minimize", "cost_per_token"],
    ["memory", "Llama3_8B", "H100"],
    ["zoo", "show", "H100"],
    ["resolver", "list"],
    ["pipeline", "run", "SingleNodeModel", "workload=Llama3_8B", "hardware=H100"],
]
ABSENT = {
    "models": [["program", "show", "a.onnx"]],
    "launches": [["import", "vllm serve x"], ["fit", "plan.yaml"]],
    "traffic": [["traffic", "show", "a.jsonl"], ["eval", "Llama3_8B", "H100", "--traffic-file", "a.jsonl"]],
    "sizing": [["size", "Llama3_8B", "--on", "H100"], ["decide", "Llama3_8B", "--on", "H100,A100"], ["claim", "x"]],
    "ops": [
        ["ci", "run", "a.yaml"], ["compile", "ingest", "a"], ["watch", "http://a"], ["merge", "a.json"], ["submit", "--slurm"],
        ["optimize", "Llama3_8B", "H100", "--state", "a.json"], ["sweep", "Llama3_8B", "H100", "--rows", "a.csv"],
        ["uncertainty", "Llama3_8B", "H100", "itl", "--mpi"],
    ],
    "validation": [["validate"], ["calibrate", "--device", "H100"], ["measure", "--plan"]],
    "plots": [
        ["plot", "roofline", "H100"], ["report", "Llama3_8B", "H100"], ["explain", "Llama3_8B", "H100", "itl", "-o", "latex"], ["resolver", "docs"],
    ],
    "plugins": [["plugin", "list"], ["support"]],
    "course": [["course", "list"]],
}


def run(words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=300, check=False)


def main():
    faults = []
    for words in ANSWERS:
        done = run([*words, "-o", "json"])
        try:
            json.loads(done.stdout)
        except ValueError:
            faults.append(f"{' '.join(words)}: exit {done.returncode}, no answer: {done.stderr.strip()}")
    for component, commands in ABSENT.items():
        for words in commands:
            done = run(words)
            if done.returncode != 1 or f"'{component}'" not in done.stderr or "mlsysim.cli.187" not in done.stderr:
                faults.append(f"{' '.join(words)}: expected component '{component}', found exit {done.returncode}: {done.stderr.strip()}")
    model = run(["eval", "./model.gguf", "H100"])
    if "mlsysim.zoo.071" not in model.stderr:
        faults.append(f"eval of a GGUF file: {model.stderr.strip()}")
    for fault in faults:
        print(fault)
    print(f"{len(ANSWERS)} answers and {sum(map(len, ABSENT.values()))} commands of components, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
