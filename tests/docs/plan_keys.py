"""The table of keys on the page of plan files is that of the plan's schema.

--write brings the page up to date; without it a difference is an error.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

BEGIN, END = "<!-- keys: written by tests/docs/plan_keys.py -->\n", "<!-- end of keys -->\n"


def values(key, schema):
    if key == "name" and "when left out" not in schema["description"]:
        return "name or file"
    if "enum" in schema:
        names = [str(x) for x in schema["enum"] if isinstance(x, str)]
        shown = names if len(names) < 10 else names[:4] + ["..."]
        return ", ".join("..." if x == "..." else f"`{x}`" for x in shown)
    kind = schema.get("type")
    if kind == "array":
        return "list of `{metric, min, max}`"
    if kind == "boolean":
        return "`true`, `false`"
    if "pattern" in schema:
        return f"quantity ({schema['x-unit']})"
    if kind == "string":
        return "text"
    low, high = schema.get("minimum"), schema.get("maximum")
    name = "count" if kind == "integer" else "number"
    if low is not None and high is not None:
        return f"{name}, {low:g} to {high:g}"
    if low is not None:
        return f"{name}, at least {low:g}"
    return f"{name}, above {schema['exclusiveMinimum']:g}" if "exclusiveMinimum" in schema else name


def row(key, schema):
    description, _, default = schema.get("description", "what must hold of the scorecard, see below").partition("; when left out: ")
    meaning = re.sub(r"( \[[^\]]*\])?(, (>=? [-0-9.e+]+|[-0-9.e+]+ to [-0-9.e+]+))?$", "", description)
    modes = f" ({', '.join(schema['x-modes'])})" if "x-modes" in schema else ""
    return f"| `{key}` | {values(key, schema)} | {meaning}{modes} | {default} |\n"


def table(schema):
    out = ["| key | values | meaning (modes in which it counts) | when left out |\n| --- | --- | --- | --- |\n"]
    for name, content in schema["properties"].items():
        if "properties" not in content:
            out.append(row(name, content))
            continue
        out.append(f"| **`{name}`** | | | |\n")
        out += [row(key, inner) for key, inner in content["properties"].items()]
    return "".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="the program mlsysim")
    parser.add_argument("--page", required=True, type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    schema = json.loads(subprocess.run([args.program, "schema", "plan"], capture_output=True, text=True, check=True).stdout)
    text = args.page.read_text()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    wanted = before + BEGIN + table(schema) + END + after
    if wanted == text:
        return 0
    if args.write:
        args.page.write_text(wanted)
        return 0
    print(f"{args.page}: the keys are not those of `mlsysim schema plan`; write them with --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
