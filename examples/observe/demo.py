"""The pipeline of graph breaks from records to a dashboard: reads records of two families and predicts models of two families at three
commits, pushes metrics to a real Pushgateway and lines to Loki where it was built, asks them every query of the dashboards, and writes a
page that shows the same panels without Grafana.

    python3 examples/observe/demo.py OUT        (scripts/observe-demo installs what it needs)
"""

import contextlib
import gzip
import html
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "telemetry")]
import boards  # noqa: E402
import servers  # noqa: E402

DATA = ROOT / "tests" / "data" / "compile"
PROGRAM = os.environ.get("MLSYSIM_PROGRAM", str(ROOT / "build" / "release" / "bin" / "mlsysim"))
SPEECH, TEXT, TRACE = "break_reasons_mms_tts_rus.pkl", "explain_24graphs_bert_tiny_wrapper.txt.gz", "bert_tiny_print_breaks.log.gz"
# What a nightly run found at each commit: (family, name of the file, sample). As in the repository that the speech
# sample is from, its bytes also lie under another model's name; they are counted once.
COMMITS = {
    "commit-1": [("Audio", "facebook--mms-tts-rus_dynamo_explain.pkl", SPEECH),
                 ("Computer Vision", "facebook--dinov2-base_dynamo_explain.pkl", SPEECH)],
    "commit-2": [("Audio", "facebook--mms-tts-rus_dynamo_explain.pkl", SPEECH),
                 ("Text", "prajjwal1--bert-tiny_dynamo_explain.txt", TEXT)],
    "commit-3": [("Audio", "facebook--mms-tts-rus_dynamo_explain.pkl", SPEECH),
                 ("Text", "prajjwal1--bert-tiny_dynamo_explain.log", TRACE)],
}


def lay_out(folder, rows):
    for family, name, sample in rows:
        data = (DATA / sample).read_bytes()
        (folder / family).mkdir(parents=True, exist_ok=True)
        (folder / family / name).write_bytes(gzip.decompress(data) if sample.endswith(".gz") else data)


