"""What becomes of tasks that fail: kept, counted, and an error where nothing can come of it."""

from dataclasses import dataclass

import numpy as np
import pytest

from helpers.threshold import X, Y, threshold
from shaketable.core.errors import InputError, ShaketableError
from shaketable.core.workers.tasks import Outcome
from shaketable.corruptions import parse
from shaketable.data.arrays import make_dataset
from shaketable.evaluation.cells import Cell, Origin, make_points, measure_groups
from shaketable.evaluation.evaluate import Measured, check_complete, keep_outcomes
from shaketable.evaluation.noise import Noise
from shaketable.evaluation.store import Store
from shaketable.models.classifier import as_classifier

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
