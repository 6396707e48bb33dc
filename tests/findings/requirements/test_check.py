"""Decisions: from intervals that share the error probability, for every metric and model."""

import numpy as np
import pytest
from scipy import stats

import shaketable as st
from helpers.records import make_records
from shaketable.core.errors import InputError, UndefinedError
from shaketable.evaluation.records import Records
from shaketable.findings.finding import FindingKind
from shaketable.findings.requirements import quantities
from shaketable.findings.requirements.check import check
from shaketable.findings.results import find
from shaketable.separations.separation import SeparationRecord

N = 400
EPS_MIN = SeparationRecord("f", np.inf, 0.2, (0, 1), (0, 1), None, {}, None)


def ones(right, n=N):
    return (np.arange(n) < right).astype(int)


def records_of(clean, noisy, *, model="net", spec="linf(0.1)", **settings):
    """Records of one model, of which linf(0.1) is noise of size eps_min."""
    made = make_records({"clean": clean, spec: noisy}, sets=(), model=model, **settings)
    return Records(made.cells, (EPS_MIN,))


def limits(estimate):
    return estimate.low, estimate.high


@pytest.mark.parametrize("names", [("a",), ("a", "b", "c")])
def test_decisions_share_the_error_probability(names):
    records = sum((records_of(ones(380), ones(370), model=m) for m in names), Records(()))
    found = check(records, ["accuracy >= 92", "error[linf(0.1)] <= 5"])
    confidence = 1 - 0.05 / (2 * len(names))
    clean = stats.binomtest(380, N).proportion_ci(confidence, method="exact")
    wrong = stats.binomtest(30, N).proportion_ci(confidence, method="exact")
    assert [d.model for d in found.decisions] == [*names, *names]
    for d in found.decisions:
        exact = clean if d.requirement.metric == "accuracy" else wrong
        assert d.estimate.confidence == pytest.approx(confidence)
        assert limits(d.estimate) == pytest.approx((exact.low, exact.high), abs=1e-9)
        assert d.outcome == d.requirement.decide(exact.low, exact.high)


@pytest.mark.parametrize(
    ("requirements", "outcome", "code"),
    [
        ("accuracy >= 90", "met", 0),
        ("accuracy >= 99", "not met", 1),
        ("accuracy >= 95", "inconclusive", 3),
        (["accuracy >= 90", "accuracy >= 95"], "inconclusive", 3),
        (["accuracy >= 95", "accuracy >= 99", "accuracy >= 90"], "not met", 1),
        (["accuracy >= 99", "accuracy >= 95"], "not met", 1),
    ],
)
def test_what_is_not_met_comes_before_what_is_open(requirements, outcome, code):
    found = check(records_of(ones(380), ones(380)), requirements)
    assert (found.outcome, found.exit_code, bool(found)) == (outcome, code, outcome == "met")
    assert str(found).startswith(f"{outcome}: ")
    assert found.json()["exit_code"] == code


def test_the_confidence_is_a_choice():
    records = records_of(ones(380), ones(380))
    interval = stats.binomtest(380, N).proportion_ci(0.8, method="exact")
    (decision,) = check(records, "accuracy >= 95", confidence=0.8).decisions
    assert limits(decision.estimate) == pytest.approx((interval.low, interval.high), abs=1e-9)
    with pytest.raises(InputError, match="confidence must lie between 0 and 1, got 95"):
        check(records, "accuracy >= 95", confidence=95)


def test_careful_decisions_allow_for_points_that_were_not_seen():
    noisy = np.array([10] * 95 + [9] * 5)  # a few points with few errors; hard ones are missing
    records = records_of(ones(100, 100), noisy, k=10)
    assert check(records, "error[linf(0.1)] <= 2.5")
    careful = check(records, "error[linf(0.1)] <= 2.5", careful=True)
    assert careful.outcome == "inconclusive"
    (decision,) = careful.decisions
    assert decision.estimate.high > 0.03  # the rule of three
    assert decision.estimate.again(times=1 + decision.more / 100).high <= 0.025


@pytest.mark.parametrize(("wrong", "limit"), [(0, 0.5), (2, 1), (30, 6), (30, 9)])
def test_so_many_more_points_would_decide_it(wrong, limit):
    (d,) = check(records_of(ones(N - wrong), ones(N)), f"error <= {limit}%").decisions
    assert d.outcome == "inconclusive"

    def decided(n):  # the limits of Clopper and Pearson, for shares as measured
        k = wrong / N * n
        low = stats.beta.ppf(0.025, k, n - k + 1) if wrong else 0.0
        return stats.beta.ppf(0.975, k + 1, n - k) <= limit / 100 or low > limit / 100

    assert decided(N + d.more)
    assert not decided(N + d.more - 2)
    assert f"about {d.more if d.more < 100 else ''}" in str(d)


