"""Measures in results: tables, JSON, cards, the chosen one first, and requirements on them."""

import json

import numpy as np
import pytest
from sklearn import metrics as sklearn
from sklearn.linear_model import LogisticRegression

import shaketable as st
from helpers.commands import check_schema, run_command
from shaketable.core.errors import InputError
from shaketable.core.schemas import SCHEMA_VERSION
from shaketable.corruptions.suites.suite import Suite
from shaketable.findings.measures.charts import draw_measures
from shaketable.findings.measures.finding import Measures
from shaketable.views.blocks import Cards, Table


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(1500) < 0.12, "fraud", "sound")
    x = rng.normal(size=(1500, 3)) + 2 * (y == "fraud")[:, None]
    model = LogisticRegression().fit(x, y)
    return st.evaluate({"linear": model}, (x, y), ["linf(0.3)", "linf(3)"], k=4)


def entries(found, corruption):
    (entry,) = (e for e in found.json()["measures"] if e["corruption"] == corruption)
    return {(m["measure"], m["class"]): m for m in entry["measures"]}


def test_every_measure_is_that_of_all_draws_under_every_corruption(records):
    found = st.find(records)
    check_schema("evaluate", found.json() | {"schema_version": SCHEMA_VERSION})
    for cell in records:
        y = np.repeat(cell.points.y, cell.k)
        answers, scores = cell.answers.predicted.ravel(), cell.answers.scores.reshape(-1, 2)
        known = entries(found, cell.corruption)
        expected = {
            ("balanced_accuracy", None): 100 * sklearn.balanced_accuracy_score(y, answers),
            ("f1", None): 100 * sklearn.f1_score(y, answers, average="macro"),
            ("recall", "fraud"): 100 * sklearn.recall_score(y, answers, pos_label=0),
            ("precision", "sound"): 100 * sklearn.precision_score(y, answers, pos_label=1),
            ("matthews", None): sklearn.matthews_corrcoef(y, answers),
            ("log_loss", None): sklearn.log_loss(y, scores),
            ("auc", None): 100 * sklearn.roc_auc_score(y, scores[:, 1]),
        }
        for key, value in expected.items():
            entry = known[key]
            assert entry["value"]["mean"] == pytest.approx(value, abs=1e-4), key
            assert entry["value"]["low"] < value < entry["value"]["high"]
            assert entry["has_interval"]
            assert entry["unit"] == ("" if key[0] in ("matthews", "log_loss") else "per cent")
            assert (entry["difference"] is None) == (cell.corruption == "clean")


def test_differences_and_relative_losses_are_from_the_clean_value(records):
    found = st.find(records)
    clean, noisy = entries(found, "clean"), entries(found, "linf(3)")
    for key, entry in noisy.items():
        before = clean[key]["value"]["mean"]
        change = entry["value"]["mean"] - before
        assert entry["difference"]["mean"] == pytest.approx(change)
        assert entry["difference"]["low"] < change < entry["difference"]["high"]
        if entry["unit"]:
            assert entry["relative_loss"]["mean"] == pytest.approx(100 * change / before)
        else:
            assert entry["relative_loss"] is None  # not a share of which more is better


def test_the_chosen_measure_comes_first(records):
    found = st.find(records, metric="recall[fraud]")
    (cards,) = (
        block
        for block in found.blocks()
        if isinstance(block, Cards) and "recall" in block.cards[0].name
    )
    (card,) = cards.cards
    assert cards.level == "headline"
    assert card.name == "recall of class fraud under linf(3)"  # the worst for it
    expected = st.metrics.measure(records, "recall", label="fraud", corruption="linf(3)")
    assert card.value.value == expected.value
    assert card.tone == "lost"
    assert "on clean points, so -" in card.sentences[0]
    loss = st.find(records, metric="log_loss")
    (card,) = next(b for b in loss.blocks() if isinstance(b, Cards)).cards
    assert card.tone == "lost"  # of which less is better
    assert "on clean points" in card.sentences[0]


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("recal", "recall"),
        ("recall[frau]", "fraud"),
        ("log_loss[fraud]", "not one of a class"),
        ("recall fraud", "recall\\[CLASS\\]"),
    ],
)
def test_an_unknown_choice_is_refused(records, metric, words):
    with pytest.raises(InputError, match=words):
        st.find(records, metric=metric)


def test_models_with_labels_have_no_measures_of_scores():
    x = np.linspace(0, 1, 60)[:, None]
    records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.4), "clean")
    found = st.find(records)
    names = {name for name, _ in entries(found, "clean")}
    assert names == {"balanced_accuracy", "f1", "precision", "recall", "matthews"}
    with pytest.raises(InputError, match="needs scores"):
        st.find(records, metric="auc")
    assert (
        "measures"
        not in st.find(
            st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.4), "clean", record="hits")
        ).json()
    )


