#!/usr/bin/env python3
"""Writes transformers_defaults.csv: what the configuration classes of `transformers` take for what is not stated.

    python3 tests/data/model_files/transformers_defaults.py [FOLDER...]

Needs `pip install transformers` (no torch). Two kinds of rows: of a class made from nothing, for every default that
src/components/model_files/keys.cpp holds and for tied embeddings; and of each config.json of the folders (by default the committed
ones) read by its class, for every number that the file is silent about. The C++ test holds the table against these rows.
"""

import csv
import json
import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PARTS = ("text_config", "llm_config", "language_config", "text_model_config")


def aliases():
    """Field and key pairs of the table in keys.cpp, those of towers left out."""
    text = (ROOT / "src/components/model_files/keys.cpp").read_text()
    pairs = re.findall(r'Alias\{"(\w+)",\s*"(\w+)"\}', text)
    return [(field, key) for field, key in pairs if not field.startswith("tower") and field not in ("patch", "projector")]


def rows_of(path, mapping, pairs):
    config = json.loads(path.read_text())
    part = next((config[p] for p in PARTS if isinstance(config.get(p), dict)), config)
    kind = part.get("model_type") or (config.get("model_type", "") + "_text" if part is not config else "")
    if kind not in mapping:
        return
    made = mapping[kind](**{k: v for k, v in part.items() if k not in ("model_type", "quantization_config")})
    there = {field for field, key in pairs if part.get(key) is not None}
    seen = set()
    for field, key in pairs:
        value = None if field in there or field in seen else stated(made, key)
        if value is not None:
            seen.add(field)
            yield kind, field, key, int(value) if isinstance(value, bool) else value


def stated(made, key):
    """A number that a class holds; None for what differs by layer, which it does not tell."""
    try:
        value = getattr(made, key, None)
    except Exception:  # noqa: BLE001: the library raises an error of its own
        return None
    return value if isinstance(value, (bool, int, float)) else None


def class_rows(mapping, pairs):
    """Of the classes themselves; `full_every` is the period of the list of layers that they make."""
    text = (ROOT / "src/components/model_files/keys.cpp").read_text()
    wanted = re.findall(r'Default\{"(\w+)",\s*"(\w+)"', text)
    wanted += [(kind, "tied") for kind in re.findall(r'Family\{"([\w-]+)"', text)]
    for kind, field in wanted:
        if kind not in mapping:
            continue
        made = mapping[kind]()
        if field == "full_every":
            kinds = list(getattr(made, "layer_types", None) or [])
            full = [i for i, k in enumerate(kinds) if k == "full_attention"]
            if full and full == list(range(full[0], len(kinds), full[0] + 1)):
                yield kind, field, "layer_types", full[0] + 1
            continue
        for name, key in pairs:
            value = stated(made, key) if name == field else None
            if value is not None:
                yield kind, field, key, int(value) if isinstance(value, bool) else value
                break


def main():
    warnings.simplefilter("ignore")
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    folders = [Path(a) for a in sys.argv[1:]] or [HERE / "configs"]
    rows, failed = {(*row, "") for row in class_rows(CONFIG_MAPPING, aliases())}, []
    for folder in folders:
        for path in sorted(folder.glob("*.json")):
            try:
                rows.update((*row, path.stem) for row in rows_of(path, CONFIG_MAPPING, aliases()))
            except Exception as error:  # noqa: BLE001: a class may refuse a file of its own kind
                failed.append(f"{path.name}: {type(error).__name__}: {str(error).splitlines()[0][:100]}")
    with open(HERE / "transformers_defaults.csv", "w", newline="") as out:
        out.write(f"# transformers {transformers.__version__}, by transformers_defaults.py\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("type", "field", "key", "value", "file"))
        writer.writerows(sorted(rows))
    print(f"{len(rows)} rows")
    for line in failed:
        print("not read by its class:", line, file=sys.stderr)


if __name__ == "__main__":
    main()
