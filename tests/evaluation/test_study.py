import signal
import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from shaketable.core.errors import InputError
from shaketable.corruptions.suites.suite import suite
from shaketable.data.arrays import make_dataset
from shaketable.evaluation import study as study_module
from shaketable.evaluation.store import Store
from shaketable.evaluation.study import study
from shaketable.metrics import series
from shaketable.separations.separation import separation

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(100, 2))
DATA = make_dataset(X, np.where(X[:, 0] + 0.1 * np.sin(9 * X[:, 1]) > 0.5, "right", "left"))
MODELS = {"tree": DecisionTreeClassifier(), "1nn": KNeighborsClassifier(1)}
OPTIONS = {"train_eps": [0, 0.01], "test_eps": [0, 0.05], "k": 3, "runs": 4}


class Spy(KNeighborsClassifier):
    """A model that remembers what it was trained on."""

    seen: ClassVar[list[np.ndarray]] = []

    def fit(self, x, y):
        Spy.seen.append(np.array(x))
        return super().fit(x, y)


def hits(records):
    return [cell.hits.tolist() for cell in records]


def test_every_level_is_measured_in_every_run():
    records = study(DATA, MODELS, **OPTIONS)
    # test levels: 0, 0.05 and eps_min, which MSCR needs
    assert len(records) == 4 * 2 * 2 * 3
    found = series(records)
    assert len(found) == 2 * 2 * 3
    assert {s.runs for s in found} == {4}
    assert sum(s.at_eps_min for s in found) == 4
    runs = [c.points.rows.tolist() for c in found[0].noisy]
    assert len({tuple(r) for r in runs}) == 4  # a run draws a new split
    assert {len(r) for r in runs} == {20}


def test_workers_and_order_of_models_change_nothing():
    one = study(DATA, MODELS, n_jobs=1, **OPTIONS)
    two = study(DATA, dict(reversed(MODELS.items())), n_jobs=2, **OPTIONS)
    assert {c.key: c.hits.tolist() for c in one} == {c.key: c.hits.tolist() for c in two}


def test_a_stopped_study_goes_on_and_ends_with_the_same_numbers(tmp_path):
    path = tmp_path / "s.sqlite"
    want = hits(study(DATA, MODELS, **OPTIONS))
    study(DATA, MODELS, store=path, **{**OPTIONS, "runs": 2})
    with Store(path) as store:
        half = {c.key: c.seconds for c in store.records()}
    assert hits(study(DATA, MODELS, store=path, **OPTIONS)) == want
    with Store(path) as store:
        whole = {c.key: c.seconds for c in store.records()}
    assert len(whole) == 2 * len(half)
    assert half.items() <= whole.items()  # not measured again


def test_what_is_on_record_is_not_trained_again(tmp_path):
    path = tmp_path / "s.sqlite"
    study(DATA, {"spy": Spy(1)}, store=path, **OPTIONS)
    trained = len(Spy.seen)
    study(DATA, {"spy": Spy(1)}, store=path, **OPTIONS)
    assert len(Spy.seen) == trained
    study(DATA, {"spy": Spy(1)}, store=path, **{**OPTIONS, "runs": 5})
    assert len(Spy.seen) == trained + 2


def test_every_run_has_its_own_training_randomness_and_bounds_hold_in_training():
    class Seeds(Spy):
        seeds: ClassVar[list[int]] = []

        def __init__(self, n_neighbors=1, random_state=None):
            super().__init__(n_neighbors)
            self.random_state = random_state

        def fit(self, x, y):
            Seeds.seeds.append(self.random_state)
            return super().fit(x, y)

    study(DATA, {"seeds": Seeds()}, **{**OPTIONS, "train_eps": [0.3]}, bounds=(0, 1))
    assert len(set(Seeds.seeds)) == 4
    assert min(x.min() for x in Spy.seen[-4:]) == 0
    assert max(x.max() for x in Spy.seen[-4:]) == 1


