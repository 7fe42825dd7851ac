"""Schemas of commands: made from the command line itself, and every example of a help text validates."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import call
from test_help import LEAVES, examples

ROOT = pathlib.Path(__file__).parents[2]
SCHEMAS = call("schema", "commands").json()


def test_every_command_has_a_schema():
    assert {f"mlsysim {name}" for name in LEAVES} == set(SCHEMAS)
    assert call("schema", "zoo", "show").json() == SCHEMAS["mlsysim zoo show"]
    assert set(call("schema", "units").json()) == {"mlsysim units convert", "mlsysim units list"}


def test_a_schema_says_what_the_command_takes():
    schema = SCHEMAS["mlsysim eval"]
    assert schema["required"] == ["model"] and schema["properties"]["model"]["x-positional"] is True
    assert schema["properties"]["batch-size"]["type"] == ["number", "string"]
    assert "bf16" in schema["properties"]["precision"]["enum"]
    assert schema["properties"]["verbose"]["type"] == "boolean" and "zoo list models" in schema["properties"]["model"]["x-names"]
    assert SCHEMAS["mlsysim optimize"]["properties"]["axis"]["type"] == "array"


@pytest.mark.parametrize("name", sorted(LEAVES))
def test_every_example_became_an_instance(name):
    own = [e for e in examples(LEAVES[name]) if f"{e} ".startswith(f"mlsysim {name} ")]
    assert len(SCHEMAS[f"mlsysim {name}"]["examples"]) >= min(len(own), 1) and len(own) >= 2
    for instance in SCHEMAS[f"mlsysim {name}"]["examples"]:
        assert set(SCHEMAS[f"mlsysim {name}"]["required"]) <= set(instance), instance
        assert set(instance) <= set(SCHEMAS[f"mlsysim {name}"]["properties"]), instance


def fits(value, schema):
    """The part of JSON Schema that these schemas use."""
    kinds = {"string": str, "number": (int, float), "boolean": bool, "array": list, "object": dict}
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, kinds[t]) for t in types) or value not in schema.get("enum", [value]):
        return False
    return all(fits(item, schema["items"]) for item in value) if isinstance(value, list) else True


@pytest.mark.parametrize("name", sorted(LEAVES))
def test_every_instance_fits(name):
    schema = SCHEMAS[f"mlsysim {name}"]
    for instance in schema["examples"]:
        for key, value in instance.items():
            assert fits(value, schema["properties"][key]), (key, value, schema["properties"][key])


def test_a_validator_of_others_agrees():
    python = pathlib.Path(os.environ.get("MLSYSIM_ORACLES", "/none")) / "python"
    python = python if python.exists() else sys.executable
    if subprocess.run([python, "-c", "import jsonschema"], capture_output=True).returncode:
        pytest.skip("jsonschema is not here: pip install it into the folder of MLSYSIM_ORACLES")
    code = ("import json, sys, jsonschema\nfor name, s in json.load(sys.stdin).items():\n"
            "    v = jsonschema.Draft7Validator(s); jsonschema.Draft7Validator.check_schema(s)\n"
            "    [v.validate(e) for e in s['examples']]\n"
            "    assert not v.is_valid({**s['examples'][0], 'no-such-option': 1}), name\n")
    done = subprocess.run([python, "-c", code], input=json.dumps(SCHEMAS), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_events_records_and_configurations_are_what_their_schemas_say(run, tmp_path):
    jsonschema = pytest.importorskip("jsonschema", reason="apt-get install python3-jsonschema")
    schemas = {name: jsonschema.Draft7Validator(call("schema", name).json()) for name in ("event", "observability", "explain_document")}
    for validator in schemas.values():
        validator.check_schema(validator.schema)
    # Events of a run, of one that fails, of a sweep and of a matrix.
    config = tmp_path / "o.yaml"
    config.write_text('version: "1"\nexporters: [{form: jsonl, file: events.jsonl}]\n')
    matrix = ROOT / "tests" / "ci" / "predictions.yaml"
    kinds = set()
    for words in (["pipeline", "run", "SingleNodeModel", "workload=Llama3_8B", "hardware=H100"],
                  ["pipeline", "run", "SingleNodeModel", "workload=Llama3_8B", "hardware=V100", "precision=fp8"],
                  ["sweep", "Llama3_8B", "H100", "--axis", "batch_size=1..4"], ["ci", "run", matrix]):
        run(*words, env={"MLSYSIM_OBSERVE": str(config)})
        lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
        for event in lines:
            schemas["event"].validate(event)
        kinds |= {event["kind"] for event in lines}
    assert {"pipeline_start", "stage_start", "stage_end", "error", "break", "sweep", "pipeline_end"} <= kinds, kinds
    fault = next(event for event in lines + [{"time_unix_nano": "1", "kind": "break", "run": 1, "commit": "c", "reason": "numeric", "id": "MB016", "severity": "error"}]
                 if event["kind"] == "break")
    assert schemas["event"].is_valid(fault)
    for wrong in ({**fault, "reason": "weather"}, {**fault, "kind": "stage_end"}, {**fault, "time_unix_nano": 1}, {k: v for k, v in fault.items() if k != "id"}, {**fault, "colour": "red"}):
        assert not schemas["event"].is_valid(wrong), wrong
    # Documents that the program and the exporter of Python write.
    data = ROOT / "tests" / "data"
    for path in (*sorted((data / "compile").glob("*.gz")), data / "compile" / "break_reasons_mms_tts_rus.pkl", data / "traces" / "torch_2_15_breaks.log.gz"):
        document = run("compile", "ingest", path, "--document").json()
        schemas["explain_document"].validate(document)
        assert not schemas["explain_document"].is_valid({**document, "graph_count": -1})
    sys.path.insert(0, str(ROOT / "bindings" / "python" / "mlsysim"))
    import dynamo_export  # noqa: PLC0415 (the one file that may be copied)

    schemas["explain_document"].validate(dynamo_export.failure(ValueError("no"), name="m"))
    # Files that say where events go.
    good = {"version": "1", "exporters": [{"form": "loki", "url": "http://h", "credentials": "env:X", "retry_wait": 0}]}
    assert schemas["observability"].is_valid(good)
    for change in ({"version": "2"}, {"exporters": [{"form": "loki"}]}, {"exporters": [{"form": "lokki", "file": "x"}]}, {"exporter": []},
                   {"exporters": [{"form": "loki", "url": "http://h", "credentials": "me:secret"}]}):
        assert not schemas["observability"].is_valid({**good, **change}), change


def test_what_there_is_not_is_refused(refused):
    refused("schema", "zoo", "sho", parts=["no command 'mlsysim zoo sho'", "mlsysim.cli.160"])
