"""Networks in studies: trained in every run and regime, resumed, kept."""

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from sklearn.tree import DecisionTreeClassifier  # noqa: E402

from shaketable import evaluate, find, harden, make_dataset, study, suite  # noqa: E402
from shaketable.core.errors import InputError, ShaketableError  # noqa: E402
from shaketable.corruptions import Suite  # noqa: E402
from shaketable.data.bounds import Bounds  # noqa: E402
from shaketable.evaluation.evaluate import check_complete  # noqa: E402
from shaketable.models.loading import load_model  # noqa: E402
from shaketable.models.networks import load_network  # noqa: E402
from shaketable.training import UntrainedNetwork, train  # noqa: E402
from shaketable.training.loop import Checkpoint  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(100, 2))
POINTS = make_dataset(X, np.where(X[:, 0] > 0.5, "right", "left"), bounds=(0, 1), name="halves")
NETWORK = UntrainedNetwork("mlp(width=4, depth=1)", "points", epochs=2)


def table(records):
    return {(c.model, c.train, c.corruption, c.run): c.hits.tolist() for c in records}


def test_sizes_of_training_noise_make_the_published_matrix():
    records = study(POINTS, NETWORK, train_eps=[0, 0.1], test_eps=[0, 0.2], runs=2, k=2)
    assert {c.model for c in records} == {NETWORK.name}
    assert {c.train for c in records} == {"clean", "linf(0.1)"}
    assert len(records) == 2 * 2 * 3
    found = find(records)
    assert {entry["train_eps"] for entry in found.json()["cells"]} == {0, 0.1}


def test_regimes_and_suites_go_through_studies():
    models = {"mlp": NETWORK, "tree": DecisionTreeClassifier()}
    records = study(
        POINTS, models, train=["clean", "l2(0.1) | linf(0.1)"], corruptions=[suite("ice")], runs=2
    )
    assert {c.model for c in records} == {
        f"{name}({regime})" for name in models for regime in ("clean", "l2(0.1) | linf(0.1)")
    }
    clean = [c for c in records if c.corruption == "clean"]
    assert len(clean) == 2 * 2 * 2
    assert len(records) == len(clean) * 7  # of six noises, without eps_min
    found = find(records)
    assert {entry["model"] for entry in found.json()["suites"]} == {c.model for c in records}


def test_every_run_has_other_weights_and_workers_change_nothing():
    options = {"train": ["linf(0.1)"], "corruptions": ["linf(0.2)"], "runs": 2}
    one = study(POINTS, NETWORK, n_jobs=1, **options)
    two = study(POINTS, NETWORK, n_jobs=2, **options)
    assert table(one) == table(two)
    assert len({c.model_id for c in one}) == 2


def test_trainings_use_one_core_wherever_they_run(monkeypatch):
    threads = []

    def spy(*args, **options):
        threads.append(torch.get_num_threads())
        return train(*args, **options)

    monkeypatch.setattr("shaketable.training.trained.train", spy)
    torch.set_num_threads(2)  # the fixture puts it back
    study(POINTS, NETWORK, train=["clean"], corruptions=["linf(0.1)"], runs=1, n_jobs=1)
    options = {"noise": "linf(0.1)", "target": "linf(0.1)", "runs": 1, "search_runs": 1}
    found = harden(POINTS, NETWORK, n_jobs=1, **options)
    (first,) = evaluate(found.plain.model, found.workshop.data, [])
    assert first.accuracy == found.plain_test.clean.value
    assert set(threads) == {1}
    assert torch.get_num_threads() == 2


TABLE = pd.DataFrame({"size": X[:, 0], "colour": np.where(X[:, 1] > 0.5, "red", "blue")})


