"""Models that were trained on points that are evaluated, and the points that they were not."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from helpers.commands import run_command, run_failing, run_json  # noqa: E402
from shaketable import load  # noqa: E402
from shaketable.data.arrays import fix_test_part  # noqa: E402
from shaketable.data.writing import write_dataset  # noqa: E402
from shaketable.training import train  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_directory", "one_thread")

BANDS = "bands(n=100)"
EVALUATE = ["evaluate", "--data", BANDS, "--corruptions", "linf(0.1)", "--k", 1, "--quiet"]


@pytest.fixture(autouse=True)
def networks(own_directory):
    """Files of networks of one split and of others."""
    for seed in (0, 1):
        train("mlp(width=4, depth=1)", BANDS, epochs=1, seed=seed).save(f"m{seed}.pt")


def test_evaluate_says_which_points_a_model_was_trained_on(capsys):
    _, _, err = run_command(capsys, *EVALUATE, "--model", "a=m0.pt", "--model", "1nn")
    note = "note: a: trained on 80 of these 100 points; evaluate the other 20 with --held-out\n"
    assert note in err
    assert "points were used" not in err


def test_rows_that_were_chosen_are_known_too(capsys):
    for n, remedy in (
        (70, "evaluate the other 30 with --held-out"),
        (100, "pass held-out data with"),
    ):
        train("mlp(width=4, depth=1)", load(BANDS), epochs=1, rows=range(n)).save("m.pt")
        _, _, err = run_command(capsys, *EVALUATE, "--model", "m.pt")
        assert f"m.pt: trained on {n} of these 100 points; {remedy}" in err
    failing = run_failing(capsys, *EVALUATE, "--model", "m.pt", "--held-out")
    assert "--held-out leaves no points: m.pt was trained on all of them; pass held-out" in failing


def test_held_out_points_alone_are_evaluated(capsys):
    data, flags = load(BANDS), ["--model", "m0.pt", "--held-out"]
    found = run_json(capsys, *EVALUATE, *flags)
    held_out = data.parts(seed=0)[1]
    (model,) = found["models"]
    assert model["n"] == 20
    code, _, err = run_command(capsys, *EVALUATE, *flags, "--store", "r.sqlite")
    assert (code, "trained on 80" in err, "points were used" in err) == (0, False, False)
    trained = train("mlp(width=4, depth=1)", data, epochs=1, validate=True)
    assert sorted(held_out) == trained.held_out.tolist()
    assert model["cells"][0]["mean"] == pytest.approx(100 * trained.curve[-1].held_out)
    assert run_json(capsys, "rerun", "r.sqlite", "--quiet")["identical"]


def test_held_out_points_of_several_models_are_those_of_all(capsys):
    first, second = (set(load(BANDS).parts(seed=seed)[1].tolist()) for seed in (0, 1))
    found = run_json(capsys, *EVALUATE, "--model", "m0.pt", "--model", "m1.pt", "--held-out")
    assert {model["n"] for model in found["models"]} == {len(first & second)}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--model", "1nn"], "--held-out needs a file of a network that was trained on these very"),
        (["--model", "m0.pt", "--points", 50], "--held-out needs a file of a network"),
    ],
)
def test_points_that_cannot_be_told_apart_are_refused(capsys, flags, message):
    assert message in run_failing(capsys, *EVALUATE, *flags, "--held-out")


def test_data_with_a_test_part_have_their_held_out_points(capsys):
    data = load(BANDS)
    write_dataset("d.npz", fix_test_part(data, data.parts()[1]))
    train("mlp(width=4, depth=1)", "d.npz", epochs=1).save("m.pt")
    argv = ["evaluate", "--data", "d.npz", "--model", "m.pt", "--k", 1, "--quiet"]
    assert "of these" not in run_command(capsys, *argv)[2]
    assert "--held-out is for data without a test part" in run_failing(capsys, *argv, "--held-out")


def test_models_are_named_whose_training_points_are_not_known(capsys):
    train("mlp(width=4, depth=1)", load(BANDS, points=60), epochs=1).save("other.pt")
    flags = ["--model", "m0.pt", "--model", "other.pt", "--model", "1nn", "--held-out"]
    _, _, err = run_command(capsys, *EVALUATE, *flags)
    assert "note: other.pt: it is not known on which points the model was trained; if on" in err
    assert "not known" not in run_command(capsys, *EVALUATE, "--model", "m0.pt", "--held-out")[2]


def test_points_that_the_first_weights_were_trained_on_are_not_held_out():
    first, second = (set(load(BANDS).parts(seed=seed)[1].tolist()) for seed in (0, 1))
    trained = train("mlp(width=4, depth=1)", BANDS, epochs=1, seed=1, weights="m0.pt")
    assert set(trained.held_out.tolist()) == first & second
    trained = train("mlp(width=4, depth=1)", load(BANDS, points=60), epochs=1, weights="m0.pt")
    assert len(trained.held_out) == 12  # of other data nothing is known


def test_networks_of_one_split_share_a_note(capsys):
    flags = ["--model", "a=m0.pt", "--model", "b=m0.pt"]
    _, _, err = run_command(capsys, *EVALUATE, *flags)
    assert err.count("trained on 80 of these") == err.count("note: a, b: trained on 80 of") == 1
