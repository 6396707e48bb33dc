import time
from dataclasses import dataclass
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from helpers.threshold import X, Y, list_hits, threshold
from shaketable.core.errors import InputError, ModelError, ShaketableError
from shaketable.core.workers.tasks import Outcome
from shaketable.corruptions import parse
from shaketable.corruptions.suites.suite import Suite
from shaketable.data.arrays import join, make_dataset
from shaketable.evaluation.cells import Cell, Origin, make_points, measure_groups
from shaketable.evaluation.evaluate import Measured, check_complete, evaluate, keep_outcomes
from shaketable.evaluation.noise import Noise
from shaketable.evaluation.store import Store
from shaketable.models.classifier import as_classifier

LEVELS = ["linf(0.05)", "l2(0.1)", "l1(0.2)"]


@pytest.mark.parametrize(
    ("step", "kept"), [(0.6, [0, 1, 1, 3]), (0, [0, 1, 1, 1]), (2, [0, 1, 2, 3])]
)
def test_records_are_written_once_a_second_and_at_the_end(tmp_path, monkeypatch, step, kept):
    ticks, seen = count(step=step), []
    clock = SimpleNamespace(monotonic=lambda: next(ticks), time_ns=time.time_ns)
    monkeypatch.setattr("shaketable.evaluation.evaluate.time", clock)

    def look(x):
        with Store(tmp_path / "s") as file:
            seen.append(len(file.keys()))
        return threshold(x)

    evaluate(look, (X, Y), LEVELS, k=1, store=tmp_path / "s", model_id="look")
    assert seen == kept
    with Store(tmp_path / "s") as file:
        assert len(file.keys()) == 4


def test_what_was_measured_before_a_failure_is_kept(tmp_path):
    calls = count()

    def fail(x):
        if next(calls) == 2:
            raise RuntimeError("out of order")
        return threshold(x)

    with pytest.raises(ModelError, match="what was measured is in"):
        evaluate(fail, (X, Y), LEVELS, k=1, store=tmp_path / "s", model_id="fail")
    with Store(tmp_path / "s") as file:
        assert [c.corruption for c in file.records()] == ["clean", "linf(0.05)"]


def test_clean_comes_first_and_counts_are_right():
    records = evaluate(threshold, (X, Y), LEVELS, k=7)
    assert [c.corruption for c in records] == ["clean", *LEVELS]
    clean = records.cells[0]
    assert clean.k == 1
    assert clean.accuracy == 1
    np.testing.assert_array_equal(clean.predictions, Y)
    for cell in records.cells[1:]:
        assert cell.hits.max() <= 7
        # at distance > eps from the boundary nothing can change, in any of these norms
        safe = np.abs(X[:, 0] - 0.5) > cell.epsilon
        assert (cell.hits[safe] == 7).all()
        assert (cell.hits[~safe] < 7).any()


def test_the_share_of_hits_is_the_probability_that_noise_allows():
    # one point at distance a from the boundary: P(right) = (1 + a/eps)/2 under L-inf noise
    x, y = np.array([[0.5 + 0.02, 0.0], [0.0, 0.0]]), [1, 0]
    cell = evaluate(threshold, (x, y), ["linf(0.1)"], k=20_000).cells[1]
    p = (1 + 0.02 / 0.1) / 2
    assert cell.hits[0] / 20_000 == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 20_000))


def test_the_test_part_is_what_is_measured():
    data = join((X[:40], Y[:40]), (X[40:], Y[40:]))
    records = evaluate(threshold, data, ["linf(0.1)"])
    assert records.cells[0].points.rows.tolist() == list(range(40, 60))
    fitted = evaluate(KNeighborsClassifier(1), (X, Y), ["linf(0.1)"], refit=True)
    assert fitted.cells[0].n == 12


