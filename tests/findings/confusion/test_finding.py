import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

import shaketable as st
from helpers.commands import check_schema
from shaketable.core.schemas import SCHEMA_VERSION
from shaketable.statistics.intervals import mean_difference

X = np.linspace(0, 1, 90)[:, None]
LABELS = np.array(["low", "middle", "top"])
Y = LABELS[(X[:, 0] * 2.999).astype(int)]


def model(x):
    return LABELS[np.clip((x[:, 0] * 2.999).astype(int), 0, 2)]


@pytest.fixture(scope="module")
def records():
    return st.evaluate({"steps": model}, (X, Y), ["linf(0.2)", "linf(0.05)"], k=7)


def test_counts_are_those_of_scikit_learn(records):
    entries = {e["corruption"]: e for e in st.find(records).json()["confusion"]}
    for cell in records:
        codes = np.repeat(cell.points.y, cell.k), cell.answers.predicted.ravel()
        counts = np.array(entries[cell.corruption]["counts"])
        np.testing.assert_array_equal(counts[:, :3], confusion_matrix(*codes))
        assert not counts[:, 3].any()


def test_pairs_that_grow_are_paired_by_point(records):
    noisy = next(c for c in records if c.corruption == "linf(0.2)")
    (entry,) = (e for e in st.find(records).json()["confusion"] if e["corruption"] == "linf(0.2)")
    first = entry["growing"][0]
    assert {first["true"], first["answered"]} != {"low", "top"}  # only neighbours are in reach
    own = noisy.points.y == list(LABELS).index(first["true"])
    turned = noisy.answers.predicted[own] == list(LABELS).index(first["answered"])
    assert first["noisy"] == pytest.approx(100 * turned.mean())
    assert first["clean"] == 0
    e = mean_difference(turned.sum(axis=1), np.zeros(own.sum(), int), noisy.k)
    assert first["difference"] == pytest.approx(e.json())
    growths = [each["noisy"] - each["clean"] for each in entry["growing"]]
    assert growths == sorted(growths, reverse=True)


def test_answers_that_the_data_lack_are_a_column_of_their_own():
    def odd(x):
        return np.array(["odd" if value > 0.5 else "low" for value in x[:, 0]])

    adapted = st.adapt(odd, classes={name: name for name in (*LABELS, "odd")})
    records = st.evaluate(adapted, (X, Y), "clean", name="odd")
    counts = np.array(st.find(records).json()["confusion"][0]["counts"])
    assert counts[:, 3].sum() == (X[:, 0] > 0.5).sum()


def test_a_class_of_few_points_has_no_interval():
    few = np.r_[0:10, 45:70]
    records = st.evaluate(model, (X[few][1:], Y[few][1:]), "linf(0.5)", k=3)
    entries = st.find(records).json()["confusion"]
    growing = {e["true"]: e["difference"] for e in entries[-1]["growing"]}
    assert growing["low"] is None
    assert growing["middle"] is not None


def test_hits_alone_have_no_confusion_and_say_so():
    results = st.find(st.evaluate(model, (X, Y), "linf(0.2)", record="hits"))
    assert "confusion" not in results.json()
    assert any("--record answers" in note or "record='answers'" in note for note in results.notes)


def test_json_page_and_text(records, tmp_path, capsys):
    results = st.find(records)
    check_schema("report", {"schema_version": SCHEMA_VERSION, **results.json()})
    results.print()
    assert "classes that turn into others most often" in capsys.readouterr().out
    page = st.report(results, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Which class turns into which?" in page
