"""The search for training noise: its rule, its three parts, and what it claims."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from scipy.special import ndtri
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import shaketable as st
from shaketable.core.errors import DIVERGED, InputError
from shaketable.evaluation.store import Store
from shaketable.models.loading import load_model
from shaketable.statistics import intervals
from shaketable.statistics.estimate import Estimate
from shaketable.training.hardening import view
from shaketable.training.hardening.result import (
    Answers,
    Candidate,
    Hardening,
    Measures,
    choose_candidate,
    collect_answers,
    compare_trainings,
    join_sources,
    measure_accuracies,
)
from shaketable.training.hardening.search import _Search, put_test_aside
from shaketable.views.blocks import Table

FITS: list[np.ndarray] = []
PREDICTED: list[tuple[int, np.ndarray]] = []
"""Numbers of fits so far, and rows that were classified."""


class Spy(ClassifierMixin, BaseEstimator):
    """Remembers the rows that it sees: the first feature is their number, but for tiny noise."""

    def fit(self, x, y):
        FITS.append(np.unique(np.rint(x[:, 0])))
        self.classes_ = np.unique(y)
        return self

    def predict(self, x):
        PREDICTED.append((len(FITS), np.unique(np.rint(x[:, 0]))))
        return self.classes_[np.rint(x[:, 0]).astype(int) % len(self.classes_)]


@pytest.fixture
def numbered():
    FITS.clear()
    PREDICTED.clear()
    x = np.arange(100.0)[:, None]
    return st.make_dataset(x, np.arange(100) % 2, name="numbered")


def normal(value, error):
    """Estimate with a normal interval."""

    def limits(confidence, times, careful):
        half = error * ndtri((1 + confidence) / 2)
        return value - half, value + half

    return Estimate(value, *limits(0.95, 1, False), 0.95, "by hand", limits)


def make_candidate(name, clean, robust, error=0.01):
    return Candidate(name, None, 0.9, 0.8, normal(clean, error), normal(robust, error))


def test_the_best_within_the_price_is_chosen():
    ladder = [
        make_candidate("weak", 0.00, 0.02),
        make_candidate("middle", -0.02, 0.05),
        make_candidate("strong", -0.10, 0.20),
    ]
    chosen = [choose_candidate(ladder, price) for price in (0, 0.005, 0.011, 0.08, 0.091, 1)]
    assert [c.noise for c in chosen if c] == ["weak", "weak", *["middle"] * 2, *["strong"] * 2]
    assert choose_candidate([make_candidate("useless", 0.1, 0.0)], 1) is None
    assert choose_candidate([make_candidate("too expensive", -0.1, 0.3)], 0) is None


values = hs.floats(-0.3, 0.3)


@given(hs.lists(hs.tuples(values, values), max_size=8), hs.floats(0, 0.3), hs.floats(0, 0.3))
def test_a_higher_price_buys_no_less(table, price, more):
    ladder = [make_candidate(str(i), *row) for i, row in enumerate(table)]
    cheap, dear = choose_candidate(ladder, price), choose_candidate(ladder, price + more)
    assert cheap is None or (dear is not None and dear.robust.value >= cheap.robust.value)
    best = max((row[1] for row in table), default=0.0)
    anything = choose_candidate(ladder, 1.0)
    assert (anything.robust.value == best) if anything else best <= 0


def test_on_bands_noise_that_helps_is_found(tmp_path, capsys):
    found = st.harden("bands(n=1000)", DecisionTreeClassifier(), runs=5, k=5, seed=0, n_jobs=1)
    assert found.outcome == "helps"
    assert found.price == 0
    assert found.noise == found.chosen != "clean"
    assert 1 <= next(c.size for c in found.candidates if c.noise == found.chosen) <= 4
    assert found.difference.robust.low > 0
    assert f"training with {found.chosen} helps" in found.verdict
    found.save(tmp_path / "tree.joblib")
    data = found.workshop.data
    records = st.evaluate(found.model, data, found.target, k=5)
    plain = st.evaluate(found.plain, data, found.target, k=5)
    difference = st.metrics.accuracy_difference(records, plain, corruption=found.target)
    assert difference.value == pytest.approx(found.difference.robust.value, abs=0.03)
    assert "helps" in found._repr_html_()
    search, test = (b for b in found.blocks() if isinstance(b, Table))
    assert [(noise.value, noise.note) for noise, *_ in search.rows] == [
        (c.noise, "chosen" if c.noise == found.chosen else "") for c in found.candidates
    ]
    assert [tuple(row[1:]) for row in search.rows] == [
        (
            c.size,
            c.clean_accuracy,
            c.clean,
            c.robust_accuracy,
            c.robust,
            "yes" if c.fits(found.price) else "no",
        )
        for c in found.candidates
    ]
    assert test.rows[1][-1] == found.difference.robust


@pytest.mark.parametrize(("peak", "last"), [(2, 8), (16, 32), (1000, 64)])
def test_the_ladder_goes_on_while_its_end_is_the_best_and_ends_fine(monkeypatch, peak, last):
    def compare_sizes(_, specs):
        gains = {spec: 0.1 - 0.01 * abs(np.log2(size / peak)) for spec, size in specs.items()}
        return [replace(make_candidate(s, 0.0, gains[s]), size=size) for s, size in specs.items()]

    monkeypatch.setattr(_Search, "try_all", compare_sizes)
    found = st.harden("bands(n=60)", "1nn", runs=1, k=1, n_jobs=1)
    ladder = {2.0**i for i in range(-2, int(np.log2(last)) + 1)}
    best = min(peak, last)
    sizes = sorted(ladder | {best / 2**0.5, best * 2**0.5})
    assert [candidate.size for candidate in found.candidates] == pytest.approx(sizes)


class Counter(ClassifierMixin, BaseEstimator):
    """Right wherever it was given enough points, whatever noise they have."""

    def __init__(self, enough=100):
        self.enough = enough

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        self.right_ = len(x) > self.enough
        return self

    def predict(self, x):
        upper = (x[:, 1] > 0.5) == self.right_
        return self.classes_[upper.astype(int)]


def make_halves(n=60):
    x = np.random.default_rng(0).uniform(0, 0.4, (n, 2))
    y = np.arange(n) % 2
    return st.make_dataset(x + 0.6 * y[:, None], y, name="halves")


def test_what_copies_do_is_not_credited_to_noise():
    options = {"target": "linf(0.01)", "noise": "linf(0.01)", "runs": 2, "k": 3, "n_jobs": 1}
    found = st.harden(make_halves(), Counter(), **options)
    assert found.outcome == "none found"
    assert found.plain_test.clean.value == 0
    assert found.copies_test.clean.value == found.copies_difference.robust.value == 1
    assert (
        "all noise is compared with 3 copies of every point without noise; the copies alone "
        in (found.verdict)
    )
    assert "change clean accuracy by +100.00" in found.verdict
    assert found.plain.right_ is found.model.right_ is False
    once = st.harden(make_halves(), Counter(), **options | {"k": 1})
    assert once.copies_test is once.copies_difference is None
    assert "copies" not in once.verdict


def test_copies_that_change_nothing_are_mentioned_alone():
    found = st.harden(
        make_halves(), Counter(enough=0), noise=["linf(0)", "linf(0.01)"], runs=2, k=3, n_jobs=1
    )
    assert [c.noise for c in found.candidates] == ["linf(0.01)"]
    assert found.verdict.endswith("compared with 3 copies of every point without noise")


def test_models_of_text_alone_have_copies_without_noise_too():
    words = np.random.default_rng(0).choice(["a", "b", "c"], (60, 2))
    frame = pd.DataFrame(words, columns=["one", "two"])
    data = st.make_dataset(frame, words[:, 0] == "a")
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier())
    options = {"target": "swap(0.2)", "noise": "swap(0.1)", "runs": 1, "search_runs": 1, "k": 2}
    assert st.harden(data, model, **options, n_jobs=1).copies_test.clean.value == 1


def test_where_no_noise_helps_it_says_so():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0, 1, (60, 2)), rng.uniform(2, 3, (60, 2))])
    found = st.harden((x, np.repeat([0, 1], 60)), "1nn", runs=2, search_runs=2, k=3, n_jobs=1)
    assert found.outcome == "none found"
    assert found.noise == found.chosen == "clean"
    assert found.verdict.startswith("no training noise that helps was found: of 6 candidates")
    assert found.difference is None
    assert found.model is found.plain


def test_points_for_selection_and_test_are_never_fitted(numbered):
    found = st.harden(numbered, Spy(), target="l2(1e-9)", noise="linf(1e-9)", runs=2, k=2, n_jobs=1)
    assert found.parts == (64, 16, 20)
    data = put_test_aside(numbered, 0)
    test = set(data.x[data.n_train :, 0])
    assert len(test) == 20
    in_search = [len(rows) == 64 for rows in FITS]
    assert sum(in_search) == 2 * 3
    assert in_search == sorted(in_search, reverse=True)
    assert all(len(rows) in (64, 80) and not test & set(rows) for rows in FITS)
    for fits, rows in PREDICTED:
        assert not set(rows) & set(FITS[fits - 1])
        assert set(rows) == test or (in_search[fits - 1] and len(rows) == 16)


@pytest.mark.parametrize("noise", ["l0(0.1)", "linf(0.1) | sp(0.1)"])
def test_noise_that_needs_a_range_is_refused_before_training(numbered, noise):
    options = {"runs": 1, "search_runs": 1, "k": 1, "n_jobs": 1}
    for use in ({"target": noise}, {"noise": ["linf(0.1)", noise]}):
        with pytest.raises(InputError, match="needs a finite value range, and none is declared; g"):
            st.harden(numbered, Spy(), **use, **options)
    assert not FITS


def test_the_ladder_ends_before_noise_with_which_training_diverges(monkeypatch):
    def compare_sizes(_, specs):
        sizes = {spec: size for spec, size in specs.items() if size < 16}
        return [replace(make_candidate(s, 0.0, size), size=size) for s, size in sizes.items()]

    monkeypatch.setattr(_Search, "try_all", compare_sizes)
    found = st.harden("bands(n=60)", "1nn", runs=1, k=1, n_jobs=1)
    assert found.candidates[-1].size == pytest.approx(8 * 2**0.5)


def test_an_interrupted_search_goes_on_from_its_store(tmp_path, monkeypatch):
    trainings: list[int] = []
    fit = DecisionTreeClassifier.fit  # scikit-learn's code is no part of the model's identity

    def count(self, x, y):
        if len(trainings) == limit["trainings"]:
            raise RuntimeError("interrupted")
        trainings.append(len(x))
        return fit(self, x, y)

    def search(store=None):
        noise = ["linf(0.01)", "linf(0.02)"]
        options = {"noise": noise, "runs": 2, "search_runs": 2, "k": 2, "n_jobs": 1}
        return st.harden("bands(n=200)", DecisionTreeClassifier(), store=store, **options)

    limit = {"trainings": 1000}
    monkeypatch.setattr(DecisionTreeClassifier, "fit", count)
    whole = search()
    assert whole.chosen != "clean"
    number = len(trainings)
    assert number == 3 * 2 + 3 * 2
    trainings.clear()
    for most in (3, 4, 9):  # in the search, once more, and in the test
        limit["trainings"] = most
        with pytest.raises(st.ShaketableError, match="run the same command to"):
            search(tmp_path / "results.sqlite")
    limit["trainings"] = 1000
    assert search(tmp_path / "results.sqlite").json() == whole.json()
    assert len(trainings) == number
    search(tmp_path / "results.sqlite")
    assert len(trainings) == number


def test_the_model_is_that_of_the_first_run():
    found = st.harden(
        "bands(n=300)",
        DecisionTreeClassifier(),
        noise="linf(0.02)",
        runs=1,
        search_runs=1,
        n_jobs=1,
    )
    data = found.workshop.data
    rows = np.arange(data.n_train, data.n)
    for noise, measures in (("clean", found.plain_test), (found.chosen, found.chosen_test)):
        model = found.train(noise=noise)
        assert (model.predict(data.x[rows]) == data.labels[rows]).mean() == measures.clean.value


def test_a_saved_model_of_scaled_data_takes_them_in_their_own_units(tmp_path):
    raw = st.load("bands(n=100)")
    raw = st.make_dataset(raw.x * [100, 1] + 7, raw.labels)
    options = {"noise": "linf(0.02)", "runs": 1, "search_runs": 1, "k": 2, "n_jobs": 1}
    found = st.harden(raw.scaled(), DecisionTreeClassifier(), **options)
    found.save(tmp_path / "tree.joblib")
    model, _ = load_model(str(tmp_path / "tree.joblib"), trust=True)
    expected = found.model.predict(raw.scaled().x)
    assert (model.predict(raw.x) == expected).all()
    assert (found.model.predict(raw.x) != expected).any()


def draw_answers(seed, runs=4, points=60, draws=5):
    rng = np.random.default_rng(seed)
    shares = rng.uniform(0.5, 1, points)
    return Answers(
        rng.binomial(1, shares, (runs, points)), rng.binomial(draws, shares, (runs, points)), draws
    )


def test_measures_are_means_over_runs_and_wider_than_either_source():
    a, b = draw_answers(0), draw_answers(1)
    difference = compare_trainings(a, b)
    assert difference.clean.value == pytest.approx(a.clean_accuracy - b.clean_accuracy)
    assert difference.robust.value == pytest.approx(a.robust_accuracy - b.robust_accuracy)
    changes = [(x.robust.mean(axis=1) / x.draws) / x.clean.mean(axis=1) - 1 for x in (a, b)]
    assert difference.change.value == pytest.approx((changes[0] - changes[1]).mean())
    assert measure_accuracies(a).change.value == pytest.approx(changes[0].mean())
    by_points = intervals.mean_difference(a.clean.sum(0), b.clean.sum(0), 4)
    by_runs = intervals.mean_difference_over_runs(a.clean, b.clean, 1)
    assert difference.clean.low < min(by_points.low, by_runs.low)
    assert difference.clean.high > max(by_points.high, by_runs.high)
    assert difference.clean.again(confidence=0.68).low > difference.clean.low


def test_both_sources_have_the_counts_of_all_runs():
    rng, k, runs, n = np.random.default_rng(4), 3, 4, 50
    a, b = (
        Answers(rng.binomial(1, p, (runs, n)), rng.binomial(k, p - 0.1, (runs, n)), k)
        for p in (0.9, 0.8)
    )

    def join(by_points, by_runs, low=-np.inf, high=np.inf):
        """Limits from the distances to those of both sources, in quadrature."""
        both, value = (by_points, by_runs), by_runs.value
        below = np.hypot(*(source.value - source.low for source in both))
        above = np.hypot(*(source.high - source.value for source in both))
        return value, max(low, value - below), min(high, value + above)

    (clean, noisy), (other, their) = ((each.clean.sum(0), each.robust.sum(0)) for each in (a, b))
    found, gap = measure_accuracies(a), compare_trainings(a, b)
    share, gaps = intervals.mean_share, intervals.mean_difference
    for estimate, expected in (
        (found.clean, join(share(clean, runs), intervals.mean_share_over_runs(a.clean, 1), 0, 1)),
        (
            found.robust,
            join(share(noisy, k * runs), intervals.mean_share_over_runs(a.robust, k), 0, 1),
        ),
        (
            found.change,
            join(
                intervals.relative_change(clean, noisy, k * runs, clean_k=runs),
                intervals.relative_change_over_runs(a.clean, a.robust, k),
                -1,
            ),
        ),
        (
            gap.clean,
            join(
                gaps(clean, other, runs),
                intervals.mean_difference_over_runs(a.clean, b.clean, 1),
                -1,
                1,
            ),
        ),
        (
            gap.robust,
            join(
                gaps(noisy, their, k * runs),
                intervals.mean_difference_over_runs(a.robust, b.robust, k),
                -1,
                1,
            ),
        ),
        (
            gap.change,
            join(
                intervals.change_difference((clean, noisy), (other, their), k * runs, clean_k=runs),
                intervals.change_difference_over_runs((a.clean, a.robust), (b.clean, b.robust), k),
            ),
        ),
    ):
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx(expected)


def test_runs_that_are_all_alike_tell_nothing_new_about_points():
    one = draw_answers(2, runs=1)
    clean, hits = one.clean[0], one.robust[0]
    single = intervals.relative_change(clean, hits, 5)
    pooled = intervals.relative_change(7 * clean, 7 * hits, 35, clean_k=7)
    assert (pooled.value, pooled.low, pooled.high) == pytest.approx(
        (single.value, single.low, single.high)
    )
    assert measure_accuracies(one).change.low == single.low


def test_ends_of_the_range_are_kept():
    perfect = Answers(np.ones((3, 30), int), np.full((3, 30), 2), 2)
    assert measure_accuracies(perfect).clean.high == measure_accuracies(perfect).robust.high == 1
    assert measure_accuracies(perfect).clean.low < 1
    estimate = Estimate(0.0, -0.3, 0.3, 0.95, "by hand", lambda *_: (-0.3, 0.3))
    assert join_sources(estimate, estimate, (-0.1, 1)).low == -0.1
    hits = np.random.default_rng(0).integers(0, 2, (2, 4))
    apart = compare_trainings(Answers(0 * hits, 0 * hits, 1), Answers(hits, hits, 1))
    assert apart.clean.low == apart.robust.low == -1


def test_corruptions_of_a_suite_have_the_same_weight():
    suite = st.corruptions.Suite("two", "two sizes", ("linf(0.01)", "linf(0.3)"), k=2)
    records = st.study(
        "bands(n=100)", "1nn", train=["clean"], corruptions=[suite], runs=2, n_jobs=1
    )
    (answers,) = collect_answers(records).values()
    noisy = [cell.accuracy for cell in records if cell.corruption != "clean"]
    assert len(noisy) == answers.draws == 4
    assert answers.robust_accuracy == pytest.approx(np.mean(noisy))
    found = st.harden(
        "bands(n=100)", "1nn", target=suite, noise="linf(0.01)", runs=1, search_runs=1, n_jobs=1
    )
    assert found.target == "two (mean of 2 corruptions)"


@pytest.mark.parametrize("target", ["linf(eps_min)", "linf(0.5*eps_min)"])
def test_only_a_target_of_size_eps_min_gives_mscr(target):
    found = st.harden(
        "bands(n=60)", "1nn", target=target, noise="linf(0.01)", runs=1, search_runs=1, n_jobs=1
    )
    assert (found.target, found.at_eps_min) == (target, target == "linf(eps_min)")


@pytest.mark.parametrize(
    ("robust", "clean", "price", "outcome", "sentence"),
    [
        ((0.04, 0.01), (0.03, 0.01), 0, "helps", "clean accuracy rises by 3.00"),
        ((0.04, 0.01), (0.00, 0.01), 0, "helps", "one of more than 1.96 points is excluded"),
        ((0.04, 0.01), (-0.01, 0.01), 0.01, "helps", "a loss above the price of 1 points is not"),
        ((0.04, 0.01), (-0.01, 0.01), 0.03, "helps", "within the price of 3 points"),
        ((0.04, 0.01), (-0.05, 0.01), 0.03, "costs more", "falls by 5.00 [3.04, 6.96]"),
        ((0.01, 0.01), (0.03, 0.01), 0, "not shown", "is not shown to rise: +1.00"),
        ((-0.04, 0.01), (0.03, 0.01), 0, "not shown", "falls: -4.00"),
    ],
)
def test_the_verdict_follows_from_the_intervals(robust, clean, price, outcome, sentence):
    difference = Measures(normal(*clean), normal(*robust), None)
    result = SimpleNamespace(
        difference=difference, price=price, chosen="linf(1)", target="linf(eps_min)", candidates=()
    )
    result.outcome = Hardening.outcome.fget(result)
    assert result.outcome == outcome
    assert sentence in view.describe_outcome(result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"price": -1}, "price must lie in"),
        ({"target": "clean"}, "target must be noise, got clean"),
        ({"target": "l2(0)"}, r"target must be noise, got l2\(0\)"),
        ({"noise": "clean"}, "besides clean"),
        ({"noise": ["linf(0)", "l2(0)"]}, r"noise of size 0, got linf\(0\), l2\(0\); add one"),
        ({"model": ["1nn", "rf"]}, "model must be one model"),
        ({"search_runs": 0}, "search_runs must be"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        st.harden("bands(n=60)", options.pop("model", "1nn"), n_jobs=1, **options)


def test_networks_are_hardened_and_saved(tmp_path):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    network = st.training.UntrainedNetwork("mlp(width=8)", "mscr-cifar", epochs=1, device="cpu")
    options = {"noise": "linf(0.02)", "runs": 2, "search_runs": 1, "k": 2, "n_jobs": 1}
    found = st.harden("bands(n=60)", network, bounds=(-9, 9), **options)
    assert found.plain.info["bounds"] == "truncate[-9, 9]"  # as the recipe says
    found.save(tmp_path / "mlp.pt")
    model, _ = load_model(str(tmp_path / "mlp.pt"))
    loaded, own = (
        st.evaluate(each, found.workshop.data, found.target, k=2)
        for each in (model, found.model.model)
    )
    assert (loaded.cells[0].predictions == own.cells[0].predictions).all()


@pytest.mark.parametrize("options", [{}, {"k": 3, "seed": 5, "bounds": (-1, 2)}])
def test_every_option_reaches_the_trainings_of_the_search_and_of_the_test(options, tmp_path):
    path, data = tmp_path / "s.sqlite", st.load("bands(n=60)")
    given = {"noise": ["l2(0.02)"], "target": "l1(0.03)", "runs": 2, "search_runs": 3}
    found = st.harden(data, DecisionTreeClassifier(), **given, **options, store=path)
    with Store(path, must_exist=True) as store:
        cells = list(store.records())
    assert {c.setting.seed for c in cells} == {options.get("seed", 0)}
    noisy = [c for c in cells if c.corruption != "clean"]
    assert {c.corruption for c in noisy} == {"l1(0.03)"}
    assert {c.k for c in noisy} == {options.get("k", 10)}
    assert {c.setting.bounds for c in noisy} == {"clip[-1, 2]" if "bounds" in options else "none"}
    runs = {(c.data.endswith("training part"), c.train): set() for c in cells}
    for c in cells:
        runs[c.data.endswith("training part"), c.train].add(c.run)
    assert runs[True, "linf(0)"] == runs[True, "l2(0.02)"] == {0, 1, 2}
    assert runs[False, "linf(0)"] == runs[False, "clean"] == {0, 1}
    assert (found.runs, found.search_runs) == (2, 3)
    assert st.harden(data, DecisionTreeClassifier(), **given, **options).json() == found.json()


class Fickle:
    """A model that trains itself, and diverges with large noise in every other training."""

    identity = "fickle"

    def __init__(self):
        self.trained = 0

    def name_noise(self, noise, data, bounds):
        return noise

    def train_on(self, data, rows, *, noise, **_):
        if noise == "linf(0.2)":
            self.trained += 1
            if self.trained % 2:
                raise InputError(f"{DIVERGED}: its loss must be finite, got nan")
        tree = DecisionTreeClassifier().fit(data.x[rows], data.labels[rows])
        return SimpleNamespace(model=tree)


def test_noise_with_which_some_trainings_diverge_is_no_candidate():
    options = {"noise": ["linf(0.1)", "linf(0.2)"], "target": "linf(0.05)", "n_jobs": 1}
    found = st.harden("bands(n=60)", Fickle(), runs=1, search_runs=2, k=1, **options)
    assert [candidate.noise for candidate in found.candidates] == ["linf(0.1)"]
    assert found.diverged == ("linf(0.2)",)
