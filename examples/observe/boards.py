"""The dashboards as data: what dashboards.py makes Grafana's JSON of, demo.py asks a real Prometheus, and the tests ask Loki.

A panel is (title, kind, width of 24, height, unit, queries); a query is an expression, of Loki where its panel's kind is "logs" or its
expression begins with a stream selector. Variables are filters of all panels of their board.
"""

BREAKS = "mlsysim_compile_breaks_total"
SEED = "sum by(model, commit, reason)(compile_breaks_total)"
FILTER = '{model_family=~"$model_family", model_name=~"$model_name", commit=~"$commit"}'
OF_MODEL = '{model_family=~"$model_family", model_name=~"$model_name"}'
LINES = '{service_name="mlsysim", kind="compile_break"} | model_name=~"$model_name" | commit=~"$commit"'
BY_MODEL = ["model_family", "model_name", "commit"]
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
        "title": "mlsysim: graph breaks", "variables": (BREAKS, BY_MODEL),
        "panels": [
            ("Breaks by model, commit and reason", "timeseries", 12, 8, "", [SEED]),
            ("Breaks by family", "barchart", 12, 8, "", [f"sum by(model_family)({BREAKS}{FILTER})"]),
            ("Breaks by model", "barchart", 12, 8, "", [f"sum by(model_name)({BREAKS}{FILTER})"]),
            ("Breaks by reason over commits", "timeseries", 12, 8, "", [f"sum by(reason, commit)({BREAKS}{OF_MODEL})"]),
            ("Breaks by category", "piechart", 8, 8, "", [f"sum by(category)({BREAKS}{FILTER})"]),
            ("Breaks that no reason is listed for", "stat", 4, 8, "", ["sum(mlsysim_compile_graph_breaks) - sum(mlsysim_compile_breaks_total)"]),
            ("Reasons with most breaks", "table", 12, 8, "", [f"topk(10, sum by(reason)({BREAKS}{FILTER}))"]),
            ("Breaks by id of PyTorch's registry", "barchart", 12, 8, "", [f"sum by (gb_id) (count_over_time({LINES} [$__range]))"]),
            ("Places with most breaks", "table", 12, 8, "", [f"topk(10, sum by (file, line) (count_over_time({LINES} [$__range])))"]),
            ("Lines", "logs", 24, 10, "", [LINES]),
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
