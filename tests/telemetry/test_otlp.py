"""OTLP bodies are messages of OpenTelemetry's protocol: Debian's protobuf reads them by its JSON mapping, which knows no other fields."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import servers  # noqa: E402

pytest.importorskip("google.protobuf", reason="apt-get install python3-protobuf")
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory  # noqa: E402

PROGRAM = os.environ["MLSYSIM_PROGRAM"]
DATA = pathlib.Path(__file__).parents[1] / "data" / "compile"
# Of opentelemetry-proto 1.x (common, resource, trace, metrics): what is written here, with its numbers. * is repeated.
MESSAGES = """
AnyValue string_value:1:string
KeyValue key:1:string value:2:AnyValue
Scope name:1:string version:2:string
Resource attributes:1:*KeyValue
Event time_unix_nano:1:fixed64 name:2:string attributes:3:*KeyValue
Status message:2:string code:3:int32
Span trace_id:1:bytes span_id:2:bytes parent_span_id:4:bytes name:5:string kind:6:int32 start_time_unix_nano:7:fixed64 \
end_time_unix_nano:8:fixed64 attributes:9:*KeyValue events:11:*Event status:15:Status
ScopeSpans scope:1:Scope spans:2:*Span
ResourceSpans resource:1:Resource scope_spans:2:*ScopeSpans
Traces resource_spans:1:*ResourceSpans
NumberPoint time_unix_nano:3:fixed64 as_double:4:double attributes:7:*KeyValue
HistogramPoint time_unix_nano:3:fixed64 count:4:fixed64 sum:5:double bucket_counts:6:*fixed64 explicit_bounds:7:*double attributes:9:*KeyValue
Gauge data_points:1:*NumberPoint
Sum data_points:1:*NumberPoint aggregation_temporality:2:int32 is_monotonic:3:bool
Histogram data_points:1:*HistogramPoint aggregation_temporality:2:int32
Metric name:1:string description:2:string unit:3:string gauge:5:Gauge sum:7:Sum histogram:9:Histogram
ScopeMetrics scope:1:Scope metrics:2:*Metric
ResourceMetrics resource:1:Resource scope_metrics:2:*ScopeMetrics
Metrics resource_metrics:1:*ResourceMetrics
"""


@pytest.fixture(scope="module")
def messages():
    file = descriptor_pb2.FileDescriptorProto(name="otlp.proto", package="otlp", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    for line in MESSAGES.strip().splitlines():
        name, *fields = line.split()
        message = file.message_type.add(name=name)
        for field in fields:
            key, number, kind = field.split(":")
            made = message.field.add(name=key, number=int(number), label=kinds.LABEL_REPEATED if kind[0] == "*" else kinds.LABEL_OPTIONAL)
            if (simple := f"TYPE_{kind.lstrip('*').upper()}") in kinds.Type.keys():
                made.type = kinds.Type.Value(simple)
            else:
                made.type, made.type_name = kinds.TYPE_MESSAGE, f".otlp.{kind.lstrip('*')}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return lambda name: message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName(f"otlp.{name}"))()


def test_metrics_of_records(messages):
    text = subprocess.run([PROGRAM, "compile", "export", DATA, "--commit", "c", "--form", "otlp", "--time", "1700000000000000007"],
                          capture_output=True, text=True, check=True).stdout
    (resource,) = json_format.Parse(text, messages("Metrics")).resource_metrics
    metrics = {m.name: m for m in resource.scope_metrics[0].metrics}
    points = metrics["mlsysim_compile_breaks_total"].sum.data_points
    assert sum(p.as_double for p in points) == 39 and {p.time_unix_nano for p in points} == {1700000000000000007}
    assert metrics["mlsysim_compile_graphs"].gauge.data_points and resource.resource.attributes[0].value.string_value == "mlsysim"
    with pytest.raises(json_format.ParseError):
        json_format.Parse(text.replace('"dataPoints"', '"data"'), messages("Metrics"))


def test_spans_and_numbers_of_a_pipeline(messages, tmp_path):
    with servers.stub([200]) as (url, taken):
        (tmp_path / "o.yaml").write_text(json.dumps({"version": "1", "exporters": [
            {"form": "otlp", "file": "spans.json"}, {"form": "otlp", "url": f"{url}/v1/metrics"}]}))
        subprocess.run([PROGRAM, "pipeline", "run", "SingleNodeModel", "workload=Llama3_8B", "hardware=H100"], check=True, capture_output=True,
                       env={**os.environ, "MLSYSIM_OBSERVE": str(tmp_path / "o.yaml")})
    (resource,) = json_format.Parse((tmp_path / "spans.json").read_text(), messages("Traces")).resource_spans
    stage, pipeline = resource.scope_spans[0].spans
    assert stage.parent_span_id == pipeline.span_id and stage.trace_id == pipeline.trace_id
    assert stage.start_time_unix_nano <= stage.end_time_unix_nano <= pipeline.end_time_unix_nano
    # Ids are hex in OTLP; as the base64 that the mapping takes them for, 32 digits are 24 bytes and 16 are 12.
    assert (len(stage.trace_id), len(stage.span_id)) == (24, 12)
    ((_, path, _, body),) = taken
    metrics = {m.name: m for m in json_format.Parse(body.decode(), messages("Metrics")).resource_metrics[0].scope_metrics[0].metrics}
    (times,) = metrics["mlsysim_stage_duration_seconds"].histogram.data_points
    assert path == "/v1/metrics" and times.count == sum(times.bucket_counts) == 1 and len(times.bucket_counts) == len(times.explicit_bounds) + 1
    assert metrics["mlsysim_predicted_latency_seconds"].gauge.data_points and metrics["mlsysim_build_info"].gauge.data_points[0].as_double == 1


@pytest.mark.skipif(not servers.has_prometheus_3() or bool(servers.missing()), reason="scripts/observe-servers prometheus, and the packages of Debian")
def test_a_real_prometheus_takes_metrics_of_opentelemetry(tmp_path):
    matrix = tmp_path / "predictions.yaml"
    matrix.write_text('version: "1"\nmodels: [Llama3_8B]\nhardware: [H100, A100]\npipelines: {serve: {batch_size: 4, accelerators: 8}}\nmetrics: {itl: }\n')
    with servers.running(otlp=True) as (_, prometheus):
        receiver = f"{prometheus}/api/v1/otlp/v1/metrics"
        subprocess.run([PROGRAM, "compile", "export", DATA, "--commit", "c", "--otlp", receiver], check=True, capture_output=True)
        subprocess.run([PROGRAM, "ci", "run", matrix, "--commit", "c", "--otlp", receiver], check=True, capture_output=True)
        (tmp_path / "o.yaml").write_text(json.dumps({"version": "1", "exporters": [{"form": "otlp", "url": receiver}]}))
        subprocess.run([PROGRAM, "pipeline", "run", "SingleNodeModel", "workload=Llama3_8B", "hardware=H100"], check=True, capture_output=True,
                       env={**os.environ, "MLSYSIM_OBSERVE": str(tmp_path / "o.yaml")})

        def found(query):
            return servers.until(query, lambda: servers.query(prometheus, query) or None)

        # What came over OpenTelemetry is what was counted: 39 listed breaks, whatever their reasons hold.
        assert sum(found('mlsysim_compile_breaks_total{job="mlsysim"}').values()) == 39
        text = subprocess.run([PROGRAM, "ci", "run", matrix, "-o", "json"], check=True, capture_output=True, text=True).stdout
        cells = {cell["hardware"]: cell["numbers"]["itl"]["value"] for cell in json.loads(text)["cells"]}
        latency = {dict(key)["hardware"]: value for key, value in found('mlsysim_predicted_latency_seconds{number="itl"}').items()}
        assert {name: round(value, 15) for name, value in latency.items()} == {name: round(value, 15) for name, value in cells.items()}
        (buckets,) = found('mlsysim_stage_duration_seconds_count{status="ok"}').values()
        assert buckets == 1