def test_a_cell_in_the_store_is_not_computed_again(tmp_path):
    calls = 0
    store = tmp_path / "r.sqlite"

    def model(x):
        nonlocal calls
        calls += 1
        return threshold(x)

    first = evaluate(model, (X, Y), LEVELS[:2], store=store, model_id="threshold")
    assert calls == 3
    again = evaluate(model, (X, Y), LEVELS, store=store, model_id="threshold")
    assert calls == 4
    assert list_hits(again)[:3] == list_hits(first)
    evaluate(model, (X, Y), LEVELS, store=store, model_id="threshold", k=11)
    assert calls == 7  # clean points do not depend on k
    evaluate(model, (X, Y), LEVELS, store=store)
    assert calls == 11  # without an identity nothing is taken for the same
    evaluate(model, (X + 1e-9, Y), LEVELS, store=store, model_id="threshold")
    assert calls == 15
    with Store(store) as opened:
        assert len(opened.records()) == 15


def test_image_shaped_points_reach_callables_in_their_shape():
    x = np.random.default_rng(0).integers(0, 256, (20, 8, 8, 3), dtype=np.uint8)
    shapes = set()

    def model(batch):
        shapes.add((batch.shape[1:], batch.dtype.str, float(batch.max()) <= 1))
        return np.arange(len(batch)) % 2

    evaluate(model, make_dataset(x, np.arange(20) % 2), ["linf(0.1)"], k=2)
    assert shapes == {((8, 8, 3), "<f4", True)}
    evaluate(model, (x, np.arange(20) % 2), ["linf(0.1)"], k=2)
    assert shapes == {((8, 8, 3), "<f4", True)}
    evaluate(model, (x.astype(np.float32), np.arange(20) % 2), ["linf(0.1)"], k=2)
    assert ((8, 8, 3), "<f4", False) in shapes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 2.5}, "k must be"),
        ({"seed": -1}, "seed must be"),
        ({"bounds": (0.2, 0.8)}, "lie in the bounds"),
        ({"draws": "share"}, "did you mean 'shared'"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        evaluate(threshold, (X, Y), LEVELS, **options)


def test_fewer_points_than_classes_are_refused():
    with pytest.raises(InputError, match="as many points as there are classes"):
        evaluate(threshold, join((X[:9], [0, 1, 2] * 3), (X[:2], [0, 1])), LEVELS)


def test_any_kind_of_integer_is_the_same_integer():
    plain = evaluate(threshold, (X, Y), LEVELS, k=3, seed=3)
    numpy = evaluate(threshold, (X, Y), LEVELS, k=np.int64(3), seed=np.uint8(3))
    assert list_hits(plain) == list_hits(numpy)
    assert numpy.cells[1].k == 3


def test_records_come_under_the_name_that_was_asked_for(tmp_path):
    options = {"store": tmp_path / "r.sqlite", "model_id": "m"}
    evaluate(threshold, (X, Y), LEVELS, name="first", **options)
    assert evaluate(threshold, (X, Y), LEVELS, name="second", **options).models == ["second"]


def test_a_model_has_the_name_that_it_was_given_last(tmp_path):
    options = {"store": tmp_path / "r.sqlite", "model_id": "m"}
    evaluate(threshold, (X, Y), LEVELS, name="new", **options)
    evaluate(threshold, (X, Y), LEVELS[:1], name="old", **options)
    with Store(tmp_path / "r.sqlite") as store:  # its rows are checked
        assert store.records().models == ["old"]
        assert len(store.records()) == 1 + len(LEVELS)


class Threshold:
    def __init__(self, limit):
        self.limit = limit

    def __call__(self, x):
        return (x[:, 0] > self.limit).astype(int)


def test_a_mapping_names_models_and_equal_ones_have_results_under_both_names(tmp_path):
    store = tmp_path / "r.sqlite"
    for limits in ((0.5, 0.5), (0.5, 0.4)):
        models = dict(zip(("old", "new"), map(Threshold, limits), strict=True))
        for _ in range(2):
            records = evaluate(models, (X, Y), LEVELS, store=store)
            old, new = (records.select(model=name) for name in ("old", "new"))
            assert records.models == ["old", "new"]
            assert len(old) == len(new) == 1 + len(LEVELS)
            assert (list_hits(old) == list_hits(new)) == (limits[0] == limits[1])
        with Store(store) as results:
            kept = results.records()
        assert sorted(kept.models) == ["new", "old"]
        assert len(kept) == len(records)
    with pytest.raises(InputError, match="its keys are their names: leave out name"):
        evaluate(models, (X, Y), LEVELS, name="both")


def test_each_of_several_equal_models_has_results_under_its_own_name(tmp_path):
    models = {name: Threshold(0.5) for name in "abcd"}
    for store in (None, tmp_path / "r.sqlite", tmp_path / "r.sqlite"):
        records = evaluate(models, (X, Y), LEVELS, store=store)
        assert records.models == list("abcd")
        assert len({cell.key for cell in records}) == len(records) == 4 * (1 + len(LEVELS))
        assert len({tuple(map(tuple, list_hits(records.select(model=m)))) for m in models}) == 1
        assert len({cell.recipe for cell in records}) == 4


def test_stopped_ladders_go_on_where_they_were(tmp_path):
    asked = []
    levels = ["l2(0.02)", "l2(0.1)", "linf(0.05)", "l2(0.3)", "l1(0.1)"]

    def model(x):
        asked.append(len(x))
        if len(asked) == 5:  # clean, three sizes of L2, and then
            raise KeyboardInterrupt
        return threshold(x)

    store = tmp_path / "r.sqlite"
    settings_ = {"k": 2, "draws": "ladder", "store": store, "model_id": "m"}
    with pytest.raises(KeyboardInterrupt):
        evaluate(model, (X, Y), levels, **settings_)
    asked.clear()
    asked.extend(range(10))
    records = evaluate(model, (X, Y), levels, **settings_)
    assert len(asked) == 12
    assert list_hits(records) == list_hits(evaluate(threshold, (X, Y), levels, k=2, draws="ladder"))


def test_a_suite_has_its_number_of_draws_unless_another_is_asked_for():
    both = [Suite("mine", "two levels", ("l2(0.1)", "l2(0.2)"), k=4), "l1(0.2)"]
    assert [c.k for c in evaluate(threshold, (X, Y), both)] == [1, 4, 4, 10]
    assert [c.k for c in evaluate(threshold, (X, Y), both, k=3)] == [1, 3, 3, 3]


def test_records_name_the_suites_that_they_hold_and_no_others(tmp_path):
    small = Suite("small", "one level", ("l2(0.1)",))
    large = Suite("large", "two levels", ("l2(0.1)", "l2(0.2)"))
    store = tmp_path / "r.sqlite"
    options = {"store": store, "model_id": "m", "draws": "ladder", "k": 2}
    assert [s.name for s in evaluate(threshold, (X, Y), large, **options).suites] == ["large"]
    assert [s.name for s in evaluate(threshold, (X, Y), small, **options).suites] == ["small"]


def test_models_without_an_identity_are_measured_each_time(tmp_path):
    store = tmp_path / "r.sqlite"
    first, second = (
        evaluate(answer, (X, Y), LEVELS, store=store, name="same")
        for answer in (threshold, lambda x: 1 - threshold(x))
    )
    assert first.cells[0].accuracy == 1
    assert second.cells[0].accuracy == 0
    assert not {c.key for c in first} & {c.key for c in second}


DATA = make_dataset(X, Y)


@dataclass(frozen=True, eq=False)
class Task:
    cells: tuple[Cell, ...]

    name, shared, uses_gpu = "task", (), False


def make_outcomes(signs):
    """Outcomes of tasks: + has a record, - an error, * both a record and a failure."""
    model = as_classifier(threshold, DATA, model_id="m")
    points = make_points(DATA, np.arange(10))
    for i, sign in enumerate(signs):
        origin = Origin("m", "r", "clean")
        cells = [
            Cell(DATA, points, parse(spec), Noise(k=1, seed=i), origin, f"id {i}")
            for spec in ("clean", "linf(0.1)")
        ]
        task = Task(tuple(cells))
        if sign == "-":
            yield Outcome(task, error=InputError(f"error {i}"))
            continue
        (records,) = measure_groups([cells[:1]], model)
        measured = Measured(records)
        if sign == "*":
            measured.fail(cells[1], InputError(f"failure {i}"))
        yield Outcome(task, measured)


@pytest.mark.parametrize(
    ("signs", "resumed", "raised", "records", "failures"),
    [
        ("++", False, None, 2, []),
        ("+-", False, None, 1, ["error 1"]),
        ("-+", False, None, 1, ["error 0"]),
        ("--+---", False, None, 1, ["error 0", "error 1", "error 3", "error 4", "error 5"]),
        ("---+", False, "error 0", 0, ["error 0", "error 1", "error 2"]),
        ("--", False, "error 0", 0, ["error 0", "error 1"]),
        ("-", False, "error 0", 0, ["error 0"]),
        ("---+", True, None, 1, ["error 0", "error 1", "error 2"]),
        ("--", True, None, 0, ["error 0", "error 1"]),
        ("*-*", False, None, 2, ["failure 0", "error 1", "failure 2"]),
        ("", True, None, 0, []),
    ],
)
def test_what_is_measured_is_kept_and_only_what_is_hopeless_raises(
    signs, resumed, raised, records, failures
):
    with Store() as store:
        if raised:
            with pytest.raises(InputError, match=f"^{raised}$"):
                keep_outcomes(make_outcomes(signs), store, resumed=resumed)
        else:
            keep_outcomes(make_outcomes(signs), store, resumed=resumed)
        found = store.everything()
        assert len(found) == records
        assert sorted(failure.error for failure in found.failures) == sorted(failures)
        if failures:
            number = "1 failure: " if len(failures) == 1 else f"{len(failures)} failures, the first"
            with pytest.raises(ShaketableError, match=f"^results are not complete: {number}"):
                check_complete(found)
        else:
            check_complete(found)


def test_an_error_belongs_to_the_first_cell_of_its_task_and_goes_when_it_is_measured():
    (failed,) = make_outcomes("-")
    with Store() as store:
        keep_outcomes([failed], store, resumed=True)
        (failure,) = store.everything().failures
        assert failure.key == failed.task.cells[0].key
        keep_outcomes(make_outcomes("+"), store, resumed=True)
        assert store.everything().failures == ()


class Counting:
    """A model that counts the points that it answers."""

    def __init__(self):
        self.points = 0

    def __call__(self, x):
        self.points += len(x)
        right = np.clip(x[:, 0], 0, 1)
        return np.stack([1 - right, right], axis=1)


def check_answers(records):
    for cell in records:
        codes = cell.answers.predicted
        assert codes.shape == (cell.n, cell.k)
        np.testing.assert_array_equal((codes == cell.points.y[:, None]).sum(axis=1), cell.hits)
        np.testing.assert_array_equal(cell.answers.scores.argmax(axis=2), codes)


@pytest.mark.parametrize("batch", [7, 1 << 16])
def test_answers_are_those_that_hits_count_whatever_the_batches(batch, monkeypatch):
    whole = evaluate(Counting(), (X, Y), ["linf(0.3)", "l2(0.3)"], k=5)
    monkeypatch.setattr("shaketable.evaluation.cells.BATCH_ROWS", batch)
    parts = evaluate(Counting(), (X, Y), ["linf(0.3)", "l2(0.3)"], k=5)
    check_answers(parts)
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(a.answers.scores, b.answers.scores)


def test_cells_without_answers_are_measured_again_on_request_alone(tmp_path):
    model, options = Counting(), {"store": tmp_path / "s", "model_id": "m", "k": 2}
    hits = evaluate(model, (X, Y), "linf(0.3)", record="hits", **options)
    assert [cell.answers for cell in hits] == [None, None]
    before = model.points
    assert [c.answers for c in evaluate(model, (X, Y), "linf(0.3)", **options)] == [None, None]
    assert model.points == before
    again = evaluate(model, (X, Y), "linf(0.3)", record="answers", **options)
    assert model.points == 2 * before
    check_answers(again)
    assert list_hits(again) == list_hits(hits)
    check_answers(evaluate(model, (X, Y), "linf(0.3)", record="hits", **options))  # they stay
    assert model.points == 2 * before
    with Store(tmp_path / "s") as store:
        assert len(store.keys()) == 2
        assert store.list_unanswered() == set()
