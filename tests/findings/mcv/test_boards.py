"""Models over the sets of a suite, compared with a reference."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import shaketable as st
from helpers.findings import variation_boards
from helpers.records import draw_hits, make_records
from shaketable.core.errors import InputError
from shaketable.core.spec import display_name
from shaketable.evaluation.records import Records

pytestmark = pytest.mark.usefixtures("own_directory")

MODELS = ("logistic", "rf", "1nn")


def test_a_board_has_the_accuracies_of_the_cells(two_factor_records, board):
    assert [entry.label for entry in board.entries] == list(MODELS)
    for entry in board.entries:
        cells = {c.corruption: c.accuracy for c in two_factor_records if c.model == entry.label}
        assert len(cells) == 69
        scores = np.array(list(cells.values()))
        assert entry.stability.mean.value == pytest.approx(scores.mean())
        assert entry.stability.cv.value == pytest.approx(scores.std() / scores.mean())
        assert entry.variation.least == scores.min()
        assert entry.variation.most == scores.max()
        assert entry.stability.clean.value == cells["clean"]
        by_name = {display_name(spec): value for spec, value in cells.items()}
        assert dict(entry.variation.scores) == pytest.approx(by_name)


def test_groups_are_relative_to_the_reference(two_factor_records, board):
    means = {e.label: (e.stability.mean.value, e.stability.cv.value) for e in board.entries}
    for entry in board.entries:
        better, steadier = (
            means[entry.label][0] >= means["rf"][0], means[entry.label][1] <= means["rf"][1]
        )  # fmt: skip
        expected = ("I" if steadier else "II") if better else ("III" if steadier else "IV")
        assert entry.group == expected
        if entry.label == "rf":
            assert entry.mean_change is None
        else:
            gap = means[entry.label][0] - means["rf"][0], means[entry.label][1] - means["rf"][1]
            assert (entry.mean_change.value, entry.cv_change.value) == pytest.approx(gap)
    (other,) = variation_boards(two_factor_records)
    assert other.table.reference == "logistic"
    with pytest.raises(InputError, match="unknown reference 'mlp'"):
        variation_boards(two_factor_records, reference="mlp")


def test_each_network_is_compared_with_its_own_clean_one(capsys):
    specs = ("sp(0.1) as A", "sp(0.2) as B")
    cells = {
        model: {"clean": np.arange(50) < right} | {s: np.arange(50) < right - 5 for s in specs}
        for model, right in {"a(clean)": 40, "a(C1)": 45, "b(C1)": 30, "b(clean)": 35}.items()
    }
    models = [
        make_records({s: h.astype(int) for s, h in hits.items()}, model=model)
        for model, hits in cells.items()
    ]
    records = sum(models, Records(()))
    (found,) = variation_boards(records)
    values = {e.label: (e.group, e.mean_change and e.mean_change.value) for e in found.entries}
    assert values == {
        "a(clean)": ("I", None),
        "a(C1)": ("I", pytest.approx(0.1)),
        "b(C1)": ("IV", pytest.approx(-0.1)),
        "b(clean)": ("I", None),
    }
    assert found.json()["reference"] is None
    assert [m["reference"] for m in found.json()["models"]] == ["a(clean)"] * 2 + ["b(clean)"] * 2
    st.find(records).print()
    assert "minus the reference of its network, on the same points" in capsys.readouterr().out
    (chosen,) = variation_boards(records, reference="a(C1)")
    assert chosen.json()["reference"] == "a(C1)"
    assert sum(e.is_reference for e in chosen.entries) == 1


def test_sentences_claim_what_intervals_show(board):
    for entry in board.entries:
        for change, shown, word in (
            (entry.mean_change, ("more accurate", "less accurate"), "mean"),
            (entry.cv_change, ("less steady", "steadier"), "CV"),
        ):
            if change is None:
                continue
            chance = f"{word}: the difference may be chance" in entry.words
            chance |= entry.words == "mean and CV: the difference may be chance"
            assert chance == (change.low <= 0 <= change.high)
            assert (shown[0] in entry.words) == (change.low > 0)
            assert (shown[1] in entry.words) == (change.high < 0)


def test_a_model_that_is_never_right_is_left_out(two_factor_records):
    wrong = [replace(c, model="dud", model_id="dud", recipe="dud", hits=0 * c.hits, key=f"d{c.key}")
             for c in two_factor_records if c.model == "rf"]  # fmt: skip
    (board,) = variation_boards(
        two_factor_records + replace(two_factor_records, cells=tuple(wrong))
    )
    assert board.left_out == ("dud",)
    assert list(board.results) == list(MODELS)


def test_any_suite_can_be_chosen(tmp_path):
    data = st.load("shapes(n=60)")
    model = lambda x: np.array(data.classes)[np.rint(x.sum(axis=(1, 2, 3))).astype(int) % 2]  # noqa: E731
    records = st.evaluate(model, data, st.suite("ice"), model_id="m")
    assert variation_boards(records) == []
    (board,) = variation_boards(records, suite="ice-cifar")
    assert len(board.entries[0].variation.scores) == 6


def test_models_of_several_runs_are_compared_over_runs():
    specs = ("clean", "sp(0.1)", "ga(0.1)", "sp(0.1) + ga(0.1)")
    runs = Records(())
    for run, (seed, name) in product(range(3), enumerate(("net(clean)", "net(SP0.1)"))):
        hits = draw_hits(10 * run + seed, specs, {"sp": 0.3 - 0.2 * seed, "ga": 0.1})
        runs += make_records(hits, k=4, model=name, run=run)
    (board,) = variation_boards(runs)
    assert board.draws == "50 test points, 4 draws each, in 3 runs"
    assert [entry.is_reference for entry in board.entries] == [True, False]
    change = board.entries[1].cv_change
    assert change is not None
    assert "3 runs" in change.method
    assert board.entries[1].effects.main
    shared = make_records(draw_hits(0, specs), k=4, draws="shared")
    assert variation_boards(shared) == []
