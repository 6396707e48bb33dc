from dataclasses import replace

import numpy as np
import pytest

import shaketable as st
from helpers.trainings import TINY_PLAN, write_images
from shaketable import metrics
from shaketable.reproductions.claims import Within, find_worst
from shaketable.reproductions.numbers import Numbers
from shaketable.reproductions.papers.images import OTHER_IMAGES
from shaketable.reproductions.papers.mscr import separation_images as module
from shaketable.reproductions.papers.mscr.separation_images import (
    SIZES,
    Matrix,
    find_best_sizes,
    find_printed_best,
    follow_mscr,
    follow_optima,
    tabulate_accuracies,
    tabulate_gains,
    tabulate_mscr,
    tabulate_optima,
)
from shaketable.reproductions.published import load_published
from shaketable.reproductions.registry import REPRODUCTIONS, Asked


@pytest.fixture(scope="module")
def matrix():
    """1-NN on the iris data, with eps_min a size among others."""
    sizes = dict(zip(SIZES, (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5), strict=True))
    records = st.study(
        "iris",
        "1nn",
        train_eps=list(sizes.values()),
        corruptions=[f"linf({size})" for size in sizes.values() if size],
        k=1,
        runs=3,
        n_jobs=1,
    )
    return Matrix(records, sizes, comparable=True)


def judge(tables, claims):
    numbers = Numbers(tables).by_name
    return [claim.judge(numbers) for claim in claims]


def test_printed_mscr_follows_from_printed_accuracies():
    (verdict,) = judge([follow_mscr()], [module._FOLLOWS])
    assert verdict.verdict == "holds"


def test_uncorrected_column_does_not_give_the_printed_mscr():
    """The erratum: with the accuracies as printed the column .01 would have -26.54 %."""
    published = load_published("mscr-table3")
    slip = float(published["test eps_min", "train 0.01"].slip)
    clean = published["test 0", "train 0.01"].value
    assert 100 * (slip - clean) / clean == pytest.approx(-26.54, abs=0.005)
    assert published["MSCR", "train 0.01"].value == -33.977


def test_claim_fails_if_mscr_is_not_divided(monkeypatch):
    monkeypatch.setattr(
        metrics, "relative_change", lambda clean, robust: np.subtract(robust, clean) / 100
    )
    assert find_worst(judge([follow_mscr()], [module._FOLLOWS])) == "fails"


def test_matrix_has_the_accuracies_of_the_records(matrix):
    table = tabulate_accuracies(matrix)
    number = table.by_name["accuracy: test 0.05 / train eps_min"]
    cells = [c for c in matrix.records if c.corruption == "linf(0.5)" and c.train == "linf(1)"]
    assert len(cells) == 3
    assert list(number.ours) == pytest.approx([100 * cell.hits.mean() for cell in cells])
    assert number.printed.value == 86.745
    assert len(table.numbers) == 64


def test_printed_accuracies_stand_at_their_place(matrix):
    printed = tabulate_accuracies(matrix).by_name["accuracy: test 0.15 / train 0.07"].printed
    assert (printed.value, printed.half, printed.runs) == (77.257, 1.083, 20)


def test_mscr_is_the_mean_of_ratios(matrix):
    number = tabulate_mscr(matrix).by_name["MSCR: train 0.03"]
    robust, clean = (matrix.find(size, "0.03").accuracies for size in ("eps_min", "0"))
    assert list(number.ours) == pytest.approx(list(100 * (robust / clean - 1)))


def test_gains_are_paired_by_run(matrix):
    number = tabulate_gains(matrix).by_name["gain: train 0.15"]
    ours, plain = (matrix.find("0", size).accuracies for size in ("0.15", "0"))
    assert list(number.ours) == pytest.approx(list(100 * (ours - plain)))
    assert number.printed.value == pytest.approx(81.989 - 91.681)


def test_a_single_run_decides_nothing(matrix):
    one = Matrix(matrix.records.select(run=0), matrix.sizes, comparable=False)
    numbers = tabulate_mscr(one).by_name
    number = numbers["MSCR: train 0"]
    assert (number.runs, number.printed, number.estimate) == (1, None, None)
    for low, high in ((-200, 0), (0, 200)):
        assert Within("", "MSCR: *", low=low, high=high).judge(numbers).verdict == "inconclusive"


def test_best_sizes_are_those_of_every_run(matrix):
    rows = np.array([matrix.find("0.15", train).accuracies for train in SIZES])
    assert (find_best_sizes(matrix, "0.15") == rows.argmax(axis=0)).all()
    best, steps = tabulate_optima(matrix)
    places = steps.by_name["steps: test 0.15"].ours + SIZES.index("0.15")
    assert list(best.by_name["best: test 0.15"].ours) == [
        matrix.sizes[SIZES[int(place)]] for place in places
    ]


