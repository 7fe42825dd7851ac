"""Sweeps and searches on executors: the same answers, whoever computes them and whatever happens to a worker."""

import concurrent.futures
import os
import shutil
import signal

import mlsysim
import pytest

AXES = {"batch_size": "1..64", "tp_size": [1, 2, 4, 8], "precision": ["bf16", "fp8"]}


@pytest.fixture(scope="module")
def chat():
    return mlsysim.ask(mlsysim.Models.Llama3_70B, mlsysim.Hardware.H100, accelerators=8)


@pytest.fixture(scope="module")
def batch():
    """A static batch: of a steady state the bounds are too wide for millions of points."""
    return mlsysim.ask(mlsysim.Models.Llama3_70B, mlsysim.Hardware.H100, accelerators=8, load="burst")


def same(a, b):
    assert list(a.columns) == list(b.columns) and a.units == b.units and a.digest == b.digest and a.skipped == b.skipped
    assert a.feasible.tobytes() == b.feasible.tobytes()
    for name in a.columns:
        assert a.columns[name].tobytes() == b.columns[name].tobytes(), name


@pytest.mark.parametrize("shards", [1, 3, 17])
def test_a_sweep_has_the_same_bytes_for_any_shards(chat, shards):
    alone = chat.sweep(AXES, ["itl", "ttft"])
    seen = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = chat.sweep(AXES, ["itl", "ttft"], executor=pool, shards=shards, progress=lambda *p: seen.append(p))
    same(alone, both)
    assert len(seen) == shards and seen[-1][0] == seen[-1][1] == len(alone)


def test_a_search_has_the_same_bytes_for_any_shards(chat):
    question = dict(minimize="cost_per_token", subject_to=["itl <= 30 ms"], show=["itl"])
    alone = chat.optimize(AXES, strategy="exhaustive", **question)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = chat.optimize(AXES, executor=pool, shards=5, **question)
        front = chat.pareto(AXES, minimize=["itl", "cost_per_token"], executor=pool)
    assert both.best[0].index == alone.best[0].index and both.best[0].objectives == alone.best[0].objectives
    assert both.state == alone.state
    assert [p.index for p in front.front] == [p.index for p in chat.pareto(AXES, minimize=["itl", "cost_per_token"]).front]


def _die_once(path):
    """Ends its process the first time that anybody asks."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_pool_that_broke_is_done_without(chat, tmp_path):
    alone = chat.sweep(AXES, ["itl"])
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        pool.submit(_die_once, str(tmp_path / "died"))
        same(alone, chat.sweep(AXES, ["itl"], executor=pool, shards=6))
    assert (tmp_path / "died").exists()


def test_errors_of_a_question_come_back_as_they_are(chat):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with pytest.raises(mlsysim.errors.LookupError):
            chat.sweep(AXES, ["no_such_result"], executor=pool)
        with pytest.raises(mlsysim.errors.InputError, match="python.250"):
            chat.optimize(AXES, minimize="itl", executor=pool, strategy="evolutionary")
        with pytest.raises(mlsysim.errors.SolverError, match="cannot share bounds"):
            chat.optimize(AXES, minimize="itl", top=2, executor=pool, strategy="branch-and-bound")
    with pytest.raises(mlsysim.errors.InputError, match="python.251"):
        chat.sweep(AXES, ["itl"], executor=object())


BIG = {"batch_size": "1..256", "seq_len": "1..2048", "kwh_price": "0.05 USD/kWh..0.3 USD/kWh:32"}


@pytest.mark.parametrize("workers, shards", [(1, 1), (1, 8), (3, 5)])
def test_workers_of_branch_and_bound_find_the_one_best_point(batch, workers, shards):
    question = dict(minimize="cost_per_token", subject_to=["ttft <= 2 s"], strategy="branch-and-bound")
    alone = batch.optimize(BIG, **question)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        both = batch.optimize(BIG, executor=pool, shards=shards, **question)
    assert both.exactness == alone.exactness == "proven"
    assert both.best[0].index == alone.best[0].index and both.best[0].objectives == alone.best[0].objectives


def test_a_shard_that_knows_the_best_value_looks_at_less(batch):
    from mlsysim import arguments, scale

    question = (arguments._axes(BIG), [("minimize", "cost_per_token")], ["ttft <= 2 s"], [], 1, None, False)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        best, (_, points) = scale.bounded(pool, batch, question, shards=8)
    apart = [batch._core.bounded(*question, part, 8, float("inf")) for part in range(1, 9)]
    assert best == min(tuple(found[:2]) for found in apart)
    assert points < 0.6 * sum(found[3] for found in apart)


def test_nothing_feasible_is_said_by_bounds_too(chat):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answer = chat.optimize(AXES, minimize="itl", subject_to=["itl <= 1 us"], executor=pool, strategy="branch-and-bound")
    assert not answer.best and answer.exactness == "proven"


def test_dask_with_a_worker_that_is_killed(chat):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install distributed")
    alone = chat.sweep(AXES, ["itl"])
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        pids = list(client.run(os.getpid).values())
        killed = []

        def kill_one(*_):
            if not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        same(alone, chat.sweep(AXES, ["itl"], executor=client, shards=12, progress=kill_one))
        assert killed


def test_ray_computes_the_same(chat, monkeypatch):
    """One local node of one worker, without its dashboard: what Ray needs to start at all."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    try:
        try:
            ray.init(num_cpus=1, include_dashboard=False, object_store_memory=80_000_000, _temp_dir=f"/tmp/mlsysim-ray-{os.getpid()}",
                     logging_level="error", log_to_driver=False)
        except Exception as error:  # it gives its own processes 30 s, which are not enough on a busy machine
            pytest.skip(f"Ray does not start here: {error}")
        seen = []
        same(chat.sweep(AXES, ["itl", "ttft"]), chat.sweep(AXES, ["itl", "ttft"], executor=ray, shards=5, progress=lambda *p: seen.append(p)))
        assert len(seen) == 5 and seen[-1][0] == seen[-1][1]
        question = dict(minimize="cost_per_token", subject_to=["itl <= 30 ms"])
        alone = chat.optimize(AXES, strategy="exhaustive", **question)
        assert chat.optimize(AXES, executor=ray, **question).state == alone.state
        bounded = chat.optimize(AXES, executor=ray, strategy="branch-and-bound", **question)
        assert bounded.best[0].index == alone.best[0].index and bounded.exactness == "proven"
        with pytest.raises(mlsysim.errors.LookupError):
            chat.sweep(AXES, ["no_such_result"], executor=ray)
    finally:
        ray.shutdown()
        shutil.rmtree(f"/tmp/mlsysim-ray-{os.getpid()}", ignore_errors=True)


def test_arrow_has_units_and_the_digest(chat, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    rows = chat.sweep(AXES, ["itl"])
    table = pa.table(rows)
    assert table.schema.field("itl [ms]").metadata == {b"unit": b"ms"}
    assert table.schema.metadata[b"mlsysim.digest"].decode() == rows.digest
    path = rows.to_parquet(tmp_path / "rows", partition_by="tp_size")
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    count = duckdb.sql(f"select count(*) from read_parquet('{path}/**/*.parquet', hive_partitioning = true)").fetchall()
    assert count == [(len(rows),)]