KILLED = """
import signal, sys
from shaketable import study
from shaketable.evaluation.store import Store

add, added = Store.add, []
def add_and_wind_up(*args, **options):
    added.append(add(*args, **options))
    if len(added) == 4:  # it kills this process after so much work, however busy the machine is
        signal.setitimer(signal.ITIMER_PROF, 0.008)
Store.add = add_and_wind_up
study("bands(n=60)", "1nn", train_eps=[0, 0.01], test_eps=[0], k=1, runs=25, store=sys.argv[1])
"""


def test_killed_at_any_moment_nothing_is_lost(tmp_path):  # nor interrupted: see tests/cli
    path = tmp_path / "s.sqlite"
    process = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert process.returncode == -signal.SIGPROF
    assert 6 <= _count(path) < 100
    options = {"train_eps": [0, 0.01], "test_eps": [0], "k": 1, "runs": 25}
    records = study("bands(n=60)", "1nn", **options, store=path)
    assert len(records) == 25 * 2 * 2
    assert hits(records) == hits(study("bands(n=60)", "1nn", **options))


def _count(path):
    try:
        with Store(path, must_exist=True) as store:
            return len(store.keys())
    except (OSError, ValueError):
        return 0


def test_training_noise_is_used_and_shared_draws_are_shared():
    seen = Spy.seen = []
    options = {"train_eps": [0.1], "test_eps": [0], "k": 3, "runs": 1}
    study(DATA, {"spy": Spy(1)}, **options)
    rows, _ = DATA.parts()
    delta = seen[0].reshape(80, 3, 2) - X[rows][:, None]
    assert np.abs(delta).max() <= 0.1 + 1e-12
    assert np.unique(delta.round(12)).size == delta.size  # independent for every point
    study(DATA, {"spy": Spy(1)}, draws="shared", **options)
    delta = seen[1].reshape(80, 3, 2) - X[rows][:, None]
    np.testing.assert_allclose(delta, np.broadcast_to(delta[:1], delta.shape), atol=1e-12)


def test_studies_of_several_kinds_can_share_a_store(tmp_path):
    path = tmp_path / "s.sqlite"
    options = {"train_eps": [0, 0.05], "test_eps": [0], "runs": 3, "store": path}
    kinds = ("independent", "shared")
    alone = [study(DATA, "1nn", draws=d, **options | {"store": None}) for d in kinds]
    together = [study(DATA, "1nn", draws=d, **options) for d in kinds]
    for one, two in zip(alone, together, strict=True):
        assert hits(one) == hits(two)
        assert len(series(one)) == len(series(two)) == 4
    with Store(path) as store:
        found = series(store.records())
    assert len(found) == 8
    assert {s.runs for s in found} == {3}


def test_estimators_may_come_alone_or_in_a_list():
    assert study(DATA, KNeighborsClassifier(1), runs=1).models == ["KNeighborsClassifier"]
    listed = study(DATA, [KNeighborsClassifier(2), "1nn"], runs=1)
    assert listed.models == ["KNeighborsClassifier", "1nn"]


def test_a_fixed_split_is_kept():
    data = make_dataset(X, DATA.labels, n_train=70)
    records = study(data, "1nn", runs=2)
    assert {tuple(c.points.rows) for c in records} == {tuple(range(70, 100))}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": 0}, "runs must be"),
        ({"train_eps": [-1]}, "epsilon must be"),
        ({"train_eps": []}, "at least one level"),
        ({"n_jobs": 0}, "n_jobs must not"),
        ({"models": {}}, "at least one model"),
        ({"models": {"a": KNeighborsClassifier(), "b": KNeighborsClassifier()}}, "must differ"),
        ({"models": "rff"}, "did you mean 'rf'"),
        ({"norm": "x"}, "norm must be"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        study(DATA, options.pop("models", "1nn"), **options)


def test_a_model_that_fails_is_named():
    class Broken(KNeighborsClassifier):
        def fit(self, x, y):
            raise ValueError("no luck")

    with pytest.raises(
        InputError,
        match="training with clean, run 0: model broken could not be trained: ValueError: no luck",
    ):
        study(DATA, {"broken": Broken()}, runs=1)


class Committee(KNeighborsClassifier):
    """A model that can be iterated."""

    def __iter__(self):
        return iter([DecisionTreeClassifier(), KNeighborsClassifier(1)])


def test_a_model_that_can_be_iterated_is_one_model():
    assert {c.model for c in study(DATA, Committee(1), **OPTIONS)} == {"Committee"}


def test_a_network_is_one_model_that_cannot_be_trained_here():
    nn = pytest.importorskip("torch", reason="torch is not installed").nn
    layers = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))
    for models, name in ((layers, "Sequential"), (nn.Linear(2, 2), "Linear"), (5, "int")):
        with pytest.raises(InputError, match=f"^model {name} cannot be trained here: .*evaluate$"):
            study(DATA, models, **OPTIONS)