def test_printed_optima_are_the_bold_ones():
    published = load_published("mscr-table3")
    bold = [find_printed_best(published, test) for test in SIZES]
    assert bold == ["0.01", "0.02", "0.02", "0.02", "0.05", "0.05", "0.07", "eps_min"]
    steps = [number.value for number in follow_optima().numbers]
    assert steps == [1, 1, 0, -1, 0, -1, -1, -1]


@pytest.mark.parametrize("name", ["mscr-table3", "mscr-fig7"])
def test_claims_name_numbers_that_exist(name, matrix):
    """Every claim of every form is about numbers that the function measures."""
    tables = {
        "mscr-table3": lambda: [
            tabulate_mscr(matrix),
            tabulate_gains(matrix),
            tabulate_accuracies(matrix),
            follow_mscr(),
        ],
        "mscr-fig7": lambda: [*tabulate_optima(matrix), follow_optima()],
    }[name]()
    for form in REPRODUCTIONS.get(name).forms.values():
        for judgement in judge(tables, form.claims):
            assert "measured" not in judgement.why


def test_signs_hold_of_print(matrix, monkeypatch):
    """The signs and orders that are claimed are those of the printed table."""
    published = load_published("mscr-table3")

    class Printed:
        def __init__(self, test, train):
            spread = np.array([-0.01, 0.0, 0.01])
            value = published[f"test {test}", f"train {train}"].value
            self.accuracies = (value + spread) / 100
            clean = published["test 0", f"train {train}"].value
            self.relative_losses = value / clean - 1 + spread / 100

    monkeypatch.setattr(Matrix, "find", lambda _, test, train: Printed(test, train))
    tables = [tabulate_mscr(matrix), tabulate_gains(matrix), tabulate_accuracies(matrix)]
    form = REPRODUCTIONS.get("mscr-table3").forms["full"]
    verdicts = judge([*tables, follow_mscr()], form.claims)
    assert find_worst(verdicts) == "holds", verdicts


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Ask for two sizes of noise and a tiny network, in a folder."""
    monkeypatch.setattr(module, "SIZES", ("0", "eps_min"))
    monkeypatch.setattr(module, "PLANS", {"fast": TINY_PLAN})
    data = str(write_images(tmp_path / "images.npz"))
    return lambda name, **more: Asked(data=data, jobs=1, folder=tmp_path / name, **more)


def test_pieces_give_the_numbers_of_one_call(ask):
    (tmp := ask("pieces").folder).mkdir()
    first = module.measure_optima(ask("pieces", minutes=0))
    assert first.unfinished == "1 of 2 trainings are done; the same command goes on"
    assert [table.key for table in first.tables] == ["print"]
    last = module.measure_optima(ask("pieces", minutes=0))
    assert last.unfinished == ""
    whole = module.measure_optima(replace(ask("pieces"), folder=None))
    assert [t.json() for t in whole.tables] == [t.json() for t in last.tables]
    assert [path.name for path in tmp.glob("*.sqlite")] == ["mscr-images-fast.sqlite"]


def test_other_images_have_no_claims_but_those_on_print(ask, monkeypatch):
    monkeypatch.setattr(module, "name_set", lambda _: "")
    found = module.measure_optima(replace(ask("none"), folder=None))
    *printed, last = found.claims
    assert all("print" in claim.text for claim in printed)
    assert last == OTHER_IMAGES
    assert all(n.printed is None for table in found.tables for n in table.numbers)


def test_killed_training_goes_on_from_its_last_step(ask, monkeypatch):
    from shaketable.training.loop import Checkpoint, Trainer

    steps, take = [], Trainer._take_step

    def count(trainer, *given):
        if len(steps) == 3:
            steps.append(0)
            raise KeyboardInterrupt
        steps.append(1)
        take(trainer, *given)

    monkeypatch.setattr(Trainer, "_take_step", count)
    monkeypatch.setattr(Checkpoint, "save_if_due", Checkpoint.save)
    monkeypatch.setattr(module, "PLANS", {"fast": replace(TINY_PLAN, epochs=2)})
    ask("killed").folder.mkdir()
    with pytest.raises(KeyboardInterrupt):
        module.measure_optima(ask("killed"))
    found = module.measure_optima(ask("killed"))
    killed = sum(steps)
    steps += [0] * 10
    whole = module.measure_optima(replace(ask("killed"), folder=None))
    assert sum(steps) == 2 * killed
    assert [t.json() for t in whole.tables] == [t.json() for t in found.tables]
