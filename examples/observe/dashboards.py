"""Makes the dashboards of boards.py with Grafana's own SDK: writes dashboards/*.json, or with --check says which are not current.

    pip install 'grafana-foundation-sdk==1769699998!10.1.0'
    python3 examples/observe/dashboards.py [--check]
"""

import importlib
import pathlib
import sys

import boards
from grafana_foundation_sdk.builders import dashboard, loki, prometheus
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

FOLDER = pathlib.Path(__file__).resolve().parent / "dashboards"
SOURCES = {"prometheus": "${datasource}", "loki": "${logs}"}


def source(kind):
    return model.DataSourceRef(type_val=kind, uid=SOURCES[kind])


def target(kind, number, expression):
    ref = chr(ord("A") + number)
    if boards.is_logql(kind, expression):
        query = loki.Dataquery().expr(expression).ref_id(ref)
        return query if kind == "logs" else query.instant(True)
    query = prometheus.Dataquery().expr(expression).ref_id(ref).datasource(source("prometheus"))
    return query if kind == "timeseries" else query.instant().format(PromQueryFormat.TABLE if kind == "table" else PromQueryFormat.TIME_SERIES)


def panel(number, row, x, y):
    title, kind, width, height, unit, expressions = row
    made = importlib.import_module(f"grafana_foundation_sdk.builders.{kind}").Panel()
    logs = boards.is_logql(kind, expressions[0])
    made.id(number).title(title).datasource(source("loki" if logs else "prometheus"))
    made.grid_pos(model.GridPos(h=height, w=width, x=x, y=y))
    if unit:
        made.unit(unit)
    if (link := boards.drill_down(expressions[0])) is not None:
        made.data_links([dashboard.DashboardLink(link[0]).url(link[1])])
    for at, expression in enumerate(expressions):
        made.with_target(target(kind, at, expression))
    return made


def variable(metric, name):
    return (dashboard.QueryVariable(name).datasource(source("prometheus")).query(f"label_values({metric}, {name})")
            .include_all(True).all_value(".*").multi(True).refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
            .current(model.VariableOption(text="All", value="$__all")))


def made(name):
    board = boards.BOARDS[name]
    out = (dashboard.Dashboard(board["title"]).uid(f"mlsysim-{name}").tags(["mlsysim"]).time("now-7d", "now").readonly().timezone("utc")
           .with_variable(dashboard.DatasourceVariable("datasource").label("metrics").type("prometheus")))
    if any(boards.is_logql(kind, query) for _, kind, query in boards.queries(name)):
        out.with_variable(dashboard.DatasourceVariable("logs").label("logs").type("loki"))
    metric, names = board["variables"]
    for one in names:
        out.with_variable(variable(metric, one))
    x = y = tallest = 0
    for number, row in enumerate(board["panels"], 1):
        if x + row[2] > 24:
            x, y, tallest = 0, y + tallest, 0
        out.with_panel(panel(number, row, x, y))
        x, tallest = x + row[2], max(tallest, row[3])
    return JSONEncoder(sort_keys=True, indent=2).encode(out.build()) + "\n"


def main():
    stale = []
    for name in boards.BOARDS:
        path, text = FOLDER / f"{name}.json", made(name)
        if not path.exists() or path.read_text() != text:
            stale.append(path.name)
            if "--check" not in sys.argv[1:]:
                path.write_text(text)
    print(f"{len(boards.BOARDS)} dashboards, not current: {', '.join(stale) or 'none'}")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