def test_records_come_by_run_model_training_and_test_noise():
    records = study(DATA, MODELS, **OPTIONS | {"runs": 2})
    cells = [(c.run, c.model, c.train, c.corruption) for c in records]
    eps_min = separation(DATA).epsilon_min
    assert cells == [
        (run, model, train, test)
        for run in (0, 1)
        for model in ("tree", "1nn")
        for train in ("clean", "linf(0.01)")
        for test in ("clean", "linf(0.05)", f"linf({eps_min!r})")
    ]


def test_libraries_and_training_noise_are_part_of_the_identity(monkeypatch):
    def identify(**options):
        records = study(DATA, "1nn", **OPTIONS | {"runs": 1, "test_eps": [0]} | options)
        return {(c.model_id, c.key) for c in records}

    first = identify()
    assert first == identify()
    assert not first & identify(seed=1)
    assert not first & identify(k=4)
    assert not first & identify(train_eps=[0.02])
    versions = study_module.list_versions() | {"scikit-learn": "0.0"}
    monkeypatch.setattr(study_module, "list_versions", lambda *_: versions)
    assert not first & identify()


def test_k_is_that_of_suites_too_if_it_is_given():
    options = {"train_eps": [0], "corruptions": [suite("ice"), "linf(0.1)"], "runs": 1}
    for k, expected in ((None, {"l2": 1, "linf(0.1)": 10}), (3, {"l2": 3, "linf(0.1)": 3})):
        records = study(DATA, KNeighborsClassifier(1), k=k, bounds=(-1, 2), **options)
        counts = {c.corruption: c.k for c in records}
        assert counts["linf(0.1)"] == expected["linf(0.1)"]
        assert {n for spec, n in counts.items() if spec.startswith("l2(")} == {expected["l2"]}


def test_models_with_long_names_are_kept(tmp_path):
    noise = " | ".join(f"linf({size})" for size in np.linspace(0.1, 0.2, 20))
    options = {"corruptions": ["linf(0.1)"], "k": 1, "n_jobs": 1, "keep_models": tmp_path}
    study(DATA, MODELS["tree"], train=[noise, f"{noise} | l2(1)", "clean"], runs=2, **options)
    study(DATA, MODELS["tree"], train_eps=[0.1], runs=1, **options)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 7
    assert max(map(len, names)) <= 143
    starts = [name.rpartition(",_")[0] for name in names]
    assert "DecisionTreeClassifier(clean),_run_1" in starts
    assert "DecisionTreeClassifier,_linf(0.1),_run_0" in starts


def test_models_on_record_are_trained_again_for_files_that_are_missing(tmp_path):
    store, folder = tmp_path / "s.sqlite", tmp_path / "models"
    options = {"train": ["clean"], "corruptions": ["linf(0.1)"], "runs": 2, "n_jobs": 1}
    first = study(DATA, MODELS["tree"], **options, store=store)
    later = study(DATA, MODELS["tree"], **options, store=store, keep_models=folder)
    (note,) = later.notes
    assert note.startswith(f"models trained again, because their files were not in {folder}: 2;")
    assert hits(first) == hits(later)
    kept = sorted(folder.iterdir())
    kept[0].unlink()
    last = study(DATA, MODELS["tree"], **options, store=store, keep_models=folder)
    assert last.notes[0].endswith(": 1; their results are on record")
    assert sorted(folder.iterdir()) == kept
    assert study(DATA, MODELS["tree"], **options, store=store, keep_models=folder).notes == ()
