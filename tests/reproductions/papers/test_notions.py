"""Notions together: values are the package's own, and claims notice a wrong one."""

import numpy as np
import pytest
from scipy import stats

import shaketable as st
from shaketable.adversary.accuracy import AdversarialAccuracy
from shaketable.models.classifier import as_classifier
from shaketable.reproductions.papers.notions import dozen, notions
from shaketable.reproductions.papers.notions.dozen import NOTIONS, Budget, Measures
from shaketable.reproductions.papers.notions.notions import Dozen, tabulate_own
from shaketable.reproductions.papers.notions.rank_chart import draw_ranks
from shaketable.reproductions.registry import Asked
from shaketable.statistics.estimate import Estimate

SMALL = Budget(train=60, test=10, epochs=1)
CHEAP = ("tree", "logistic")


@pytest.fixture(scope="module")
def digits():
    return dozen.load_digits(SMALL)


@pytest.fixture
def small(monkeypatch):
    """Two models and few points."""
    makers = {name: dozen.list_makers()[name] for name in CHEAP}
    monkeypatch.setattr(notions, "BUDGET", SMALL)
    monkeypatch.setattr(notions, "list_makers", lambda: makers)
    return makers


def make_measures(values, *, gap=0.0, matter=0, far=0.0, proven=True):
    """Notions with these values, the same for all but signs."""
    estimates = {
        key: Estimate(v, v - 0.01, v + 0.01, 0.95, "by hand")
        for key, notion in NOTIONS.items()
        for v in [values if notion.higher_is_better else 1 - values]
    }
    gaps = {"random noise": gap, "without rare failures": gap, "genuine": gap}
    return Measures(estimates, gaps, matter, far, proven, 0 if proven else 1)


def make_dozen(values, **changes):
    return Dozen({f"m{i}": make_measures(v, **changes) for i, v in enumerate(values)})


def test_digits_have_their_own_test_points(digits):
    assert (digits.n, digits.n_train, digits.shape) == (70, 60, (8, 8, 1))
    rows = digits.x.reshape(70, -1)
    assert not (rows[:60, None] == rows[None, 60:]).all(axis=2).any()
    assert (digits.x.min(), digits.x.max()) == (0, 1)


def test_there_are_twelve_models_of_four_families():
    makers = dozen.list_makers()
    assert len(makers) == 12
    assert {maker.family for maker in makers.values()} == {
        "trees",
        "neighbours",
        "others",
        "networks",
    }


@pytest.mark.parametrize("name", ["forest with noise", "network with adversary"])
def test_models_are_trained_alike_with_the_same_seed(digits, name):
    if name.startswith("network"):
        pytest.importorskip("torch")
    setting = dozen.Setting(0.2, 0, 1, "cpu")
    answers = []
    for _ in range(2):
        model = dozen.list_makers()[name].train(digits, setting)
        answers.append(as_classifier(model, digits)(digits.x))
    assert np.array_equal(*answers)


def test_numbers_are_those_of_the_package(digits, tmp_path):
    model = dozen.list_makers()["logistic"].train(digits, dozen.Setting(0.2, 0, 1, None))
    eps_min = st.separation(digits, norm="inf").epsilon_min
    found = dozen.measure_model(
        "logistic", model, digits, eps_min=eps_min, budget=SMALL, seed=0, store=tmp_path / "r.db"
    )
    values = {key: e.value for key, e in found.values.items()}
    test, y = digits.x[60:].reshape(10, -1), digits.y[60:]
    w = model.coef_ - model.coef_[y, None]
    b = np.einsum("nkd,nd->nk", w, test) + model.intercept_ - model.intercept_[y, None]

    def fall(epsilon):
        """Whether another class can win within the ball and the range of pixels, exactly."""
        up = np.where(w > 0, np.minimum(epsilon, 1 - test)[:, None], 0)
        down = np.where(w < 0, np.minimum(epsilon, test)[:, None], 0)
        best = b + (w * up).sum(axis=2) - (w * down).sum(axis=2)
        best[np.arange(10), y] = -np.inf
        return best.max(axis=1) >= 0

    low, high = np.zeros((10, 1)), np.ones((10, 1))
    for _ in range(50):
        middle = (low + high) / 2
        falls = fall(middle)[:, None]
        low, high = np.where(falls, low, middle), np.where(falls, middle, high)
    assert values["error"] == pytest.approx((model.predict(test) != digits.labels[60:]).mean())
    assert values["worst"] == pytest.approx(1 - fall(0.5 * eps_min).mean())
    assert 1 - fall(4 * eps_min).mean() <= found.far < values["genuine"]
    assert values["distance"] == pytest.approx(high.mean() / eps_min, rel=1e-4)
    assert found.proven
    assert all(gap >= -1e-9 for gap in found.gaps.values())


def test_order_is_spearmans_of_places_where_more_is_better():
    rng = np.random.default_rng(0)
    models = {f"m{i}": make_measures(v) for i, v in enumerate(rng.uniform(size=8))}
    shifted = rng.uniform(size=8)
    for m, v in zip(models.values(), shifted, strict=True):
        m.values["mce"] = Estimate(v, v, v, 0.95, "by hand")
    found = Dozen(models)
    assert found.order["error", "worst"].value == pytest.approx(1)
    expected = stats.spearmanr(-shifted, found.values["mscr"]).statistic
    assert found.order["mscr", "mce"].value == pytest.approx(expected)
    assert found.ranks["mce"].tolist() == stats.rankdata(shifted).tolist()


