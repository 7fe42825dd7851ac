"""The dashboards as data: what dashboards.py makes Grafana's JSON of, demo.py asks a real Prometheus, and the tests ask Loki.

A panel is (title, kind, width of 24, height, unit, queries); a query is an expression, of Loki where its panel's kind is "logs" or its
expression begins with a stream selector. Variables are filters of all panels of their board.
"""

import re

BREAKS = "mlsysim_compile_breaks_total"
SEED = "sum by(model, commit, reason)(compile_breaks_total)"
FILTER = '{model_family=~"$model_family", model_name=~"$model_name", commit=~"$commit"}'
OF_MODEL = '{model_family=~"$model_family", model_name=~"$model_name"}'
LINES = '{service_name="mlsysim", kind="compile_break"} | model_name=~"$model_name" | commit=~"$commit"'
BY_MODEL = ["model_family", "model_name", "commit"]
OF_REASON = FILTER.replace("}", ', reason=~"$reason"}')
LINES_OF_REASON = f'{LINES} | type=~"$reason"'
# What a click on a value narrows the board of breaks to, one step further each: a family, a model of it, a reason.
DRILL_DOWN = ["model_family", "model_name", "reason"]
CELLS = '{model_family=~"$model_family", model_name=~"$model_name", hardware=~"$hardware"}'
NUMBERS = '{model_family=~"$model_family", model_name=~"$model_name", hardware=~"$hardware", number=~"$number"}'
ONE_CELL = "model_name, hardware, precision, pipeline, number"
WATCHED = '{server=~"$server", number=~"$number"}'