@pytest.mark.parametrize(
    ("data", "network", "regime", "message"),
    [
        (POINTS, NETWORK, "TA + linf(0.1)", "trivialaugment is for images, got points of 2 values"),
        (X, NETWORK, "sp(0.1)", r"sp\(0.1\) needs a finite value range"),
        (9 * X.reshape(50, 2, 2), NETWORK, "TA + pgd_at(0.1)", "needs a finite value range"),
        (POINTS, UntrainedNetwork("resnet9(width=4)"), "linf(0.1)", "resnet9 needs images of at"),
        (TABLE, NETWORK, "linf(0.1)", "plain numbers, got a table of several kinds"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_any_training(
    monkeypatch, data, network, regime, message
):
    monkeypatch.setattr(
        "shaketable.training.trained.train", lambda *_, **__: pytest.fail("trained")
    )
    data = data if data is POINTS else make_dataset(data, np.arange(len(data)) % 2)
    with pytest.raises(InputError, match=message):
        study(data, network, train=["clean", regime], corruptions=["linf(0.1)"], n_jobs=1)
    with pytest.raises(InputError, match=message):
        harden(data, network, noise=["linf(0.01)", regime], target="linf(0.1)", n_jobs=1)


def test_training_that_diverges_is_not_to_be_tried_again():
    options = {"corruptions": ["linf(0.1)"], "bounds": None, "runs": 1, "n_jobs": 1}
    records = study(POINTS, NETWORK, train=["clean", "linf(1e38)"], **options)
    (failure,) = records.failures
    assert str(failure).startswith("failed: training has diverged: its loss must be finite, got")
    assert "a smaller learning rate (rate=, or a Recipe)" in str(failure)
    with pytest.raises(ShaketableError, match="results are not complete: 1 failure") as error:
        check_complete(records)
    assert "same command" not in f"{error.value}{failure}"


@pytest.mark.parametrize("noise", [["linf(1e38)", "linf(0.1)"], [f"linf({i}e38)" for i in "1234"]])
def test_noise_with_which_training_diverges_is_no_candidate(noise, tmp_path):
    options = {"target": "linf(0.1)", "bounds": None, "runs": 1, "search_runs": 2, "k": 1}
    found = harden(POINTS, NETWORK, noise=noise, n_jobs=1, store=tmp_path / "s.sqlite", **options)
    good = [spec for spec in noise if spec == "linf(0.1)"]
    assert [candidate.noise for candidate in found.candidates] == good
    assert len(found.diverged) == len(noise) - len(good)
    assert found.json()["search"]["diverged"] == list(found.diverged)
    assert f"training diverged with {', '.join(found.diverged)}, so it is no" in found.verdict
    found.print()


def test_a_killed_study_goes_on_within_a_training(tmp_path, monkeypatch):
    options = {"train": ["clean", "linf(0.1)"], "corruptions": ["linf(0.2)"], "runs": 2}
    expected = table(study(POINTS, NETWORK, **options))
    store = tmp_path / "s.sqlite"

    def save_and_stop(self, trainer):
        self.save(trainer)
        if trainer.done == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save_if_due", save_and_stop)
        with pytest.raises(KeyboardInterrupt):
            study(POINTS, NETWORK, store=store, n_jobs=1, **options)
    (checkpoint,) = (tmp_path / "s.sqlite.training").iterdir()
    steps = []

    def count(self, trainer):
        steps.append(trainer.done)

    monkeypatch.setattr(Checkpoint, "save_if_due", count)
    resumed = study(POINTS, NETWORK, store=store, n_jobs=1, **options)
    assert steps[0] == 4
    assert table(resumed) == expected
    assert not checkpoint.parent.exists()


def test_a_training_that_ends_does_not_disturb_others(tmp_path, monkeypatch):
    options = {"train": ["clean"], "corruptions": ["linf(0.2)"], "runs": 1, "n_jobs": 1}
    store = tmp_path / "s.sqlite"

    def save_after_another_study(self, trainer):
        with monkeypatch.context() as patch:
            patch.setattr(Checkpoint, "save_if_due", Checkpoint.save)
            study(POINTS, NETWORK, store=store, seed=1, **options)
        self.save(trainer)

    monkeypatch.setattr(Checkpoint, "save_if_due", save_after_another_study)
    assert study(POINTS, NETWORK, store=store, **options).failures == ()
    assert [path.name for path in tmp_path.iterdir()] == ["s.sqlite"]


@pytest.mark.parametrize("scale", [False, True])
def test_trained_models_are_kept_on_request(tmp_path, scale):
    raw = make_dataset(POINTS.x * [100, 1] - 7, POINTS.labels)
    data = raw.scaled() if scale else raw
    models = {"mlp": NETWORK, "tree": DecisionTreeClassifier()}
    records = study(data, models, train=["clean"], corruptions=[], runs=1, keep_models=tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    ids = {c.model: c.model_id[:8] for c in records}
    assert names == [
        f"mlp(clean),_run_0,_{ids['mlp(clean)']}.pt",
        f"tree(clean),_run_0,_{ids['tree(clean)']}.joblib",
    ]
    for name in names:
        model, _ = load_model(str(tmp_path / name), trust=name.endswith("joblib"))
        _, test = data.parts(run=0, seed=0)
        (clean,) = evaluate(model, (raw.x[test], raw.labels[test]), [])
        kept = next(c for c in records if c.model.startswith(name[:3]) and c.corruption == "clean")
        assert clean.accuracy == kept.accuracy


def test_models_of_other_trainings_are_not_overwritten_nor_taken_for_these(tmp_path):
    store, folder = tmp_path / "s.sqlite", tmp_path / "models"
    options = {"train": ["clean"], "corruptions": ["linf(0.1)"], "runs": 1, "n_jobs": 1}
    for epochs in (1, 3, 1):
        network = UntrainedNetwork("mlp(width=4, depth=1)", "points", epochs=epochs)
        records = study(POINTS, network, store=store, keep_models=folder, **options)
        (file,) = folder.glob(f"*{records.cells[0].model_id[:8]}.pt")
        assert load_network(file).info["recipe"]["epochs"] == epochs
    assert len(list(folder.iterdir())) == 2
    alike = {"m:1": DecisionTreeClassifier(max_depth=1), "m_1": DecisionTreeClassifier()}
    study(POINTS, alike, keep_models=folder, **options)
    assert len(list(folder.glob("m_1(clean)*"))) == 2


def test_identity_is_that_of_network_and_recipe():
    def identify(*args, **options):
        return UntrainedNetwork(*args, **options).identity

    first = identify("resnet9", "fast")
    assert first == identify("resnet9(width=64)", "fast", device="cpu")
    others = [
        identify("resnet9(width=8)", "fast"),
        identify("resnet9", "fast", epochs=3),
        identify("resnet9", "fast", batch=3),
        identify("resnet9", "fast", batch=512),  # the recipe's, but the same for few points
        identify("resnet9", "mscr-cifar"),
        identify("resnet9", "fast", shift=False),
    ]
    assert len({first, *others}) == 7
    assert first == "4164e7a8174e2932"  # results files hold it


def test_the_rule_of_a_recipe_is_for_training_and_sizes_not_for_named_noise(tmp_path):
    network = UntrainedNetwork("mlp(width=4, depth=1)", "mscr-cifar", epochs=1)

    def find_rules(**options):
        ladder = {"train_eps": [0.1], "corruptions": [Suite("one", "one size", ("l2(0.5)",), k=1)]}
        records = study(POINTS, **ladder | options, runs=1, k=1, n_jobs=1, keep_models=tmp_path)
        (file,) = tmp_path.glob(f"mlp*{records.cells[0].model_id[:8]}.pt")
        named = {c.corruption: c.setting.bounds.partition("[")[0] for c in records}
        return load_network(file).info["bounds"], named["linf(0.2)"], named["l2(0.5)"]

    given = {"test_eps": [0.2]}
    assert find_rules(models=network, **given) == ("truncate[0, 1]", "truncate", "clip")
    assert find_rules(models=network, bounds=(0, 1), **given)[:2] == ("truncate[0, 1]", "truncate")
    clipped = find_rules(models=network, bounds=Bounds(0, 1), **given)
    assert clipped == ("clip[0, 1]", "clip", "clip")
    with pytest.raises(InputError, match="by the same rule, got clip and truncate; choose one"):
        find_rules(models={"mlp": network, "other": NETWORK})


def test_without_a_recipe_studies_train_as_train_does(tmp_path):
    images = make_dataset(RNG.uniform(size=(40, 8, 8, 1)), np.arange(40) % 2, bounds=(0, 1))
    network = UntrainedNetwork("mlp(width=4, depth=1)", epochs=1)
    options = {"train": ["clean"], "corruptions": ["linf(0.1)"], "runs": 1, "n_jobs": 1}
    schedules = {}
    for data in (POINTS, images):
        folder = tmp_path / data.name
        study(data, network, **options, keep_models=folder)
        (file,) = folder.iterdir()
        both = load_network(file), train(network.network, data, rows=np.arange(32), epochs=1)
        schedules[data.d] = [trained.info["recipe"]["schedule"] for trained in both]
    assert schedules == {2: ["cosine"] * 2, 64: ["onecycle(0.2)"] * 2}
    assert UntrainedNetwork().for_data(POINTS).name == "mlp"


def test_networks_are_told_apart_by_their_options():
    networks = [UntrainedNetwork(f"mlp(width={width})", epochs=1) for width in (2, 128)]
    records = study(POINTS, networks, train=["clean"], corruptions=["linf(0.1)"], runs=1, n_jobs=1)
    assert {c.model for c in records} == {"mlp(width=2)(clean)", "mlp(clean)"}
    with pytest.raises(InputError, match="two are called 'mlp'; give a mapping"):
        study(POINTS, [networks[1], UntrainedNetwork("mlp", epochs=2)], runs=1)


def test_studies_start_from_weights_in_a_file(tmp_path):
    start = tmp_path / "start.pt"
    train("mlp(width=4, depth=1)", POINTS, epochs=1).save(start)
    network = UntrainedNetwork("mlp(width=4, depth=1)", "twofactor-alexnet", epochs=1)
    first = UntrainedNetwork(network.network, network.recipe, epochs=1, weights=start)
    identity = first.identity
    options = {"train": ["clean"], "corruptions": ["linf(0.1)"], "runs": 1, "n_jobs": 1}
    from_file = study(POINTS, first, **options, keep_models=tmp_path / "models")
    from_none = study(POINTS, network, **options)
    assert from_file.cells[0].model_id != from_none.cells[0].model_id
    assert from_file.notes == ()
    assert [note.partition(" (")[0] for note in from_none.notes] == [
        "the recipe is for trained weights, and none are given"
    ]
    (file,) = (tmp_path / "models").iterdir()
    info, before = load_network(file).info, start.read_bytes()
    train("mlp(width=4, depth=1)", POINTS, epochs=2).save(start)
    assert first.identity != identity
    start.write_bytes(before)
    assert (first.identity, len(info["weights"])) == (identity, 16)
    start.unlink()
    with pytest.raises(InputError, match="weights must be a file that can be read"):
        study(POINTS, first, **options)


@pytest.mark.parametrize("regime", ["TA + l2(0.1)", "pgd_at(0.1)", "clean + Trades(0.1)"])
def test_the_model_that_cannot_be_trained_as_networks_are_is_named(regime):
    models = {"mlp": NETWORK, "tree": DecisionTreeClassifier()}
    with pytest.raises(InputError, match="^model tree cannot be trained with .* are for networks;"):
        study(POINTS, models, train=[regime], runs=1)


def test_noise_with_gaps_is_refused_before_training():
    with pytest.raises(InputError, match="leaves values empty, which networks cannot take"):
        study(POINTS, NETWORK, train=["missing(0.1, empty)"], runs=1)
    with pytest.raises(InputError, match="leaves values empty, which networks cannot take"):
        harden(POINTS, NETWORK, noise="missing(0.1, empty)", search_runs=1, runs=2, n_jobs=1)


def test_a_network_needs_images_or_numbers():
    table_data = make_dataset(X, POINTS.labels).touching(only=["0"])
    with pytest.raises(InputError, match="plain numbers"):
        study(table_data, NETWORK, train=["clean"], corruptions=["linf(0.1)"], runs=1)
