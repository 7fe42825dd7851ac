#!/usr/bin/env python3
"""Writes the counts of diffusers_counts.json anew: how many weights `diffusers` makes of each configuration in it.

    python3 tests/data/model_files/diffusers_counts.py

Needs `pip install diffusers torch`. Nothing is downloaded and no weight is made: the models are built on the meta device. The
configurations have the shapes of public checkpoints.
"""

import json
from pathlib import Path

import diffusers
import torch

FILE = Path(__file__).resolve().parent / "diffusers_counts.json"


def count(config):
    sizes = {key: value for key, value in config.items() if key != "_class_name"}
    with torch.device("meta"):
        model = getattr(diffusers, config["_class_name"]).from_config(sizes)
    return sum(p.numel() for p in model.parameters())


rows = [{"parameters": count(row["config"]), "config": row["config"]} for row in json.loads(FILE.read_text())["rows"]]
lines = ",\n".join(json.dumps(row) for row in rows)
FILE.write_text(f'{{"diffusers": "{diffusers.__version__}", "rows": [\n{lines}\n]}}\n')
