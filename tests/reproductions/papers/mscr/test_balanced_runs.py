"""Balanced runs: each has the law of a run of `study`, and groups can be continued."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

import shaketable as st
from shaketable.core.errors import InputError
from shaketable.corruptions import Clean, PNormNoise
from shaketable.evaluation.store import Store
from shaketable.models.builtin import builtin
from shaketable.reproductions.papers.mscr import balanced_runs
from shaketable.reproductions.papers.mscr.balanced_runs import (
    RUNS_EACH,
    SIDE,
    Plan,
    find_noise,
    run_groups,
    stratify,
)
from shaketable.reproductions.papers.mscr.plane_forest import PlaneForest

DATA = st.load("bands(n=62)")


def make_plan(data=None, noise=0.05, **options):
    data = DATA if data is None else data
    levels = (Clean(), PNormNoise(math.inf, noise))
    settings = {"model": PlaneForest(5), "p": math.inf, "train": levels, "test": levels, "k": 2}
    return Plan(data=data, **settings | options)


def test_every_run_draws_its_offsets_uniformly_and_independently():
    """Over many groups: one place of a group, for two of the k offsets."""
    groups = range(400)
    for p, radius in ((math.inf, lambda u: np.abs(u).max(axis=-1)), (2.0, np.hypot.reduce)):
        plans = [make_plan(p=p, seed=group, data=DATA) for group in groups]
        u = np.array([plan.draw_offsets(7) for plan in plans])  # (groups, k, 2)
        size = radius(u) if p != 2 else np.hypot(u[..., 0], u[..., 1])
        assert stats.kstest(size[:, 0] ** 2, "uniform").pvalue > 0.01
        angle = np.arctan2(u[:, 0, 1], u[:, 0, 0])
        signs = np.sign(u[:, 0]).prod(axis=1).mean(), np.sign(u[:, 0, 0] * u[:, 1, 0]).mean()
        assert np.abs(signs).max() < 4 / math.sqrt(len(groups))
        if p == 2:
            assert stats.kstest(angle / (2 * math.pi) + 0.5, "uniform").pvalue > 0.01


def test_offsets_of_a_group_fill_all_strata():
    points = np.array([make_plan().draw_offsets(run)[1] for run in range(RUNS_EACH)])
    cells = np.floor((points + 1) / 2 * SIDE).astype(int)
    assert len({tuple(cell) for cell in cells}) == RUNS_EACH
    finer = np.floor((points + 1) / 2 * RUNS_EACH).astype(int)
    assert all(len(set(column)) == RUNS_EACH for column in finer.T)


def test_strata_serve_the_mean_of_a_smooth_function():
    """The mean over a group is far more precise than that of independent points."""
    rng = np.random.default_rng(0)
    means = [np.exp(stratify(rng)).prod(axis=1).mean() for _ in range(300)]
    exact = (math.e - 1) ** 2
    assert abs(np.mean(means) - exact) < 4 * np.std(means) / math.sqrt(300)
    plain = [np.exp(rng.random((RUNS_EACH, 2))).prod(axis=1).mean() for _ in range(300)]
    assert np.std(means) < np.std(plain) / 5


@pytest.mark.parametrize("n", [60, 62, 63])
def test_test_parts_are_those_of_plain_splits_in_size_and_cover_all(n):
    plan = make_plan(st.load(f"bands(n={n})"))
    train, test = zip(*(plan.split(run) for run in range(RUNS_EACH)), strict=True)
    sizes = {len(part) for part in plan.data.parts()}
    assert {len(rows) for rows in (*train, *test)} == sizes
    assert all(
        np.array_equal(np.union1d(*rows), np.arange(n)) for rows in zip(train, test, strict=True)
    )
    times = np.bincount(np.concatenate(test[:SIDE]), minlength=n)
    assert times.min() >= (n % SIDE not in (1, 2))
    assert times.max() <= 2
    assert not np.array_equal(test[0], test[SIDE])


def test_shared_copies_have_the_same_offsets_in_training_and_test():
    plan = make_plan()
    offsets = 0.05 * plan.draw_offsets(3)
    for rows in plan.split(3):
        copies, classes = plan.copy(plan.test[1], rows, 3)
        moved = copies.reshape(len(rows), plan.k, 2) - plan.data.x[rows][:, None]
        assert np.allclose(moved, offsets)
        assert np.array_equal(classes, np.repeat(plan.data.y[rows], plan.k))


def test_independent_copies_are_those_of_a_study():
    plan = make_plan(draws="independent")
    rows = np.arange(9)
    copies, _ = plan.copy(plan.test[1], rows, 3)
    moved = copies - np.repeat(plan.data.x[rows], plan.k, axis=0)
    assert len(np.unique(moved.round(12), axis=0)) == len(moved)
    assert 0.03 < np.abs(moved).max() <= 0.05


@pytest.mark.parametrize("draws", ["shared", "independent"])
def test_means_are_those_of_a_study(draws):
    """The law of the package's own study, which draws every run independently."""
    levels, runs = (0, 0.1), 60
    records = st.study(
        DATA, GaussianNB(), train_eps=levels, test_eps=[0.1], k=2, runs=runs, draws=draws, n_jobs=1
    )
    theirs = {
        (s.first.epsilon, s.first.train_epsilon): s.accuracies
        for s in st.metrics.series(records)
        if s.first.epsilon in levels
    }
    plan = make_plan(model=GaussianNB(), noise=0.1, draws=draws)
    ours = run_groups(plan, 6, Store()).accuracies.mean(axis=1)
    for i, test in enumerate(levels):
        for j, train in enumerate(levels):
            a, b = ours[:, i, j], theirs[test, train]
            error = math.hypot(a.std(ddof=1) / math.sqrt(len(a)), b.std(ddof=1) / math.sqrt(runs))
            assert abs(a.mean() - b.mean()) < 3.5 * error, (test, train)