BOARDS = {
    "overview": {
        "title": "mlsysim: overview", "variables": (BREAKS, BY_MODEL),
        "panels": [
            ("Models", "stat", 6, 4, "", [f"count(count by(model_name)(mlsysim_compile_graphs{FILTER}))"]),
            ("Graph breaks", "stat", 6, 4, "", [f"sum(mlsysim_compile_graph_breaks{FILTER})"]),
            ("Models that do not compile", "stat", 6, 4, "", [f"sum(mlsysim_compile_failures{FILTER} > bool 0)"]),
            ("Age of the last push", "stat", 6, 4, "s", ["time() - max(push_time_seconds)"]),
            ("Breaks by model, commit and reason", "timeseries", 12, 8, "", [SEED]),
            ("Breaks of each family", "barchart", 12, 8, "", [f"sum by(model_family, commit)({BREAKS}{FILTER})"]),
            ("Compile time of each commit", "timeseries", 12, 8, "s", [f"sum by(commit)(mlsysim_compile_seconds{FILTER})"]),
            ("Models with most breaks", "table", 12, 8, "", [f"topk(10, sum by(model_family, model_name)({BREAKS}{FILTER}))"]),
        ]},
    "breaks": {
        "title": "mlsysim: graph breaks", "variables": (BREAKS, [*BY_MODEL, "reason"]),
        "panels": [
            ("Breaks by model, commit and reason", "timeseries", 12, 8, "", [SEED]),
            ("Breaks by family", "barchart", 12, 8, "", [f"sum by(model_family)({BREAKS}{OF_REASON})"]),
            ("Breaks by model", "barchart", 12, 8, "", [f"sum by(model_name)({BREAKS}{OF_REASON})"]),
            ("Breaks by reason over commits", "timeseries", 12, 8, "", [f"sum by(reason, commit)({BREAKS}{OF_MODEL})"]),
            ("Breaks by category", "piechart", 8, 8, "", [f"sum by(category)({BREAKS}{OF_REASON})"]),
            ("Breaks that no reason is listed for", "stat", 4, 8, "", ["sum(mlsysim_compile_graph_breaks) - sum(mlsysim_compile_breaks_total)"]),
            ("Reasons with most breaks", "table", 12, 8, "", [f"topk(10, sum by(reason)({BREAKS}{OF_REASON}))"]),
            ("Breaks by id of PyTorch's registry", "barchart", 12, 8, "", [f"sum by (gb_id) (count_over_time({LINES_OF_REASON} [$__range]))"]),
            ("Places with most breaks", "table", 12, 8, "", [f"topk(10, sum by (file, line) (count_over_time({LINES_OF_REASON} [$__range])))"]),
            ("Lines", "logs", 24, 10, "", [LINES_OF_REASON]),
        ]},
    "compile-time": {
        "title": "mlsysim: compile time", "variables": (BREAKS, BY_MODEL),
        "panels": [
            ("Compile time", "timeseries", 12, 8, "s", [f"sum by(model_name, commit)(mlsysim_compile_seconds{FILTER})"]),
            ("Lost to restarts", "timeseries", 12, 8, "s", [f"sum by(model_name, commit)(mlsysim_compile_restart_seconds{FILTER})"]),
            ("Share lost to restarts", "barchart", 12, 8, "percentunit",
             [f"sum by(model_name)(mlsysim_compile_restart_seconds{FILTER}) / (sum by(model_name)(mlsysim_compile_seconds{FILTER}) > 0)"]),
            ("Models that compile longest", "table", 12, 8, "s", [f"topk(10, sum by(model_name, commit)(mlsysim_compile_seconds{FILTER}))"]),
            ("Operators of a graph", "barchart", 8, 8, "",
             [f"sum by(model_name)(mlsysim_compile_operators{FILTER}) / (sum by(model_name)(mlsysim_compile_graphs{FILTER}) > 0)"]),
            ("Guards of a graph", "barchart", 8, 8, "",
             [f"sum by(model_name)(mlsysim_compile_guards{FILTER}) / (sum by(model_name)(mlsysim_compile_graphs{FILTER}) > 0)"]),
            ("Failed compilations", "table", 8, 8, "", [f"mlsysim_compile_failures{FILTER} > 0"]),
        ]},
    "predictions": {
        "title": "mlsysim: predictions of each commit",
        "variables": ("mlsysim_predicted_latency_seconds", ["model_family", "model_name", "hardware", "number"]),
        "panels": [
            ("Cells", "stat", 6, 4, "", ["sum by(status)(mlsysim_cells)"]),
            ("Worse than accepted", "stat", 6, 4, "", ['sum(mlsysim_differences{verdict=~"worse|gone|incomparable"})']),
            ("Broken budgets", "stat", 6, 4, "", [f"sum(mlsysim_budget_broken{CELLS})"]),
            ("Version", "table", 6, 4, "", ["mlsysim_build_info"]),
            ("Predicted latency, and its budget", "timeseries", 24, 10, "s",
             [f"max by({ONE_CELL})(mlsysim_predicted_latency_seconds{NUMBERS})",
              f'label_replace(max by({ONE_CELL})(mlsysim_budget_latency_seconds{NUMBERS}), "line", "budget", "", "")']),
            ("Predicted throughput", "timeseries", 12, 8, "", [f"max by({ONE_CELL})(mlsysim_predicted_throughput_per_second{NUMBERS})"]),
            ("Breaks of predictions by reason", "barchart", 12, 8, "", [f"sum by(reason)(mlsysim_breaks{CELLS})"]),
            ("Over budget", "table", 24, 6, "", [f"mlsysim_budget_broken{CELLS} > 0"]),
        ]},
    "predicted": {
        "title": "mlsysim: predicted against measured", "variables": ("mlsysim_watch_measured_seconds", ["server", "number"]),
        "panels": [
            ("Servers that answer", "stat", 6, 4, "", ["sum(mlsysim_watch_up)"]),
            ("Numbers outside of their band", "stat", 6, 4, "", [f"sum(mlsysim_watch_outside{WATCHED})"]),
            ("Measured over predicted", "barchart", 12, 8, "percentunit",
             [f'mlsysim_watch_measured_seconds{WATCHED} / ignoring(bound) mlsysim_watch_predicted_seconds{{server=~"$server", number=~"$number", bound="value"}}']),
            ("Measured, and the predicted band", "timeseries", 24, 10, "s",
             [f"mlsysim_watch_measured_seconds{WATCHED}", f"mlsysim_watch_predicted_seconds{WATCHED}"]),
            ("Outside of the band", "table", 24, 6, "", [f"mlsysim_watch_outside{WATCHED} > 0"]),
        ]},
}


def drill_down(query):
    """(title, URL) where the values of a query have a label that narrows the board of breaks: the finest that they have."""
    grouped = re.match(r"(?:topk\(\d+, )?sum by\(([^)]*)\)", query)
    labels = [name for name in DRILL_DOWN if grouped and name in re.findall(r"\w+", grouped[1])]
    if not labels or BREAKS not in query:
        return None
    chosen = "&".join(f"var-{name}=${{__field.labels.{name}}}" for name in labels)
    kept = "".join(f"&${{{name}:queryparam}}" for name in DRILL_DOWN[:DRILL_DOWN.index(labels[0])])
    return f"Breaks of this {labels[-1].removeprefix('model_')}", f"/d/mlsysim-breaks?{chosen}{kept}"


def is_logql(kind, query):
    return kind == "logs" or '{service_name=' in query


def asked(query, board):
    """A query as Grafana sends it when every variable is at All and the range is an hour."""
    for name in BOARDS[board]["variables"][1]:
        query = query.replace(f"${name}", ".*")
    return query.replace("$__range", "1h")


def queries(board):
    """(title, kind, query as asked) of every query of a board."""
    for title, kind, _, _, _, expressions in BOARDS[board]["panels"]:
        for expression in expressions:
            yield title, kind, asked(expression, board)