def test_a_class_of_few_points_has_no_interval_and_decides_nothing():
    x = np.linspace(0, 1, 100)[:, None]
    y = np.where(x[:, 0] > 0.92, "rare", "usual")
    records = st.evaluate(
        {"m": lambda x: np.where(x[:, 0] > 0.95, "rare", "usual")}, (x, y), "clean"
    )
    found = st.find(records)
    entry = entries(found, "clean")["recall", "rare"]
    assert not entry["has_interval"]
    assert (entry["value"]["low"], entry["value"]["high"]) == (0, 100)
    tables = [b for b in found.blocks() if isinstance(b, Table) and b.title == "every class, m"]
    assert "few points, no interval" in str([*tables[0].texts()])
    for limit in (10, 99):
        decision = st.check(records, f"recall[rare] >= {limit}")
        assert decision.outcome == "inconclusive"
    assert any(
        "92 % of the points are of class 'usual'" in n or "balanced_accuracy" in n
        for n in found.notes
    )
    assert not any("balanced_accuracy" in n for n in st.find(records, metric="f1").notes)


def test_even_classes_have_no_note():
    x = np.linspace(0, 1, 100)[:, None]
    records = st.evaluate(lambda x: x[:, 0] > 0.5, (x, x[:, 0] > 0.21), "clean")
    assert not any("balanced" in note for note in st.find(records).notes)


def test_requirements_take_measures_and_their_forms(records):
    def value(name, **options):
        return st.metrics.measure(records, name, **options).value

    texts = {
        "recall[fraud, linf(3)] >= 1": 100 * value("recall", label="fraud", corruption="linf(3)"),
        "matthews >= 0.1": value("matthews"),
        "top_1 >= 50": 100 * value("top_1"),
        "relative_loss.f1[under linf(3)] >= -99": 100
        * st.metrics.measure_loss(records, "f1", corruption="linf(3)").value,
    }
    for text, expected in texts.items():
        (decision,) = st.check(records, text).decisions
        shown = decision.estimate.value * (100 if decision.requirement.is_rate else 1)
        assert shown == pytest.approx(expected), text
    with pytest.raises(InputError, match="more is better|larger is better"):
        st.check(records, "relative_loss.log_loss[linf(3)] >= -5")


def test_mean_error_over_a_suite_is_that_of_the_measure():
    x = np.random.default_rng(0).uniform(size=(150, 2))
    models = {"a": lambda x: x[:, 0] > 0.6, "b": lambda x: x[:, 0] > 0.7}
    own = Suite("own", "two sizes", ("linf(0.1)", "linf(0.3)"), metric="mce_lp")
    records = st.evaluate(models, (x, x[:, 0] > 0.5), own, k=3)
    found = st.find(records).json()["suite_measures"]
    assert [e["label"] for e in found] == ["a", "b"]
    for entry in found:
        chosen = records.select(model=entry["label"])
        values = [st.metrics.balanced_accuracy(chosen, corruption=spec).value for spec in own.names]
        assert entry["mean_error"]["mean"] == pytest.approx(100 * (1 - np.mean(values)))
        assert entry["mean_error"]["low"] < entry["mean_error"]["mean"]
    (first, _) = st.find(records, metric="f1").json()["suite_measures"]
    of_a = st.metrics.suite_results(records)[0]
    expected = 100 * st.metrics.mean_measure_error(of_a, "f1").value
    assert (first["measure"], first["mean_error"]["mean"]) == ("f1", pytest.approx(expected))
    decision = st.check(records, "model(a).mce_lp.balanced_accuracy[own] <= 99%").decisions[0]
    assert 100 * decision.estimate.value == pytest.approx(found[0]["mean_error"]["mean"])


def test_charts_show_every_measure(records):
    finding = st.find(records).findings["measures"]
    assert isinstance(finding, Measures)
    panels = [panel.to_dict() for panel in draw_measures(finding)]
    assert len(panels) == len(finding.models[0].names)
    (values,) = panels[0]["datasets"].values()
    assert [row["noise"] for row in values] == ["clean", "linf(3)", "linf(0.3)"]
    assert values[0]["value"] == pytest.approx(100 * st.metrics.balanced_accuracy(records).value)


def test_the_command_begins_with_the_metric(capsys, tmp_path):
    rows = ["x,y", *(f"{i},{'a' if i < 460 else 'b'}" for i in range(500))]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    argv = ["--data", tmp_path / "t.csv", "--label", "y", "--model", "1nn", "--fit", "--quiet"]
    store = tmp_path / "r.sqlite"
    code, out, err = run_command(capsys, "evaluate", *argv, "--store", store)
    assert code == 0
    assert "--metric balanced_accuracy counts all classes alike" in err
    code, out, err = run_command(capsys, "report", store, "--metric", "f1[b]")
    assert code == 0
    assert "F1 of class b" in out
    code, out, err = run_command(capsys, "report", store, "--metric", "f1", "--json")
    assert json.loads(out)["measures"]
    code, out, err = run_command(capsys, "report", store, "--metric", "f2")
    assert code == 2
    assert "f1" in err