def test_equal_values_have_no_order():
    assert make_dozen([0.5] * 5).order == {}
    assert make_dozen([0.5, 0.6]).order == {}
    assert make_dozen([0.5, 0.6]).describe() == []


def test_sentences_have_the_numbers():
    words = " ".join(make_dozen([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]).describe())
    assert "45 of 45 pairs of notions are shown to order the models alike, none in reverse" in words
    assert "m6 by clean error, MSCR" in words
    assert "Voronoi cells change the worst case of none of the 7 models" in words
    assert "the 7 models are no random sample" in words
    assert "at 4 times eps_min, the genuine accuracy of these models is at most 0.0 %" in words
    changed = make_dozen([0.1, 0.2, 0.3, 0.4, 0.5], matter=1, far=0.125).describe()
    assert "Voronoi cells change the worst case of m0, m1, m2, m3, m4" in changed
    assert any("at most 12.5 %" in sentence for sentence in changed)


def test_correlations_of_mscr_are_given_without_each_model():
    found = make_dozen([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    odd = Estimate(0.99, 0.9, 1.0, 0.95, "by hand")
    found.measures["m5"].values["mce"] = odd  # the best by MSCR is the worst by mCE
    words = " ".join(found.describe())
    expected = stats.spearmanr([1, 2, 3, 4, 5, 6], [2, 3, 4, 5, 6, 1]).statistic
    assert f"MSCR and mCE, {expected:+.2f} [" in words
    assert "not shown if judged alone, not shown among all 45 pairs; without one model" in words
    assert "to +1.00 (without m5)" in words


def test_bounds_are_called_bounds():
    exact = " ".join(make_dozen([0.1, 0.2, 0.3, 0.4]).describe())
    bounds = " ".join(make_dozen([0.1, 0.2, 0.3, 0.4], proven=False).describe())
    assert "upper bound" not in exact
    assert "worst case (an upper bound)" in bounds
    assert "worst cases of m0, m1, m2, m3 are upper bounds" in bounds
    assert "at so many points: m0 1, m1 1, m2 1, m3 1" in bounds


def test_best_places_are_coloured_most():
    table = make_dozen([0.1, 0.5, 0.9]).tabulate_notions()
    heats = {number.row: number.heat for number in table.numbers if number.column == "mCE"}
    assert heats == {"m0": 0.0, "m1": 0.5, "m2": 1.0}
    assert table.numbers[0].note == "± 1.0"


def test_one_nn_on_its_own_points_has_a_genuine_accuracy_of_one(digits):
    own = {n.name: n.value for n in tabulate_own(digits, 0).numbers}
    assert [own[f"{size} / genuine"] for size in ("0.5", "2", "4")] == [100] * 3
    assert own["0.5 / whole ball"] == 100
    assert own["2 / whole ball"] < 100


def test_a_command_goes_on_and_its_claims_hold(small, tmp_path):
    asked = Asked(name="notions", folder=tmp_path, minutes=0.0)
    part = notions.measure_notions(asked)
    assert part.unfinished == "1 of 2 models are measured; the same command goes on"
    again = st.reproduce("notions", out=tmp_path)
    verdicts = {j.claim: j.verdict for j in again.judgements}
    assert [*verdicts.values()] == ["holds"] * 6 + ["inconclusive"] * 3  # two models have no order
    first = part.tables[0].numbers[0]
    assert first.value == again.numbers.by_name["notion: tree / clean error"].value
    assert (tmp_path / "notions.fast.svg").exists()


@pytest.mark.parametrize(
    ("column", "claim"),
    [("random noise", 0), ("without rare failures", 1), ("genuine", 2)],
)
def test_a_gap_below_zero_fails(column, claim):
    found = make_dozen([0.1, 0.2, 0.3, 0.4])
    found.measures["m2"].gaps[column] = -0.01
    numbers = found.tabulate_gaps().by_name
    verdicts = [c.judge(numbers).verdict for c in notions._CLAIMS[:3]]
    assert [v == "fails" for v in verdicts] == [i == claim for i in range(3)]


def test_a_wrong_worst_case_fails_a_claim(small, monkeypatch):
    right = AdversarialAccuracy.value.fget
    monkeypatch.setattr(
        AdversarialAccuracy,
        "value",
        property(lambda self: 1 - right(self) if self.constraint == "none" else right(self)),
    )
    assert st.reproduce("notions").verdict == "fails"


def list_rows(chart, layer):
    """Rows of the data of a layer."""
    spec = chart.to_dict()
    return spec["datasets"][spec["layer"][layer]["data"]["name"]]


def test_models_have_the_colour_of_their_family():
    chart = draw_ranks(
        {"a": {"m": 1.0, "n": 2.0}, "b": {"m": 2.0, "n": 1.0}}, {"m": "x", "n": "y", "o": "z"}
    )
    assert {row["family"] for row in list_rows(chart, 0)} == {"x", "y"}
    assert [row["text"] for row in list_rows(chart, 2)] == ["m", "n"]


def test_models_that_share_a_place_are_named_in_one_line():
    chart = draw_ranks({"a": {"m": 1.5, "n": 1.5}}, {"m": "x", "n": "x"})
    assert [row["text"] for row in list_rows(chart, 3)] == ["m, n"]