def test_the_choice_of_test_points_cancels_in_a_group():
    """A model that says the same of all points is right for a share of them, in every group."""
    model = DummyClassifier(strategy="constant", constant=0)
    plan = make_plan(model=model)
    found = run_groups(plan, 2, Store()).accuracies
    assert np.std(found[..., 0, 0]) > 0.05
    share = (DATA.y == 0).mean()
    assert np.abs(found.mean(axis=1) - share).max() < 2 / DATA.n


def test_runs_are_kept_and_continued(monkeypatch):
    plan = make_plan(model=GaussianNB())
    with Store() as store:
        none = run_groups(plan, 2, store, minutes=0)
        assert (none.groups, none.unfinished) == (
            0,
            "0 of 50 runs are done; the same command goes on",
        )
        one = run_groups(plan, 1, store)
        assert (one.groups, one.unfinished) == (1, "")
        begun = []
        count = Plan.count_hits
        monkeypatch.setattr(Plan, "count_hits", lambda p, run: begun.append(run) or count(p, run))
        two = run_groups(plan, 2, store)
        assert begun == [*range(RUNS_EACH, 2 * RUNS_EACH)]
        assert np.array_equal(two.hits[:1], one.hits)
        assert run_groups(make_plan(model=GaussianNB(), seed=1), 1, store).groups == 1
        assert len(begun) == 2 * RUNS_EACH  # another seed is another study


def test_what_cannot_be_balanced_is_refused():
    with pytest.raises(InputError, match="L-inf or L2, got 4 features and linf"):
        make_plan(st.load("iris"))
    with pytest.raises(InputError, match="got 2 features and l1"):
        make_plan(p=1.0)
    with pytest.raises(InputError, match="no fixed test part"):
        make_plan(replace(DATA, n_train=50))


def test_sizes_by_name_and_other_models():
    with Store() as store:
        noise = find_noise(DATA, 2.0, [0, "eps_min", 0.2], store)
        assert [*noise] == [0, "eps_min", 0.2]
        assert noise[0] == Clean()
        assert noise["eps_min"].epsilon == pytest.approx(st.separation(DATA, norm=2).epsilon_min)
        plan = make_plan(model=builtin("1nn"), p=2.0, test=[*noise.values()])
        assert plan.sizes.tolist() == [12, 24, 24]
        hits = plan.count_hits(0)
        assert hits.shape == (3, 2)
        assert (hits <= plan.sizes[:, None]).all()
    assert balanced_runs.RUNS_EACH == SIDE**2
