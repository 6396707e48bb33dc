"""The same results on a real cluster as here, also if a worker is killed."""

import os
import sys

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import shaketable as st
from helpers.workers import MortalTree, Pair, SickTree, Sum
from shaketable.cli.main import main
from shaketable.core.errors import InputError, ModelError, WorkerError
from shaketable.core.workers import dask_backend, packing
from shaketable.core.workers.tasks import BACKENDS, on_cluster, run_tasks, use_cluster
from shaketable.separations.search import blocks

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(100, 2))
DATA = st.make_dataset(X, np.where(X[:, 0] > 0.5, "right", "left"))
OPTIONS = {"train_eps": [0, 0.01], "test_eps": [0.05], "k": 2, "runs": 3}


def hits(records):
    return [(cell.key, cell.hits.tolist()) for cell in records]


@pytest.fixture(scope="module")
def scheduler():
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    backend = dask_backend.DaskBackend(None, 2)
    yield backend._cluster.scheduler_address
    backend.close()


@pytest.fixture
def dask(scheduler):
    with st.cluster("dask", scheduler) as backend:
        yield backend


@pytest.fixture
def ray(monkeypatch):
    pytest.importorskip("ray", reason="Ray is not installed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # for the helpers of tests
    with st.cluster("ray", workers=2) as backend:
        yield backend


def check_study(tmp_path):
    models = {"mortal": MortalTree(str(tmp_path / "mark")), "1nn": "1nn"}
    there = st.study(DATA, models, **OPTIONS)
    assert (tmp_path / "mark").exists(), "a worker was killed"
    assert there.failures == ()
    with st.cluster("joblib", workers=1):
        assert hits(there) == hits(st.study(DATA, models, **OPTIONS))


def test_a_study_with_a_killed_worker_on_ray(ray, tmp_path):
    check_study(tmp_path)


def test_a_study_with_a_killed_worker_on_dask(dask, tmp_path):
    check_study(tmp_path)


def test_results_and_errors_come_one_by_one(dask):
    data = np.ones(5, int)
    outcomes = list(run_tasks(Sum(data, number) for number in range(20)))
    assert sorted(o.get() for o in outcomes if o.error is None) == [
        5 + i for i in range(20) if i != 3
    ]
    (failed,) = (o for o in outcomes if o.error is not None)
    with pytest.raises(WorkerError, match="sum 3: ValueError: no 3"):
        failed.get()
    stopped = run_tasks(Sum(data, number) for number in iter(int, 1))  # without end
    assert next(stopped).get() == 5
    stopped.close()


def test_every_task_has_the_data_of_its_own_objects(dask):
    arrays = [np.full(3, 10 * i) for i in range(4)]
    tasks = [Sum(arrays[i], 10 * j + i) for i in (2, 0, 1) for j in range(1, 4)]
    results = {o.task.number: o.get() for o in run_tasks(tasks)}
    assert results == {10 * j + i: 30 * i + 10 * j + i for i in range(3) for j in range(1, 4)}


def test_objects_are_told_apart_though_others_were_where_they_are():
    sent = packing.Sent()
    for number in range(10, 60):  # freed memory is used again for the next array
        task = Sum(np.full(3, number), number)
        (handle,) = sent.share(task, np.copy)
        assert packing.work_packed(packing.pack(task), [handle]).result == 4 * number
    again = Sum(np.full(3, 5), 1)
    handles = iter(["first", "second"])
    shared = [sent.share(again, lambda _: next(handles)) for _ in range(2)]
    assert shared == [["first"], ["first"]], "an object is sent once"


def test_several_shared_objects_keep_their_places():
    task = Pair(np.full(3, 2), np.full(3, 5))
    packed = packing.pack(task)
    assert packing.work_packed(packed, task.shared).result == 6 - 15
    assert packing.work_packed(packed, (np.ones(1), np.zeros(1))).result == 1


def test_data_that_are_lost_are_sent_again(dask):
    data = np.ones(6, int)
    assert next(run_tasks([Sum(data, 0)])).get() == 6
    dask._sent.handles[id(data)][1].cancel()
    assert [o.get() for o in run_tasks([Sum(data, 1)])] == [7]


def test_a_task_whose_data_are_lost_every_time_is_given_up(dask, monkeypatch):
    monkeypatch.setattr(dask_backend, "_TRIES", 3)
    submit, sent = dask._submit, []

    def lose(task):
        future = submit(task)
        sent.append(task.number)
        future.cancel()
        return future

    monkeypatch.setattr(dask, "_submit", lose)
    (outcome,) = run_tasks([Sum(np.ones(6, int), 1)])
    assert sent == [1] * 3
    with pytest.raises(WorkerError, match="sum 1: its worker was lost 3 times, with the data"):
        outcome.get()


def test_many_models_an_adversary_and_a_separation_on_dask(dask, monkeypatch):
    trees = {f"tree {d}": DecisionTreeClassifier(max_depth=d).fit(X, DATA.labels) for d in (1, 2)}
    noise, sizes = ["linf(0.1)", "l2(0.2)"], [0.05, 0.2]
    x, y = RNG.uniform(size=(700, 20)), RNG.integers(0, 3, 700)
    monkeypatch.setattr(blocks, "_BLOCK", 256)

    def compute():
        found = st.separation(x, y, norm=2)
        worst = st.worst_case(trees["tree 2"], DATA, sizes, attacks="random(queries=20)")
        return hits(st.evaluate(trees, DATA, noise)), worst.json(), found.opponent.tolist()

    there = compute()
    with st.cluster("joblib", workers=1):
        here = compute()
    assert there == here


@pytest.mark.parametrize("backend", ["joblib", "dask"])
def test_a_failed_cell_is_recorded_and_tried_again(request, tmp_path, capsys, backend):
    cure, store = tmp_path / "cure", tmp_path / "r.sqlite"
    address = request.getfixturevalue("scheduler") if backend == "dask" else None
    models = {"sick": SickTree(str(cure)), "1nn": "1nn"}

    def run():
        with st.cluster(backend, address, workers=1):
            return st.study(DATA, models, **OPTIONS, store=store)

    found = run()
    assert sorted(f.error for f in found.failures) == [
        f"training with linf(0.01), run {run}: model sick could not be trained: ValueError: no "
        "luck; correct it"
        for run in range(3)
    ]
    assert len(found) == 3 * 3 * 3  # three levels in three runs; one training of four failed
    with st.Store(store, must_exist=True) as kept:
        assert kept.records().failures == found.failures
    assert main(["report", str(store)]) == 0
    assert "failed: training with linf(0.01), run 0" in capsys.readouterr().err
    cure.touch()
    again = run()
    assert again.failures == ()
    assert len(again) == 4 * 3 * 3
    with st.Store(store, must_exist=True) as kept:
        assert kept.records().failures == ()


def test_a_study_that_only_fails_stops(tmp_path):
    class Broken(DecisionTreeClassifier):
        trained = 0

        def fit(self, x, y):
            Broken.trained += 1
            raise ValueError("no luck")

    with pytest.raises(ModelError, match="training with linf\\(0.01\\), run 0"):
        st.study(DATA, {"broken": Broken()}, train_eps=[0.01], k=1, runs=20, n_jobs=1)
    assert Broken.trained == 3


def test_a_task_travels_without_what_it_shares():
    pytest.importorskip("cloudpickle", reason="no backend is installed")
    task = Sum(np.zeros(100_000), 5)
    packed = packing.pack(task)
    assert len(packed.content) < 1000
    assert packing.work_packed(packed, task.shared) == packing.Reply(5, None)
    other = packing.Packed(packed.content, packed.versions | {"numpy": "0.1"}, False)
    error = packing.work_packed(other, task.shared).error
    assert "a worker has numpy" in str(error)
    assert "0.1 is needed" in str(error)
    damaged = packing.Packed(b"", packed.versions, False)
    assert "could not read its task" in str(packing.work_packed(damaged, ()).error)


def test_a_model_that_cannot_be_sent_is_refused(dask):
    with pytest.raises(InputError, match="sum 1: cannot be sent to a worker"):
        list(run_tasks([Sum((i for i in range(3)), 1)]))


def test_a_cluster_that_is_not_there_is_an_error_in_one_line(capsys, monkeypatch):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    monkeypatch.setattr(dask_backend, "_PATIENCE", 0.2)
    argv = ["study", "--data", "iris", "--model", "1nn", "--runs", "1", "--quiet"]
    for flags, code, message in (
        (["--cluster", "dask=tcp://127.0.0.1:9"], 4, "no Dask cluster at"),
        (["--cluster", "joblib=here"], 2, "joblib has no address"),
        (["--cluster", "dusk"], 2, "did you mean 'dask'"),
    ):
        assert main([*argv, *flags]) == code
        err = capsys.readouterr().err
        assert message in err
        assert err.count("\n") == 1


def test_backends_are_listed():
    assert list(BACKENDS)[:3] == ["joblib", "dask", "ray"]


@pytest.mark.parametrize(
    ("named", "workers", "want"),
    [
        ("joblib", 3, ("joblib", None, 3)),
        ("dask=tcp://there:1", None, ("dask", "tcp://there:1", -1)),
        ("ray=", -1, ("ray", None, -1)),
    ],
)
def test_a_named_cluster_gets_its_address_and_its_workers(monkeypatch, named, workers, want):
    class Recorded:
        def __init__(self, *arguments):
            made.append(arguments)

        def close(self):
            made.append("closed")

    made = []
    monkeypatch.setattr(BACKENDS, "get", lambda name: lambda *rest: Recorded(name, *rest))
    with use_cluster(named, workers):
        assert on_cluster()
        assert made == [want]
    assert not on_cluster()
    assert made == [want, "closed"]
