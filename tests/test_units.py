"""uint8 images count as x/255 through every door, and the result says so."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import shaketable as st
from helpers.commands import run_command
from shaketable.core.errors import InputError

NOTE = "uint8 values count as x/255"
RNG = np.random.default_rng(0)
Y = np.arange(60) % 2
X = np.clip(RNG.normal(110 + 30 * Y[:, None, None, None], 60, (60, 8, 8, 3)), 0, 255).astype("u1")
NOISE = ["linf(0.4)", "fog(5)", "gaussian(0.5)"]


def bright(x):
    """Label 1 for images brighter than the middle of [0, 1]."""
    return (np.asarray(x).reshape(len(x), -1).mean(axis=1) > 0.5).astype(int)


def save(folder, *names_and_arrays):
    path = folder / "images.npz"
    np.savez(path, **dict(names_and_arrays))
    return path


def doors(folder):
    """The same images as users may give them."""
    yield "arrays", (X, Y)
    yield "lists of labels", (X, Y.tolist())
    yield "data set", st.make_dataset(X, Y)
    yield "file", save(folder, ("x", X), ("y", Y))
    np.save(folder / "points.npy", X)
    np.save(folder / "labels.npy", Y)
    yield "array file", folder / "points.npy"
    try:
        import torch
    except ImportError:
        return
    yield "tensors", (torch.from_numpy(X), torch.from_numpy(Y))


def test_evaluate_gives_the_same_counts_for_all_forms_of_the_images(tmp_path):
    wanted = st.evaluate(bright, (X / np.float32(255), Y), "clean").cells[0].hits
    expected = None
    for name, data in doors(tmp_path):
        records = st.evaluate(bright, data, NOISE, k=3)
        np.testing.assert_array_equal(records.cells[0].hits, wanted, err_msg=name)
        hits = np.array([cell.hits for cell in records])
        expected = hits if expected is None else expected
        np.testing.assert_array_equal(hits, expected, err_msg=name)
        assert 0 < hits[1:].mean() < 3
        assert NOTE in records.notes[0]
        assert NOTE in (records + records).select(model="bright").notes[0]


def test_a_study_trains_and_tests_on_the_same_values(tmp_path):
    model = LogisticRegression(max_iter=2000)
    shares = []
    for _, data in doors(tmp_path):
        records = st.study(data, {"lr": model}, runs=1, k=2, train_eps=[0, 0.1], test_eps=[0.3])
        shares.append([cell.accuracy for cell in records])
        assert NOTE in records.notes[0]
    assert all(share == shares[0] for share in shares)
    assert len(set(shares[0])) > 1


def test_an_assessment_has_the_separation_of_values_from_0_to_1(tmp_path):
    parts = (X[:40], Y[:40]), (X[40:], Y[40:])
    files = [save(tmp_path / name, ("x", x), ("y", y)) for name, (x, y) in make_parts(tmp_path)]
    for train, test in (parts, map(st.make_dataset, *zip(*parts, strict=True)), files):
        found = st.assess(bright, train, test)
        assert found.epsilon_min == pytest.approx(st.separation(X / 255, Y).epsilon_min)
        assert found.robust.value == st.assess(bright, *parts).robust.value
        assert NOTE in found.notes[0]
        assert NOTE in str(found)
        assert NOTE in found.report(tmp_path / "page.html").read_text()


def make_parts(folder):
    for name, part in (("train", slice(40)), ("test", slice(40, None))):
        (folder / name).mkdir()
        yield name, (X[part], Y[part])


def test_adversaries_search_within_0_and_1(tmp_path):
    expected = None
    for _, data in doors(tmp_path):
        worst = st.worst_case(bright, data, [0.02, 0.2], norm="inf", attacks="random(50)")
        values = [a.value for a in worst.curves[0]]
        expected = values if expected is None else expected
        assert values == expected
        assert worst.eps_min == pytest.approx(st.separation(X / 255, Y, norm="inf").epsilon_min)
        assert NOTE in worst.notes[0] == worst.json()["notes"][0]
    options = {"norm": "inf", "bounds": (0, 1), "attacks": "random(50)"}
    one = st.adversary.adversarial_accuracy(bright, X, Y, epsilon=0.2, **options)
    assert one.value == expected[1] < 1
    assert NOTE in one.notes[0]


def test_corrupt_and_corrupted_make_the_same_images():
    copy = st.corrupted(st.make_dataset(X, Y), "brightness(3)").x
    np.testing.assert_array_equal(st.corrupt(X, "brightness(3)"), np.rint(copy * 255))


@pytest.mark.parametrize("command", ["evaluate", "adversary", "separation"])
def test_commands_say_so(command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(tmp_path, ("x", X), ("y", Y))
    options = [] if command == "separation" else ["--model", f"{__name__}:bright", "--quiet"]
    options += ["--eps", "0.02", "--attack", "random(50)"] if command == "adversary" else []
    data = ["images.npz"] if command == "separation" else ["--data", "images.npz"]
    code, out, err = run_command(capsys, command, *data, *options, "--json")
    assert code == 0, err
    assert sum(NOTE in note for note in json.loads(out)["notes"]) == 1
    code, out, err = run_command(capsys, command, *data, *options)
    assert err.count(NOTE) == 1


def test_small_uint8_tables_are_in_their_own_units():
    table = X.reshape(60, -1)[:, :63]
    seen = []

    def model(x):
        seen.append((x.max() > 1, x.dtype))
        return np.zeros(len(x), int)

    for data in ((table, Y), st.make_dataset(table, Y)):
        assert not any(NOTE in note for note in st.evaluate(model, data, "linf(1)").notes)
    assert set(seen) == {(True, np.dtype(float))}


def test_another_choice_is_explicit():
    with pytest.raises(InputError, match=r"bounds of uint8 images.*x.astype\('float32'\)"):
        st.evaluate(bright, (X, Y), NOISE, bounds=(0, 255))
    records = st.evaluate(bright, (X.astype("f4"), Y), ["linf(9)"], k=1, bounds=(0, 255))
    assert records.cells[0].accuracy == 0.5  # all are brighter than 0.5
    assert records.notes == ()


def test_parts_in_different_units_are_refused():
    for parts in (((X, Y), (X.astype(float), Y)), ((X.astype(float), Y), (X, Y))):
        with pytest.raises(InputError, match=r"in the same units, got uint8.*from 0 to 255"):
            st.assess(bright, *parts)
    mixed = st.assess(bright, (X[:40], Y[:40]), (X[40:] / 255, Y[40:]))
    assert mixed.clean.value == st.assess(bright, (X[:40], Y[:40]), (X[40:], Y[40:])).clean.value
