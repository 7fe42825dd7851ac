"""The dashboard of graph breaks as code: prints the JSON that Grafana imports. dashboards/breaks.json is its output.

    python3 examples/observe/dashboards.py > examples/observe/dashboards/breaks.json
"""

import json
import sys

# One row for each panel: title, kind, width of 24, height, query.
PANELS = [
    ("Breaks of the seed: model, commit, reason", "timeseries", 12, 8, "sum by(model, commit, reason)(compile_breaks_total)"),
    ("Breaks by family", "barchart", 12, 8, 'sum by(model_family)(mlsysim_compile_breaks_total{commit=~"$commit"})'),
    ("Breaks by model", "barchart", 12, 8,
     'sum by(model_name)(mlsysim_compile_breaks_total{model_family=~"$model_family", commit=~"$commit"})'),
    ("Breaks by reason over commits", "timeseries", 12, 8,
     'sum by(reason, commit)(mlsysim_compile_breaks_total{model_family=~"$model_family", model_name=~"$model_name"})'),
    ("Breaks by category", "piechart", 8, 8, 'sum by(category)(mlsysim_compile_breaks_total{commit=~"$commit"})'),
    ("Compile time", "timeseries", 8, 8, 'sum by(model_name, commit)(mlsysim_compile_seconds{model_name=~"$model_name"})'),
    ("Breaks that no reason is listed for", "stat", 8, 8,
     "sum(mlsysim_compile_graph_breaks) - sum(mlsysim_compile_breaks_total)"),
    ("Age of the last push", "stat", 8, 6, "time() - max(push_time_seconds)"),
    ("Top of the reasons", "table", 16, 6, 'topk(10, sum by(reason)(mlsysim_compile_breaks_total{commit=~"$commit"}))'),
]
VARIABLES = ["model_family", "model_name", "commit"]
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def variable(name):
    return {"name": name, "type": "query", "datasource": SOURCE, "includeAll": True, "allValue": ".*", "multi": True,
            "current": {"text": "All", "value": "$__all"}, "refresh": 2,
            "query": {"query": f"label_values(mlsysim_compile_breaks_total, {name})", "refId": "A"}}


def panels():
    x = y = tallest = 0
    for number, (title, kind, width, height, expression) in enumerate(PANELS, 1):
        if x + width > 24:
            x, y, tallest = 0, y + tallest, 0
        yield {"id": number, "title": title, "type": kind, "datasource": SOURCE,
               "gridPos": {"h": height, "w": width, "x": x, "y": y},
               "targets": [{"refId": "A", "expr": expression, "datasource": SOURCE, "instant": kind != "timeseries"}]}
        x, tallest = x + width, max(tallest, height)


def dashboard():
    source = {"name": "datasource", "type": "datasource", "query": "prometheus"}
    return {"uid": "mlsysim-breaks", "title": "mlsysim: graph breaks", "schemaVersion": 39, "version": 1,
            "tags": ["mlsysim"], "time": {"from": "now-7d", "to": "now"},
            "templating": {"list": [source, *map(variable, VARIABLES)]}, "panels": list(panels())}


if __name__ == "__main__":
    json.dump(dashboard(), sys.stdout, indent=2)
    sys.stdout.write("\n")
