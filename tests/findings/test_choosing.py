"""Messages of metrics that could mean several results: what they advise works at once."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shaketable import metrics
from shaketable.core.errors import InputError
from shaketable.corruptions.suites.suite import Suite
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Records
from shaketable.evaluation.study import study
from shaketable.findings.subjects import name_noise
from shaketable.models.builtin import builtin

X = np.random.default_rng(0).uniform(size=(60, 2))
DATA = make_dataset(X, X[:, 0] > 0.5, name="halves", bounds=(0, 1))
OTHER = make_dataset(X, X[:, 1] > 0.5, name="others", bounds=(0, 1))
LEVELS = ["linf(eps_min)", "l2(eps_min)", "linf(0.1)", "sp(0.1)"]


def crooked(x: Any) -> Any:
    return x[:, 0] + 0.05 * np.sin(20 * x[:, 1]) > 0.5


def straight(x: Any) -> Any:
    return x[:, 0] > 0.45


def measure(data: Any = DATA, *, k: int = 2, levels: Any = LEVELS) -> Records:
    records = Records(())
    for model in (crooked, straight):
        records += evaluate(model, data, levels, k=k, name=model.__name__, model_id=model.__name__)
    return records


MODELS = measure()
SETTINGS = MODELS + measure(k=3)
DATA_SETS = MODELS + measure(OTHER)
NORMS = [f"l{p}(0.1)" for p in (1, 2)]
SUITES = measure(levels=[Suite("two", "two norms", tuple(NORMS), "mce_lp")])
RUNS = study(DATA, builtin("1nn"), train_eps=[0, 0.05], test_eps=["eps_min"], runs=2, k=2, n_jobs=1)


def follow(metric: Callable[..., Any], records: Records) -> Any:
    """Call a metric, and if it fails, call it again with the arguments that the message names."""
    try:
        return metric(records)
    except InputError as error:
        message = str(error)
    advice = re.search(r"; (?:do not .*, but )?pass (.*?)(?:, or .*)?$", message)
    assert advice, message
    first, _, corruption = advice[1].partition(" and corruption=")
    argument = eval(first, {"records": records, "metrics": metrics})
    return metric(argument, **({"corruption": eval(corruption)} if corruption else {}))


@pytest.mark.parametrize("records", [MODELS, SETTINGS, DATA_SETS], ids=["models", "k", "data"])
@pytest.mark.parametrize(
    "metric", [metrics.accuracy, metrics.relative_loss, metrics.mscr, metrics.error_probability]
)
def test_advice_of_metrics_of_one_corruption_works_at_once(
    metric: Callable[..., Any], records: Records
) -> None:
    with pytest.raises(InputError, match="needs exactly one model under one corruption"):
        metric(records)
    follow(metric, records)


@pytest.mark.parametrize("metric", [metrics.accuracy, metrics.error_probability])
def test_metrics_of_noise_alone_need_no_clean_cells(metric: Callable[..., Any]) -> None:
    chosen = MODELS.select(corruption="linf(0.1)", model="crooked")
    whole = MODELS.select(model="crooked")
    value = metric(chosen, corruption="linf(0.1)")
    expected = metric(whole, corruption="linf(0.1)")
    assert getattr(value, "overall", value) == getattr(expected, "overall", expected)
    follow(metrics.error_probability, MODELS.select(corruption="linf(0.1)"))


@pytest.mark.parametrize("metric", [metrics.relative_loss, metrics.mscr])
def test_advice_where_clean_cells_were_not_selected_works_with_all_records(
    metric: Callable[..., Any],
) -> None:
    with pytest.raises(InputError, match="needs the clean cells too") as error:
        metric(MODELS.select(model="crooked", corruption="linf(0.1)"))
    assert "pass records.select(model='crooked') and corruption='linf(0.1)'" in str(error.value)
    whole = MODELS.select(model="crooked")
    assert (
        metric(whole, corruption="linf(0.1)").value
        == metrics.relative_loss(whole, corruption="linf(0.1)").value
    )


def test_a_corruption_may_be_named_by_eps_min() -> None:
    records = MODELS.select(model="straight")
    for norm in ("linf", "l2"):
        (series,) = [s for s in metrics.series(records) if s.at_eps_min and
                     s.first.corruption.startswith(norm)]  # fmt: skip
        assert metrics.mscr(records, corruption=f"{norm}(eps_min)") == metrics.mscr(series)


def test_a_corruption_may_be_named_by_multiples_of_eps_min() -> None:
    levels = ["linf(0.5*eps_min)", "linf(eps_min) + l2(eps_min/3)", "linf(0.1) as tenth"]
    records = measure(levels=levels).select(model="straight")
    half, both, tenth = metrics.series(records)[1:]
    assert [name_noise(s) for s in (half, both, tenth)] == levels
    assert not half.at_eps_min
    for corruption in ("linf(0.5*eps_min)", "linf( eps_min / 2 )", half.first.corruption):
        assert metrics.accuracy(records, corruption=corruption) == half.accuracy
    for corruption in ("linf(1*eps_min) + l2(eps_min/3)", both.first.corruption):
        assert metrics.accuracy(records, corruption=corruption) == both.accuracy
    for corruption in ("linf(0.10) as tenth", "tenth"):
        assert metrics.accuracy(records, corruption=corruption) == tenth.accuracy
    for corruption in ("linf(2*eps_min)", "l1(eps_min)", "linf(eps_min)"):
        with pytest.raises(InputError, match="on record, got 'clean'; 'linf.0.5.eps_min.'"):
            metrics.accuracy(records, corruption=corruption)


def test_a_corruption_that_was_not_evaluated_is_named_with_those_that_were() -> None:
    with pytest.raises(InputError, match=r"needs 'fog\(1\)' on record, got 'clean'; 'linf\(eps_m"):
        metrics.error_probability(MODELS, corruption="fog(1)")
    with pytest.raises(InputError, match="needs a corruption on record, got 'clean'; evaluate"):
        metrics.mscr(MODELS.select(corruption="clean"))


def test_advice_about_runs_and_shared_draws_leads_out() -> None:
    one = RUNS.select(train="clean")
    with pytest.raises(InputError, match="got 2 runs"):
        metrics.error_probability(one)
    assert follow(metrics.error_probability, one).k == 2
    follow(metrics.mscr, RUNS)
    shared = evaluate(crooked, DATA, "linf(0.1)", draws="shared", k=2)
    with pytest.raises(InputError, match="evaluate with draws='independent'") as e:
        metrics.error_probability(shared)
    assert "study" not in str(e.value)  # whose several runs this metric refuses
    with pytest.raises(InputError, match="or measure several runs in a study"):
        metrics.accuracy(shared, corruption="linf(0.1)")


def test_advice_of_metrics_of_suites_works_at_once() -> None:
    assert follow(metrics.mce_lp, SUITES) == metrics.mce_lp(SUITES.select(model="crooked"))
    again = SUITES + measure(k=3, levels=[Suite("two", "two norms", tuple(NORMS), "mce_lp")])
    assert follow(metrics.mce_lp, again.select(model="crooked")) in [
        metrics.mean_error(r) for r in metrics.suite_results(again)
    ]
    with pytest.raises(InputError, match="got none; evaluate the model with a suite for mce_15"):
        metrics.mce_15(SUITES)


def test_accuracy_differences_are_paired_differences_of_accuracies() -> None:
    records = measure(k=4)
    a, b = (records.select(model=name) for name in ("crooked", "straight"))
    for corruption in ("clean", "linf(0.1)", "l2(eps_min)"):
        gap = metrics.accuracy_difference(a, b, corruption=corruption)
        first, second = (metrics.accuracy(r, corruption=corruption) for r in (a, b))
        assert gap.value == pytest.approx(first.value - second.value, abs=1e-12)
        assert gap.high - gap.low < first.high - first.low + second.high - second.low
    other = measure(k=3).select(model="straight")
    with pytest.raises(InputError, match="accuracy_difference needs two models evaluated under"):
        metrics.accuracy_difference(a, other, corruption="linf(0.1)")
