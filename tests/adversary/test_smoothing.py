"""Certificates by smoothing: the laws of Gaussian noise, and attacks on the same smoothed model."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import shaketable as st
from helpers.commands import run_command, run_failing, run_json
from helpers.frames import make_people, make_pipeline_for_people
from helpers.parts import StoppedError, StoppingParts
from shaketable.adversary.smoothing.certify import count_hits
from shaketable.adversary.smoothing.numbers import Certificates
from shaketable.adversary.smoothing.refuting import find_p_values
from shaketable.adversary.target import Target
from shaketable.core.errors import InputError
from shaketable.models.classifier import as_classifier

SIGMA, DRAWS, CONFIDENCE = 0.5, 400, 0.95
NORMAL = np.array([1.0, 2.0, -1.0])
X = np.random.default_rng(0).normal(size=(3000, 3))


def half_space(x):
    return (x @ NORMAL > 0).astype(int)


def thirds(x):
    return np.digitize(x[:, 0], [0.0, 1.0])


def certify(model, data, epsilons=None, **given):
    settings = {"draws": DRAWS, "select": 50, "confidence": CONFIDENCE}
    smoothed = st.smoothed(model, given.pop("sigma", SIGMA), **{**settings, **given})
    return smoothed.certify(data, epsilons)


def is_rare(failures, alpha=1 - CONFIDENCE):
    """Whether so many failures are compatible with a probability of at most alpha."""
    return failures.sum() <= stats.binom.ppf(0.999, len(failures), alpha)


def test_radii_of_a_linear_model_exceed_the_distance_as_rarely_as_stated():
    found = certify(half_space, (X, half_space(X)))
    distance = np.abs(X @ NORMAL) / np.linalg.norm(NORMAL)
    too_far = found.radius > np.where(found.attacked.right, distance, 0)
    assert is_rare(too_far)
    assert too_far.mean() > 0.3 * (1 - CONFIDENCE), "exact bounds are not needlessly wide"
    right = found.attacked.right
    assert is_rare((found.lower > stats.norm.cdf(distance / SIGMA))[right])


def test_bounds_of_three_classes_cover_their_exact_probability():
    x = np.linspace(-1, 2, 3000)[:, None]
    found = certify(thirds, (x, thirds(x)))
    below = stats.norm.cdf(np.array([[0.0, 1.0]]), x, SIGMA)
    exact = np.column_stack([below[:, 0], below[:, 1] - below[:, 0], 1 - below[:, 1]])
    assert is_rare(found.lower > exact[np.arange(len(x)), found.codes])
    border = optimize.brentq(
        lambda v: 2 * stats.norm.cdf(0, v, SIGMA) - stats.norm.cdf(1, v, SIGMA), -1, 1
    )  # where the smoothed model goes over from the first class to the second
    borders = np.array([border, 1 - border])
    smooth = np.digitize(x[:, 0], borders)
    true = np.where(found.codes == smooth, np.abs(x - borders).min(axis=1), 0)
    assert is_rare(found.radius > true)
    assert set(found.codes[~found.abstained]) == {0, 1, 2}


def test_bounds_are_those_of_clopper_and_pearson():
    found = certify(half_space, (X[:40], half_space(X[:40])))
    for hits, lower, abstained in zip(found.hits, found.lower, found.abstained, strict=True):
        test = stats.binomtest(int(hits), DRAWS, alternative="greater")
        assert lower == pytest.approx(test.proportion_ci(CONFIDENCE, "exact").low, abs=1e-12)
        assert abstained == (lower <= 0.5)
    np.testing.assert_allclose(
        found.radius, np.maximum(0, SIGMA * stats.norm.ppf(found.lower)), atol=1e-9
    )


def test_no_certified_point_is_refuted_and_the_attack_is_not_blind():
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(60, 2))
    y = np.digitize(x[:, 0] + 0.1 * np.sin(9 * x[:, 1]), [0.35, 0.7])
    tree = DecisionTreeClassifier(random_state=0).fit(x, y)
    sizes = [0.0, 0.03, 0.06, 0.1, 0.15, 0.2]
    found = certify(tree, (x, y), sizes, sigma=0.1, draws=1000, confidence=0.999)
    found = found.attack(["random(queries=20)", "rays(queries=50)"])
    for epsilon, certified, at in zip(sizes, found.curve(), found.refuted, strict=True):
        kept = found.attacked.right & (found.radius > epsilon)
        assert not (kept & at.points).any()
        assert certified.value <= at.left.value
    assert found.refuted[-1].left.value < 0.4
    assert found.refuted[0].left.value > 0.9
    lost = [at.points.sum() for at in found.refuted]
    assert lost == sorted(lost)


@pytest.mark.parametrize("p", [1, 2, np.inf])
def test_attacks_refute_only_what_a_linear_model_gets_wrong(p):
    x, dual = X[:150], {1: np.inf, 2: 2, np.inf: 1}[p]
    smoothed = st.smoothed(half_space, 0.2, draws=2000)
    found = smoothed.certify((x, half_space(x)), [0.2, 0.6], norm=p).attack("rays(queries=150)")
    distance = np.abs(x @ NORMAL) / np.linalg.norm(NORMAL, dual)
    for at in found.refuted:
        assert (distance[at.points] <= at.epsilon).all()
        assert at.attacks == ("rays(queries=150)",)
    assert at.points.sum() > 0.6 * (distance <= 0.6).sum()


def test_a_wrong_vote_alone_refutes_nothing():
    """At the border the vote is wrong by chance, and new noise does not confirm it."""
    x = np.full((40, 3), 1e-3) * NORMAL
    models = [st.smoothed(half_space, 0.5, draws=500, select=15, seed=seed) for seed in range(8)]
    found = [m.certify((x, np.r_[np.ones(39), 0])) for m in models]
    wrong = next(f for f in found if not f.attacked.right[0]).attack("random(1)", [0.0])
    (at,) = wrong.refuted
    assert not at.points[:39].any()
    assert at.unconfirmed >= 39
    assert wrong.abstained.all()


def test_p_values_are_those_of_the_binomial_test():
    for wrong, right in [(0, 0), (0, 5), (5, 0), (7, 3), (3, 7)]:
        total = wrong + right
        exact = stats.binomtest(wrong, total, alternative="greater").pvalue if total else 1
        assert find_p_values(np.array([wrong]), np.array([right]))[0] == pytest.approx(exact)


def test_radii_in_other_norms():
    x = X[:20]
    found = certify(half_space, (x, half_space(x)))
    for p in (0.5, 1, 1.5, 2):
        np.testing.assert_array_equal(found.radii(p), found.radius)
    np.testing.assert_allclose(found.radii("inf"), found.radius / np.sqrt(3))
    np.testing.assert_allclose(found.radii(4), found.radius / 3**0.25)
    steps = np.random.default_rng(0).normal(size=(1000, 3))
    for p in (1, 4, np.inf):  # a ball of this radius lies in that of L2
        longest = np.linalg.norm(steps / np.linalg.norm(steps, p, axis=1)[:, None], axis=1).max()
        assert found.radii(p)[0] * longest <= found.radius[0] * (1 + 1e-9)


def test_certified_accuracy_counts_right_labels_that_do_not_abstain():
    x = np.array([[0.0], [5.0], [5.0], [1.0]])
    found = certify(lambda v: (v[:, 0] > 0).astype(int), (x, [1, 1, 0, 1]), [0, 0.3])
    assert found.abstained.tolist() == [True, False, False, False]
    assert [e.value for e in found.curve([0, 0.3, 1.1, 1.4])] == [0.5, 0.5, 0.25, 0]
    assert found.certified(0).value == 0.5
    assert "1 of 4 points abstain" in repr(found)
    assert found.radius[1] == found.largest == found.radius.max()
    with pytest.raises(InputError, match="epsilon must be finite"):
        found.curve([-1.0])


def test_what_is_said_of_all_certificates_at_once():
    x = np.repeat(X[:1], 2000, axis=0)
    found = certify(half_space, (x, [0, 1] * 1000), draws=10, confidence=0.999)
    assert found.any_wrong == pytest.approx(1 - 0.999**2000)
    assert found.most_wrong == stats.binom.ppf(0.95, 2000, 0.001)
    assert "at most 5 of the 2000 are" in str(found.blocks())
    few = certify(half_space, (X[:9], half_space(X[:9])), draws=10, confidence=0.999)
    assert "none is" in str(few.blocks())


def test_the_vote_depends_on_the_point_alone():
    data = st.make_dataset(X[:300], half_space(X[:300]))
    model = as_classifier(st.smoothed(half_space, 0.5, select=31), data)
    whole = model(data.x)
    order = np.random.default_rng(0).permutation(300)
    np.testing.assert_array_equal(model(data.x[order]), whole[order])
    np.testing.assert_array_equal(np.concatenate([model(x[None]) for x in data.x]), whole)
    other = as_classifier(st.smoothed(half_space, 0.5, select=31, seed=1), data)(data.x)
    assert (other != whole).any()
    shares = model.start(data.x, scored=True)().scores
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares * 31, np.rint(shares * 31))
    assert (whole == shares[:, :2].argmax(axis=1)).all()


def test_large_points_are_counted_in_pieces(monkeypatch):
    data = X[:7], half_space(X[:7])
    whole = certify(half_space, data, draws=50)
    monkeypatch.setattr("shaketable.adversary.smoothing.model._VALUES", 12)  # 4 copies
    monkeypatch.setattr("shaketable.adversary.smoothing.certify._COPIES", 100)  # 2 points
    sizes = []

    def watched(x):
        sizes.append(len(x))
        return half_space(x)

    np.testing.assert_array_equal(certify(watched, data, draws=50).hits, whole.hits)
    assert max(sizes) <= 7, "points as they are; 4 copies otherwise"


def test_selection_and_bound_use_different_noise():
    """With the same noise the bound would only repeat the vote of a point at the border."""
    x = np.zeros((400, 3))
    found = certify(half_space, (x, [0, 1] * 200), draws=50, confidence=0.9)
    assert len(set(found.hits.tolist())) > 10, "points have noise of their own"
    assert is_rare(~found.abstained, 0.1)


@pytest.mark.parametrize(("bounds", "clipped"), [("declared", True), (None, False)])
def test_noisy_points_are_clipped_as_a_part_of_the_model(bounds, clipped):
    seen = []

    def watched(x):
        seen.append((x.min(), x.max()))
        return (x[:, 0] > 0.5).astype(int)

    data = st.make_dataset(np.array([[0.1], [0.9]]), [0, 1], bounds=(0, 1))
    found = certify(watched, data, bounds=bounds)
    low, high = min(s[0] for s in seen), max(s[1] for s in seen)
    assert bool(low >= 0 and high <= 1) is clipped
    assert ("as a part of the model" in str(found.blocks())) is clipped
    truncated = certify(watched, data, bounds="truncate" if clipped else None)
    np.testing.assert_array_equal(truncated.hits, found.hits)  # such noise has no other rule
    exact = stats.norm.cdf(0.4 / SIGMA)  # clipping moves no value over 0.5
    assert is_rare(found.lower > exact, 0.05)


def test_of_a_frame_only_columns_of_numbers_move():
    frame, y = make_people(120)
    model, seen = make_pipeline_for_people().fit(frame, y), []
    data = st.make_dataset(frame, y)

    def watched(rows):
        seen.append(rows)
        return model.predict(rows)

    found = certify(watched, data, draws=20, select=5, sigma=2.0)
    assert found.d == 3, "age, income and weight"
    rows = pd.concat(seen[1:])
    assert set(rows["job"].dropna()) == set(frame["job"].dropna())
    assert set(rows["member"]) == {True, False}
    assert set(rows["since"]) <= set(frame["since"])
    assert (rows["age"] != rows["age"].round()).mean() > 0.9
    assert rows["income"].isna().mean() == pytest.approx(frame["income"].isna().mean(), abs=0.01)
    np.testing.assert_allclose(found.radii("inf"), found.radius / np.sqrt(3))
    attacked = certify(model, data, [1.0], draws=20, select=5, sigma=2.0).attack("random(5)")
    assert attacked.refuted[0].left.value >= attacked.certified(1.0).value


def test_answers_that_the_data_lack_are_wrong_and_can_be_certified():
    def three(x):
        return np.where(x[:, 0] > 9, 2, (x[:, 0] > 0).astype(int))

    three.classes_ = np.array([0, 1, 2])
    found = certify(three, (np.array([[-5.0], [5.0], [20.0]]), [0, 1, 1]))
    assert found.codes.tolist() == [0, 1, -1]
    assert found.hits.tolist() == [DRAWS] * 3
    assert not found.abstained.any()
    assert found.certified(0).value == pytest.approx(2 / 3)
    assert found.json()["points"][2]["predicted"] is None


def test_every_function_takes_a_smoothed_model():
    model = st.smoothed(LogisticRegression(), 0.5, select=20)
    records = st.evaluate(model, "iris", "linf(0.1)", k=2, refit=True)
    assert {cell.model for cell in records} == {"LogisticRegression, smoothed 0.5"}
    assert all(cell.accuracy > 0.8 for cell in records)
    found = model.certify("iris", refit=True, points=10)
    assert found.n == 10
    np.testing.assert_array_equal(found.codes, found.target.codes)
    with pytest.raises(InputError, match="must not be adapted as a whole; adapt the model inside"):
        st.evaluate(st.adapt(model, restrict_classes=True), "iris", "linf(0.1)")
    with pytest.raises(InputError, match="must be fitted"):
        model.certify("iris")


def test_torch_modules_are_certified():
    torch = pytest.importorskip("torch")
    network = torch.nn.Linear(3, 2).double()
    with torch.no_grad():
        network.weight[:] = torch.tensor(np.stack([0 * NORMAL, NORMAL]))
        network.bias[:] = 0
    data = X[:50], half_space(X[:50])
    np.testing.assert_array_equal(certify(network, data).hits, certify(half_space, data).hits)


def fit_half_space():
    return LogisticRegression().fit(X, half_space(X))


def test_counting_goes_on_where_it_stopped(monkeypatch):
    monkeypatch.setattr("shaketable.adversary.smoothing.certify._COPIES", 5 * DRAWS)
    model = st.smoothed(fit_half_space(), SIGMA, draws=DRAWS)
    target = Target.of(model, (X[:40], half_space(X[:40])))
    whole = count_hits(target, model)
    parts = StoppingParts(3)
    with pytest.raises(StoppedError):
        count_hits(target, model, parts)
    assert len(parts) == 3
    parts.left = 5  # of 8: those that are kept are not counted again
    np.testing.assert_array_equal(count_hits(target, model, parts), whole)
    assert parts.left == 0
    for other in (
        st.smoothed(model.model, SIGMA, draws=DRAWS, seed=1),
        st.smoothed(model.model, 0.4, draws=DRAWS),
        st.smoothed(model.model, SIGMA, draws=DRAWS - 1),
        st.smoothed(model.model, SIGMA, draws=DRAWS, select=7),
        st.smoothed(fit_half_space().set_params(C=2), SIGMA, draws=DRAWS),
    ):
        with pytest.raises(StoppedError):
            count_hits(Target.of(other, (X[:40], half_space(X[:40]))), other, parts)


def test_counts_of_functions_are_not_kept():
    model = st.smoothed(half_space, SIGMA, draws=20)
    count_hits(Target.of(model, (X[:5], half_space(X[:5]))), model, StoppingParts(0))


def test_a_results_file_keeps_the_counts(tmp_path):
    model, path = st.smoothed(fit_half_space(), SIGMA, draws=200), tmp_path / "r.sqlite"
    data = X[:30], half_space(X[:30])
    first = model.certify(data, store=path)
    again = model.certify(data, store=path)
    np.testing.assert_array_equal(first.hits, again.hits)
    assert first.json() == again.json()


def test_the_seed_decides_the_noise_of_every_point():
    data = X[:50], half_space(X[:50])
    first, second = certify(half_space, data), certify(half_space, data, seed=1)
    same = (first.codes == second.codes) & (first.hits < DRAWS)
    assert (first.hits != second.hits)[same].mean() > 0.5


def test_models_share_their_noise():
    """A model that differs nowhere has the same counts, so comparisons are paired."""
    data = X[:50], half_space(X[:50])
    first, second = certify(half_space, data), certify(lambda v: half_space(2 * v), data)
    np.testing.assert_array_equal(first.hits, second.hits)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"sigma": 0}, "sigma must be positive and finite"),
        ({"draws": "many"}, "draws must be a whole number of at least 1"),
        ({"draws": 9}, "draws must be at least 10 to certify anything at confidence 0.999, got 9"),
        ({"draws": 10**9}, "draws must be at most 10,000,000"),
        ({"select": 0}, "select must be a whole number"),
        ({"confidence": 1.0}, "confidence must be at least 0.5 and below 1"),
    ],
)
def test_settings_that_are_refused(given, why):
    with pytest.raises(InputError, match=why):
        st.smoothed(half_space, **{"sigma": 0.1, **given})


def test_sizes_in_units_of_eps_min():
    x = np.array([[0.0], [1.0], [3.0]])
    smoothed = st.smoothed(lambda v: (v[:, 0] > 0.5).astype(int), 0.1, draws=100)
    found = smoothed.certify((x, [0, 1, 1]), ["0.5*eps_min", 0.1])
    assert found.epsilons == (0.1, 0.25)
    with pytest.raises(InputError, match="unknown epsilon 'eps'"):
        smoothed.certify((x, [0, 1, 1]), "eps")


COMMAND = (
    *("adversary", "--data", "iris", "--model", "logistic", "--model", "1nn", "--quiet"),
    *("--smooth", 0.3, "--smooth-draws", 300, "--points", 12),
)


def test_the_command_certifies_and_attacks_the_smoothed_models(capsys, tmp_path):
    argv = (*COMMAND, "--eps", "eps_min,0.5", "--attack", "random(10)")
    found = run_json(capsys, *argv)["certificates"]
    assert [each["model"] for each in found] == ["logistic, smoothed 0.3", "1nn, smoothed 0.3"]
    for each in found:
        assert each["n"] == len(each["points"]) == 12
        assert [c["epsilon"] for c in each["certified"]][1] == 0.5
        for size in each["certified"]:
            assert size["mean"] <= size["attacked"]["mean"]
            assert size["attacked"]["attacks"] == ["random(queries=10)"]
    code, out, err = run_command(capsys, *argv, "-o", tmp_path / "c.json")
    assert code == 0, err
    assert "certified accuracy of 1nn, smoothed 0.3 by L2 epsilon" in out
    assert "They prove nothing about the model inside" in out
    assert json.loads((tmp_path / "c.json").read_text())["layer"]


def test_the_command_refuses_what_belongs_to_attacks(capsys):
    for flag in (("--random", 3), ("--report", "p.html"), ("--constraint", "none")):
        assert "is not for --smooth" in run_failing(capsys, *COMMAND, *flag)


def test_a_certificate_without_its_model_cannot_be_attacked():
    found = certify(half_space, (X[:5], half_space(X[:5])))
    alone = Certificates(
        found.attacked, SIGMA, DRAWS, 50, CONFIDENCE, found.hits, 3, epsilons=(0.1,)
    )
    assert alone.certified(0.1).value == found.certified(0.1).value
    with pytest.raises(InputError, match="attacks need the model"):
        alone.attack()