def test_no_number_of_points_decides_a_value_at_the_limit():
    (decision,) = check(records_of(ones(380), ones(380)), "accuracy >= 95").decisions
    assert (decision.outcome, decision.more) == ("inconclusive", None)
    assert "no number of points would decide it: it is at the limit" in str(decision)
    (decision,) = check(records_of(ones(380), ones(380)), "accuracy >= 90").decisions
    assert decision.more is None


def test_of_a_study_more_runs_would_decide(study_records):
    found = check(study_records, "mscr >= -3")
    finding = find(study_records).robustness
    series = [s for subject in finding.subjects for s in subject.at_eps_min]
    assert len(found.decisions) == len(series) == 2 * 3
    assert sorted(d.estimate.value for d in found.decisions) == pytest.approx(
        sorted(s.relative_loss.value for s in series)
    )
    assert all("training noise" in d.model for d in found.decisions)
    (d, *_) = [d for d in found.decisions if d.outcome == "inconclusive"]
    assert (d.unit, d.runs) == ("runs", 3)
    assert d.requirement.decide(*limits(d.estimate.again(times=1 + d.more / 3))) != "inconclusive"
    assert d.more == 1 or (
        d.requirement.decide(*limits(d.estimate.again(times=1 + (d.more - 1.9) / 3)))
        == "inconclusive"
    )
    assert d.json()["more_runs"] == d.more
    assert d.json()["more_points"] is None


def test_metrics_of_noise_are_those_of_the_library(noise_records):
    requirements = [
        "model(svm).mscr >= -1",
        "model(svm).relative_loss[linf(0.030)] >= -1",
        "difference(svm, 1nn).accuracy >= -1",
        "difference(svm, 1nn).error[linf(eps_min)] >= -1",
        "difference(svm, 1nn).mscr >= -1",
    ]
    svm, knn = (noise_records.select(model=m) for m in ("svm", "1nn"))
    m = st.metrics
    expected = [
        m.mscr(svm),
        m.relative_loss(svm, corruption="linf(0.03)"),
        m.accuracy_difference(svm, knn),
        m.accuracy_difference(knn, svm, corruption="linf(eps_min)"),
        m.mscr_difference(svm, knn),
    ]
    found = check(noise_records, requirements)
    for d, e in zip(found.decisions, expected, strict=True):
        assert d.estimate.value == e.value
        assert limits(d.estimate) == limits(e.again(confidence=0.99))
    assert found.decisions[2].model == "svm minus 1nn"
    assert "percentage points" in str(found.decisions[2])
    under = [d.under for d in check(noise_records, "error_probability <= 50").decisions]
    assert len(under) == 2 * 3
    assert "clean" not in under


def suite_of(metric, *, model="net", seed=0):
    """Records of a model under a suite of three sets with this metric."""
    sets = ("sp(0.1)", "sp(0.2) as SP2", "rotation(30)")
    rng = np.random.default_rng(seed)
    hits = {spec: rng.binomial(2, p, 80) for spec, p in zip(sets, (0.9, 0.7, 0.5), strict=True)}
    hits = {"clean": ones(70, 80), **hits}
    return make_records(hits, k=2, model=model, metric=metric, sets=sets)


def test_metrics_of_suites_are_those_of_the_library():
    m = st.metrics
    for metric, values in {
        "mce_lp": {"mce_lp": m.mce_lp},
        "mce_xn": {"mce_xn": m.mce_xn},
        "ice": {"ice": m.ice},
        "mcv": {"cv": lambda r: m.mcv(r).cv, "mean_accuracy": lambda r: m.mcv(r).mean},
    }.items():
        first, second = suite_of(metric, model="a"), suite_of(metric, model="b", seed=1)
        for name, function in values.items():
            (alone,) = check(first, f"{name} <= 30").decisions
            assert alone.estimate == function(first)
            assert alone.under == "by-hand"
            if name == "ice":
                continue
            text = f"difference(a, b).{name}[by-hand] <= 1"
            (pair,) = check(first + second, text).decisions
            difference = function(first).value - function(second).value
            assert pair.estimate.value == pytest.approx(difference, abs=1e-12)
            assert pair.estimate.low < difference < pair.estimate.high
    (decision,) = check(first, "accuracy[SP2] >= 10").decisions
    assert decision.estimate == m.accuracy(first, corruption="sp(0.2) as SP2")


def test_what_the_data_add_to_a_spec_need_not_be_written():
    clean = ones(390)
    fog = records_of(clean, ones(300), spec="fog(3, cifar)")
    (decision,) = check(fog, "error[fog(3)] <= 30").decisions
    assert (decision.under, decision.estimate.value) == ("fog(3, cifar)", 0.25)
    part = records_of(clean, ones(300), spec='jitter(0.2, only="a")')
    for spec in ("fog(2)", "jitter(0.2)"):  # noise in one column is no noise in all
        with pytest.raises(InputError, match="needs .* on record"):
            check(fog if spec[0] == "f" else part, f"error[{spec}] <= 30")