def export(records, commit, *words):
    done = subprocess.run([PROGRAM, "compile", "export", str(records), "--commit", commit, "--alias-compile-breaks", *words],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done


def archive(out, commit, gateway, loki):
    """Everything of one commit on the disk, and its metrics at the gateway."""
    folder = out / commit
    lay_out(folder / "records", COMMITS[commit])
    done = export(folder / "records", commit, "--push", gateway, "--job", "graph-breaks", "--group", f"run={commit}")
    (folder / "compile.prom").write_text(done.stdout)
    (folder / "notes.txt").write_text(done.stderr)
    (folder / "breaks.log").write_text(export(folder / "records", commit, "--form", "logfmt").stdout)
    if loki is not None:
        export(folder / "records", commit, "--loki", loki)
    (folder / "breaks.jsonl").write_text(export(folder / "records", commit, "--form", "jsonl").stdout)
    predict(folder, commit, gateway)


def predict(folder, commit, gateway):
    """What the library predicts at one commit. Each of them asks for a batch twice as large, as a change of a service would."""
    matrix = folder.parent / "predictions.yaml"
    text = (HERE / "predictions.yaml").read_text()
    matrix.write_text(text.replace("batch_size: 16", f"batch_size: {8 * 2 ** int(commit[-1])}"))
    words = ["--commit", commit, "--push", gateway, "--job", "predictions", "--history", str(folder.parent / "predictions.sqlite"),
             "--report", f"html={folder / 'predictions.html'}", "--report", f"junit={folder / 'predictions.xml'}"]
    if not matrix.with_name("predictions.baseline.yaml").exists():
        subprocess.run([PROGRAM, "ci", "accept", str(matrix)], check=True, capture_output=True)
    done = subprocess.run([PROGRAM, "ci", "run", str(matrix), *words], capture_output=True, text=True, check=False)
    (folder / "predictions.txt").write_text(done.stdout + done.stderr)
    if done.returncode not in (0, 1):  # 1: a number is worse or over its budget, which the panels show
        sys.exit(done.stderr)


def ask(prometheus, loki):
    """Every query of the dashboards of compile records and of predictions, with all of each variable: rows of labels and values."""
    rows = []
    for board in ("overview", "breaks", "compile-time", "predictions"):
        for title, kind, expression in boards.queries(board):
            if not boards.is_logql(kind, expression):
                found = [{"labels": dict(labels), "value": value} for labels, value in servers.query(prometheus, expression).items()]
            elif loki is not None:
                found = servers.until(expression, lambda expression=expression: servers.query_loki(loki, expression) or None)
            else:
                continue
            rows.append({"board": board, "title": title, "expr": expression,
                         "rows": sorted(found, key=lambda row: (-row["value"], str(row)))})
    return rows


def over_opentelemetry(prometheus, records):
    """Sends the metrics of one commit once more, as OpenTelemetry, after all else was asked: what came back."""
    export(records, "commit-3", "--otlp", f"{prometheus}/api/v1/otlp/v1/metrics")
    query = 'sum by(model_name)(mlsysim_compile_graphs{job="mlsysim"})'
    rows = servers.until(query, lambda: servers.query(prometheus, query) or None)
    return f"over OpenTelemetry, Prometheus 3 has {len(rows)} models of commit-3: {query}"


def page(answers):
    parts = ["<!doctype html><html lang=en><meta charset=utf-8><title>mlsysim: compile records</title><style>",
             "body{font:15px sans-serif;margin:2em;color:#222}table{border-collapse:collapse}td,th{padding:2px 12px 2px 0;",
             "text-align:left}td.n{text-align:right}meter{width:12em}code{color:#444}</style>"]
    board = ""
    for answer in answers:
        if answer["board"] != board:
            board = answer["board"]
            parts.append(f"<h1>{html.escape(boards.BOARDS[board]['title'])}</h1>")
        most = max((row["value"] for row in answer["rows"]), default=1) or 1
        parts.append(f"<h2>{html.escape(answer['title'])}</h2><code>{html.escape(answer['expr'])}</code><table>")
        for row in answer["rows"]:
            label = ", ".join(f"{name} {value}" for name, value in row["labels"].items())
            parts.append(f"<tr><td>{html.escape(label)}<td class=n>{row['value']:.6g}<td>"
                         f"<meter max={most} value={row['value']}>{row['value']:.6g}</meter>")
        parts.append("</table>")
    return "\n".join(parts) + "</html>\n"


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    (out / "predictions.baseline.yaml").unlink(missing_ok=True)
    lines = servers.running_loki() if servers.has_loki() else contextlib.nullcontext()
    receives = servers.has_prometheus_3()
    with servers.running(rules=HERE / "alerts.yml", otlp=receives) as (gateway, prometheus), lines as loki:
        for commit in COMMITS:
            archive(out, commit, gateway, loki)
        seed = boards.SEED

        def all_commits():
            rows = servers.query(prometheus, seed)
            return rows if {dict(key)["commit"] for key in rows} == set(COMMITS) else None

        rows = servers.until(seed, all_commits)
        answers = ask(prometheus, loki)
        said = over_opentelemetry(prometheus, out / "commit-3" / "records") if receives else (
            "Debian's Prometheus has no receiver of OpenTelemetry; scripts/observe-servers prometheus builds one that has")
    print(said)
    print(f"queries that were answered: {len(answers)}" + ("" if loki else "; there is no Loki, which scripts/observe-servers loki builds: "
                                                           "queries of lines were not asked"))
    print(seed)
    for labels, value in sorted(rows.items()):
        print("  " + ", ".join(f"{name}={text}" for name, text in labels), int(value))
    (out / "queries.json").write_text(json.dumps(answers, indent=2) + "\n")
    (out / "index.html").write_text(page(answers))
    print(f"page: {out / 'index.html'}; archive: {out}/commit-*")


if __name__ == "__main__":
    main()
