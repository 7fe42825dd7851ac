"""mlsysim export: programs on standard output."""

import json


def test_json_of_a_scenario(run):
    done = run("export", "Llama3_8B", "H100", "itl,ttft", "--batch-size", "4")
    program = json.loads(done.out)
    assert done.code == 0 and program["schema"] == "mlsysim/program@1"
    assert [row["name"] for row in program["results"]] == ["itl", "ttft"]
    assert next(row for row in program["inputs"] if row["name"] == "batch_size")["value"] == 4


def test_c_of_a_law(run):
    words = ["RingAllReduce", "message=1 GB", "ranks=8", "bandwidth=400 GB/s", "alpha=5 us", "time"]
    done = run("export", *words, "--language", "c", "--function", "ring")
    assert done.code == 0 and "void ring(const double* in, double* out) {" in done.out and "in[0]: message" in done.out
    assert run("export", *words, "--language", "c", "--function", "2ring").code == 1
    assert run("export", *words, "--language", "basic").code == 1


def test_what_has_no_program(run):
    assert "was not recorded" in run("export", "CheckpointModel", "workload=Llama3_8B", "hardware=H100", "write_time").err
    assert "itl" in run("export", "Llama3_8B", "H100", "itll").err
