"""Models that a study trains: their names, files, bounds and noise."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from shaketable.core.errors import InputError
from shaketable.core.keys import digest
from shaketable.corruptions import Clean, parse
from shaketable.corruptions.corruption import noisy_copies
from shaketable.data.arrays import make_dataset
from shaketable.data.bounds import Bounds
from shaketable.evaluation.noise import Noise
from shaketable.evaluation.trainees import (
    ModelFiles,
    TrainingNoise,
    choose_training_bounds,
    list_notes,
    load_trainees,
    make_file_name,
    train_model,
)
from shaketable.models.fitting import clone_seeded

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(40, 2))
DATA = make_dataset(X, (X[:, 0] > 0.5).astype(int), bounds=(0, 1))


class Network:
    """Stands for a model that trains itself."""

    def __init__(self, rule="clip", notes=(), bound=None):
        self.rule, self.notes, self.bound = rule, notes, bound

    identity = "n"

    def name_noise(self, noise, data, bounds):
        return noise

    def train_on(self, data, rows, **options):
        return rows, options

    def for_data(self, data):
        return Network(self.rule, self.notes, data.name)


def test_files_of_models_and_checkpoints(tmp_path):
    store = tmp_path / "s.sqlite"
    files = ModelFiles(tmp_path / "models", store)
    assert files.find_checkpoint("abc") == tmp_path / "s.sqlite.training" / "abc.pt"
    tree = files.find_model(DecisionTreeClassifier(), "rf, linf(0.1)", 3, "0123456789abcdef")
    assert tree == tmp_path / "models" / "rf,_linf(0.1),_run_3,_01234567.joblib"
    assert files.find_model(Network(), "n", 0, "x" * 16).suffix == ".pt"
    nowhere = ModelFiles(None, None)
    assert nowhere.find_checkpoint("abc") is None
    assert nowhere.find_model(Network(), "n", 0, "x") is None
    nowhere.remove_folder()
    assert ModelFiles(None, tmp_path / "no" / "s.sqlite").find_checkpoint("abc") is None
    folder = tmp_path / "s.sqlite.training"
    folder.mkdir()
    (folder / "abc.pt").touch()
    files.remove_folder()
    assert folder.exists(), "a training goes on from what it holds"
    (folder / "abc.pt").unlink()
    files.remove_folder()
    assert not folder.exists()
    files.remove_folder()


def test_names_of_files_have_signs_that_all_disks_take():
    assert make_file_name('a/b:c|d "e"*?<f>\\') == "a_b_c_d__e____f__"
    assert make_file_name("Äb-1_.,()=+") == "Äb-1_.,()=+"
    long = make_file_name("ä" * 99)
    assert len(long.encode()) == 100
    assert set(long) == {"ä"}
    assert len(make_file_name("xä" + "ä" * 99).encode()) == 99, "no half of a sign"


def test_models_are_named_and_get_what_the_data_decide():
    trainees = load_trainees([KNeighborsClassifier(1), "rf", Network()], DATA, trust=False)
    assert list(trainees) == ["KNeighborsClassifier", "rf", "Network"]
    assert trainees["Network"].bound == DATA.name
    assert hasattr(trainees["rf"], "fit")
    named = load_trainees({"a": Network(), "b": "1nn"}, DATA, trust=False)
    assert named["a"].bound == DATA.name
    with pytest.raises(InputError, match="two are called 'KNeighborsClassifier'"):
        load_trainees([KNeighborsClassifier(1), KNeighborsClassifier(2)], DATA, trust=False)
    assert list(load_trainees(["rf", "rf"], DATA, trust=False)) == ["rf"]


def test_notes_of_networks_come_once():
    models = [Network(notes=("x", "y")), KNeighborsClassifier(), Network(notes=("y", "z"))]
    data = make_dataset([[0.0], [1.0]], [0, 1])
    assert list_notes(dict(zip("abc", models, strict=True)), data) == ["x", "y", "z"]


def test_the_rule_of_networks_decides_the_bounds_unless_they_are_given():
    tree, cut = DecisionTreeClassifier(), Network("truncate")
    given = Bounds(0, 1, "clip")
    for trainees, bounds, expected in (
        ([tree], "declared", Bounds(0, 1)),
        ([tree, cut], "declared", Bounds(0, 1, "truncate")),
        ([cut], (-1, 2), Bounds(-1, 2, "truncate")),
        ([cut], given, given),
        ([cut, Network()], given, given),
        ([cut], None, None),
        ([Network()], (-1, 2), Bounds(-1, 2)),
    ):
        assert choose_training_bounds(DATA, bounds, trainees) == expected
    with pytest.raises(InputError, match="by the same rule, got clip and truncate; choose one"):
        choose_training_bounds(DATA, "declared", [cut, Network()])


class Spy(KNeighborsClassifier):
    def __init__(self, n_neighbors=1, random_state=None):
        super().__init__(n_neighbors)
        self.random_state = random_state

    def fit(self, x, y):
        self.seen_ = np.array(x), np.array(y)
        return super().fit(x, y)


@pytest.mark.parametrize(("run", "seed"), [(0, 0), (2, 0), (0, 5)])
def test_estimators_are_trained_on_noisy_copies_with_their_own_seed(run, seed):
    rows = np.arange(5, 25)
    noise = Noise(k=3, seed=seed, run=run, bounds=Bounds(0, 1))
    place = {"name": "spy", "checkpoint": None, "place": 0}
    corruption = parse("linf(0.4)")
    spec = TrainingNoise(corruption.spec, corruption)
    spy = train_model(Spy(), spec, DATA, rows, noise, **place)
    keys = noise.keys(DATA, corruption, rows, np.arange(3))
    expected = noisy_copies(corruption.bind(noise.bounds), X[rows], keys)
    np.testing.assert_array_equal(spy.seen_[0], expected)
    assert spy.seen_[0].min() == 0
    assert spy.seen_[0].max() == 1
    np.testing.assert_array_equal(spy.seen_[1], np.repeat(DATA.labels[rows], 3))
    seeded = clone_seeded(Spy(), digest("fit", run, seed), name="spy")
    assert spy.random_state == seeded.random_state
    plain = train_model(Spy(), TrainingNoise("clean", Clean()), DATA, rows, noise, **place)
    np.testing.assert_array_equal(plain.seen_[0], X[rows])
    own, options = train_model(
        Network(), TrainingNoise("C1", None), DATA, rows, noise, name="n", checkpoint="c", place=7
    )
    np.testing.assert_array_equal(own, rows)
    assert options == {
        "noise": "C1",
        "bounds": noise.bounds,
        "seed": digest("fit", run, seed),
        "checkpoint": "c",
        "place": 7,
    }
