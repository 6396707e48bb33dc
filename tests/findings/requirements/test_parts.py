"""Requirements on classes and groups: what brackets hold, and what decides."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import shaketable as st
from helpers.records import make_records
from shaketable.core.errors import InputError
from shaketable.evaluation.records import GroupingRecord, Points, Records
from shaketable.findings.requirements.check import check
from shaketable.findings.requirements.requirement import (
    check_groups,
    list_columns,
    list_needs,
    parse_requirement,
    parse_requirements,
)


def records_of(right, sizes, *, column="sex", names="abcdefgh", model="net", noisy=None):
    """Records in which `right` of the points of each group are right; classes 0 and 1 alternate."""
    hits = np.concatenate([np.arange(n) < r for r, n in zip(right, sizes, strict=True)]).astype(int)
    made = make_records({"clean": hits, "linf(0.1)": hits if noisy is None else noisy}, model=model)
    y = np.arange(len(hits)) % 2
    points = Points("points", ("no", "yes"), np.arange(len(hits)), y)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    grouping = GroupingRecord("f", column, tuple(names[: len(sizes)]), codes)
    cells = tuple(replace(cell, points=points) for cell in made)
    return Records(cells, groupings=(grouping,))


def exact(right, n, confidence):
    interval = stats.binomtest(right, n).proportion_ci(confidence, method="exact")
    return pytest.approx((interval.low, interval.high), abs=1e-9)


def ends(estimate):
    return estimate.low, estimate.high


@pytest.mark.parametrize(
    ("text", "under", "group", "worst", "models"),
    [
        ("accuracy[by sex=f] >= 85", "", ("sex", "f"), "", ()),
        ("accuracy[by 'a b'=\"f, g\", linf(0.1)] >= 85", "linf(0.1)", ("a b", "f, g"), "", ()),
        ("accuracy[fog(3, x=1), by sex = f] >= 85", "fog(3, x=1)", ("sex", "f"), "", ()),
        ("accuracy[under a set] >= 85", "a set", None, "", ()),
        ("worst_group(sex).accuracy >= 80", "", None, "sex", ()),
        ("model(rf).worst_group('a, b').error[linf(0.1)] <= 5", "linf(0.1)", None, "a, b", ("rf",)),
        ("worst_group(sex).difference(a, b).error <= 5", "", None, "sex", ("a", "b")),
    ],
)
def test_brackets_and_words_are_read(text, under, group, worst, models):
    r = parse_requirement(text)
    assert (r.under, r.group, r.worst, r.models) == (under, group, worst, models)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("accuracy[linf(0.1), fog(3)] >= 85", "names two corruptions or suites"),
        ("accuracy[by a=1, by b=2] >= 85", "names two groups"),
        ("worst_group(a, b).accuracy >= 85", "must name one column, got 2"),
        ("worst_group(a).worst_group(b).accuracy >= 85", "its groups once"),
        ("model(a).difference(a, b).accuracy >= 85", "must name its models once"),
    ],
)
def test_what_is_named_twice_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        parse_requirement(text)


def test_a_group_is_decided_by_its_points_alone():
    records = records_of([95, 60], [100, 100])
    found = check(records, ["accuracy[by sex=a] >= 85", "error[by sex=b, linf(0.1)] <= 20"])
    first, second = found.decisions
    assert ends(first.estimate) == exact(95, 100, 0.975)
    assert ends(second.estimate) == exact(40, 100, 0.975)
    assert [d.outcome for d in found.decisions] == ["met", "not met"]
    assert [(d.part, d.n, d.fewest) for d in found.decisions] == [
        ("sex=a", 100, 100),
        ("sex=b", 100, 100),
    ]
    assert "for sex=a" in str(first)
    assert found.json()["requirements"][1]["part"] == "sex=b"


def test_classes_are_groups():
    records = records_of([150], [200])  # of both classes 75 of 100
    (by_class,) = check(records, "accuracy[by class=yes] >= 85").decisions
    assert ends(by_class.estimate) == exact(75, 100, 0.95)
    (worst,) = check(records, "worst_group(class).accuracy >= 85").decisions
    assert ends(worst.estimate) == exact(75, 100, 0.975)
    assert worst.groups == 2


def test_the_worst_group_decides_and_groups_share_the_error_probability():
    records = records_of([95, 90, 85], [100, 100, 100])
    found = check(records, ["worst_group(sex).accuracy >= 70", "accuracy >= 70"])
    worst, _ = found.decisions
    assert worst.estimate.value == pytest.approx(0.85)
    assert (worst.part, worst.groups, worst.outcome) == ("sex=c", 3, "met")
    assert ends(worst.estimate) == exact(85, 100, 1 - 0.05 / 2 / 3)
    (error,) = check(records, "worst_group(sex).error <= 30").decisions
    assert error.estimate.value == pytest.approx(0.15)
    assert ends(error.estimate) == exact(15, 100, 1 - 0.05 / 3)
    assert "worst of 3" in str(error)


def test_a_small_group_may_have_the_lower_limit_and_another_the_value():
    records = records_of([88, 9], [100, 10])  # 88 % of many, 90 % of few
    (worst,) = check(records, "worst_group(sex).accuracy >= 70").decisions
    few, many = (
        stats.binomtest(*counts).proportion_ci(0.975, method="exact")
        for counts in ((9, 10), (88, 100))
    )
    assert worst.estimate.value == pytest.approx(0.88)
    assert ends(worst.estimate) == pytest.approx((few.low, many.high), abs=1e-9)
    assert worst.outcome == "inconclusive"
    assert worst.more is not None


@pytest.mark.parametrize("size", [9, 10])
def test_fewer_than_ten_points_are_inconclusive(size):
    records = records_of([200, size], [200, size])
    (one,) = check(records, "accuracy[by sex=b] >= 5").decisions
    assert one.outcome == ("inconclusive" if size < 10 else "met")
    (every,) = check(records, "worst_group(sex).accuracy >= 5").decisions
    assert every.outcome == ("inconclusive" if size < 10 else "met")
    if size < 10:
        assert "9 points, and at least 10 are needed" in str(one)
        assert one.more in (1, 2)
        assert "sex=b has 9 points" in str(every)


def test_one_group_that_fails_is_enough_whatever_others_have():
    records = records_of([40, 3], [100, 3])
    (every,) = check(records, "worst_group(sex).accuracy >= 80").decisions
    assert (every.outcome, every.part) == ("not met", "sex=a")


def test_a_group_without_points_keeps_all_from_being_met():
    records = records_of([100, 0], [100, 0])
    (every,) = check(records, "worst_group(sex).accuracy >= 80").decisions
    assert (every.outcome, every.fewest, every.more) == ("inconclusive", 0, None)


def test_differences_of_a_group_are_paired():
    right = np.arange(200) % 100
    first, second = (
        records_of([100, 100], [100, 100], model=name, noisy=(right >= wrong).astype(int))
        for name, wrong in (("new", 0), ("old", 10))
    )
    records = first + second
    (d,) = check(records, "difference(new, old).accuracy[by sex=a, linf(0.1)] >= -1").decisions
    alone = [
        replace(r, cells=tuple(c.choose(np.arange(200) < 100, "sex=a") for c in r))
        for r in (first, second)
    ]
    expected = st.metrics.accuracy_difference(*alone, corruption="linf(0.1)")
    assert ends(d.estimate) == ends(expected)
    assert (d.n, d.outcome) == (100, "met")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("accuracy[by age=3] >= 80", "needs groups by age on record, got class, sex"),
        ("worst_group(age).accuracy >= 80", "evaluate with by='age'"),
        ("accuracy[by sex=x] >= 80", "unknown value of sex in requirement .*'x'"),
        ("accuracy[by class=x] >= 80", "unknown value of class"),
        ("accuracy[class yes] >= 80", r"has no classes; .* accuracy\[by class=yes\]"),
        ("accuracy[class maybe] >= 80", "unknown class in requirement"),
        ("calibration_error <= 5", "needs answers"),
        ("flip_size <= 5", "flip_size is no single rate; it has one number per size"),
    ],
)
def test_what_is_not_on_record_says_what_to_do(text, message):
    with pytest.raises(InputError, match=message) as error:
        check(records_of([90, 80], [100, 100]), text)
    assert "\n" not in str(error.value)


def test_what_would_not_be_kept_is_said_before_anything_is_measured():
    wanted = parse_requirements(
        ["accuracy[by sex=f, linf(0.1)] >= 85", "worst_group(b).error <= 5"]
    )
    assert list_columns(wanted) == ["sex", "b"]
    assert list_needs(wanted) == ["linf(0.1)"]
    check_groups(wanted, ["b", "sex"], answers=False)
    with pytest.raises(InputError, match="needs groups by b, which would not be on record"):
        check_groups(wanted, ["sex"], answers=True)
    with pytest.raises(InputError, match="record='answers'"):
        check_groups([parse_requirement("calibration_error <= 5")], [], answers=False)


def test_answers_follow_the_points_of_a_group():
    rng = np.random.default_rng(0)
    x, sex = rng.random((300, 1)), rng.permutation(300) % 3

    def model(x):
        return np.column_stack([1 - x[:, 0], x[:, 0]])

    y = (rng.random(300) < x[:, 0]).astype(int)
    options = {"k": 3, "bounds": None}
    whole = st.evaluate(model, (x, y), "linf(0.2)", **options, by={"sex": sex})
    (d,) = check(whole, "calibration_error[by sex=1, linf(0.2)] <= 50").decisions
    chosen = tuple(c.choose(sex[c.points.rows] == 1, "sex=1") for c in whole)
    expected = st.metrics.calibration_error(replace(whole, cells=chosen), corruption="linf(0.2)")
    assert d.estimate.value == pytest.approx(expected.value, abs=1e-12)
    cell = chosen[1]
    again = whole.cells[1].answers.predicted[sex == 1]
    assert np.array_equal(cell.answers.predicted, again)
    assert cell.hits.tolist() == (again == y[sex == 1, None]).sum(axis=1).tolist()


def test_a_stopping_rule_decides_groups():
    x = np.linspace(0, 1, 5000)[:, None]
    data = x, x[:, 0] > 0.5
    rule = st.Decided("worst_group(class).accuracy >= 80%")
    records = st.evaluate(lambda x: x[:, 0] > 0.5, data, "linf(0.1)", k=1, until=rule)
    assert records.cells[0].n < 5000
    assert rule.forecast(records) == 1.0


def test_measures_that_are_no_shares_are_shown_and_compared_as_numbers():
    x = np.linspace(0, 1, 200)[:, None]
    records = st.evaluate(lambda x: x[:, 0] > 0.4, (x, x[:, 0] > 0.5), "clean", name="m")
    found = check(records, ["matthews >= 0.5", "f1 >= 50"])
    expected = st.metrics.measure(records, "matthews").value
    number, share = found.json()["requirements"]
    assert (number["limit"], number["mean"]) == (0.5, pytest.approx(expected))
    assert (share["limit"], share["mean"] > 50) == (50, True)
    table, _ = found.blocks()
    texts = [row[3].split(" ")[0] for row in table.texts()]
    assert float(texts[0]) == pytest.approx(expected, abs=1e-4)
    assert float(texts[1]) == pytest.approx(share["mean"], abs=0.01)
    assert f"m has {expected:.4g}, 97.5 % interval" in str(found.decisions[0])
    assert "%" not in str(found.decisions[0]).partition("m has ")[2].replace("97.5 %", "")


def test_the_group_with_too_few_points_is_named():
    found = check(records_of([90, 3], [100, 3]), "worst_group(sex).accuracy >= 60")
    (decision,) = found.decisions
    assert (decision.part, decision.smallest, decision.fewest) == ("sex=a", "sex=b", 3)
    assert "sex=b has 3 points, and at least 10 are needed" in str(decision)
    table, _ = found.blocks()
    assert "needs 10 points in sex=b, got 3" in next(table.texts())