def test_models_that_lack_the_noise_are_not_passed_over():
    a, b = records_of(ones(390), ones(380), model="a"), records_of(ones(390), ones(380), model="b")
    records = a + b.select(corruption="clean")
    assert check(records, "accuracy >= 90")
    with pytest.raises(InputError) as error:
        check(records, "mscr >= -50")
    assert str(error.value) == (
        "requirement 'mscr >= -50%' needs linf(eps_min) on record for b, got clean, linf(eps_min); "
        "measure it by evaluate(…, corruptions='linf(eps_min)', store=); or name the models that "
        "it is about: model(NAME).mscr"
    )
    assert check(records, "model(a).mscr >= -50")
    with pytest.raises(InputError, match=r"evaluate\(…, corruptions=suite\('pnorm'\), store="):
        check(records, "mce_lp <= 30")


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        ("group_accuracy >= 1", "group_accuracy is no single rate; it has one number per group"),
        ("mscrr >= 1", "unknown metric in requirement 'mscrr >= 1%': 'mscrr'; did you mean 'mscr'"),
        ("mcv <= 1", "mcv is no single rate; it has two numbers: require cv or mean_accuracy"),
        ("mscr_difference >= 0", r"write difference\(FIRST, SECOND\).mscr"),
        ("model(nte).mscr >= 1", "unknown model .* 'nte'; did you mean 'net'"),
        ("difference(net, other).accuracy >= 1", "needs two models evaluated under the same noise"),
        ("cv <= 1", "must name its suite, such as cv"),
        ("error[jitter(0.2] <= 5", r"needs jitter\(0.2 on record .*; spec must read name"),
        ("error[jiter(0.2)] <= 5", "on record .*; unknown corruption 'jiter'; did you mean 'jitt"),
    ],
)
def test_what_is_not_known_is_said_with_a_remedy(requirement, message):
    other = Records(make_records({"clean": ones(5, 9)}, model="other", run=1).cells)  # other points
    with pytest.raises(InputError, match=message):
        check(records_of(ones(390), ones(380)) + other, requirement)


def test_models_are_subtracted_under_the_same_noise_only():
    records = sum(
        (
            records_of(ones(390), ones(right), model=model, seed=seed)
            for seed in (0, 1)
            for model, right in (("a", 380 - seed), ("b", 360))
        ),
        Records(()),
    )
    found = check(records, "difference(a, b).accuracy[linf(0.1)] >= 1").decisions
    assert [(d.under, round(N * d.estimate.value)) for d in found] == [
        ("linf(eps_min), seed 0", 20),
        ("linf(eps_min), seed 1", 19),
    ]


def test_differences_are_known_for_some_metrics_only():
    records = suite_of("ice", model="a") + suite_of("ice", model="b")
    with pytest.raises(InputError, match="differences of ice are not known"):
        check(records, "difference(a, b).ice <= 1")


def test_an_undefined_metric_names_model_and_requirement():
    with pytest.raises(UndefinedError, match="'mscr >= -1%' on net: clean accuracy is 0"):
        check(records_of(ones(0), ones(5)), "mscr >= -1")
    with pytest.raises(InputError, match="at least one cell on record"):
        check(Records(()), "mscr >= -1")


def test_a_metric_of_another_package_can_be_required(noise_records, monkeypatch):
    def worst(records):
        return min(
            (s.accuracy for s in st.metrics.series(records)), key=lambda estimate: estimate.value
        )

    theirs = {"worst": worst, "text": lambda r: "x", "broken": lambda r: 1 / 0}
    kind = FindingKind(lambda groups: None, metrics=theirs)
    monkeypatch.setattr(quantities, "list_metrics", lambda: dict(kind.metrics))
    found = check(noise_records, "worst >= 10")
    for d in found.decisions:
        assert d.estimate.value == worst(noise_records.select(model=d.model)).value
    for text, message in (
        ("text >= 1", "must return an Estimate to be required, got str"),
        ("broken >= 1", "failed: ZeroDivisionError"),
        ("worst[sp(1)] >= 1", "takes nothing in brackets"),
        ("difference(svm, 1nn).worst >= 1", "differences of worst are not known"),
    ):
        with pytest.raises(InputError, match=message):
            check(noise_records, text)


@pytest.mark.parametrize("number", [1, 5])
def test_at_the_limit_a_decision_is_rarely_wrong(number):
    """The truth is exactly at the limit, so that met is a false pass and not met a false fail.

    The number of right answers is binomial, so the rates are sums over all numbers.
    """
    n = 60
    specs = [f"sp({i})" for i in range(number)]
    rates = {"met": 0.0, "not met": 0.0, "inconclusive": 0.0}
    for right in range(n + 1):
        noisy = dict.fromkeys(specs, ones(right, n))
        records = make_records({"clean": ones(n, n), **noisy}, sets=())
        found = check(records, [f"accuracy[{spec}] >= 80" for spec in specs])
        rates[found.outcome] += stats.binom.pmf(right, n, 0.8)
    for outcome in ("met", "not met"):
        any_of_them = 1 - (1 - rates[outcome]) ** number
        assert 0.0025 < any_of_them <= 0.025
