"""Blocks of suites: tables, cards and what the terminal shows of them."""

import pytest

from helpers.findings import find_once, print_results
from shaketable.evaluation.records import Records
from shaketable.findings.mce.scores import Scoreboard
from shaketable.findings.mce.view import make_blocks
from shaketable.views.blocks import Cards, Table

DERIVED = "sizes derived from pnorm-cifar for 64 values in a range of 1"


def test_a_table_has_one_row_per_model_and_norm(boards: list[Scoreboard]) -> None:
    table = next(b for b in make_blocks(boards) if isinstance(b, Table))
    assert table.title.endswith(f"suite pnorm, {DERIVED}")
    assert [c.heading for c in table.columns] == ["model", "norm", "mean", *map(str, range(1, 11))]
    rows = {row[:2]: row[2:] for row in map(tuple, table.rows)}
    for score in boards[0].scores:
        for ladder in score.ladders:
            mean, *levels = rows[score.label, ladder.title]
            assert mean == ladder.mean
            missing = 10 - len(ladder.levels)
            assert levels[:missing] == [None] * missing
            assert [e.value for e in levels[missing:]] == [v.error.value for v in ladder.levels]
            assert levels[-1].heat == pytest.approx(
                ladder.levels[-1].error.value
                / max(v.error.value for s in boards[0].scores for d in s.ladders for v in d.levels)
            )


def test_a_suite_of_one_level_has_the_change_against_clean(boards: list[Scoreboard]) -> None:
    _, table = (b for b in make_blocks(boards) if isinstance(b, Table) and "error" in b.title)
    rows = {row[:2]: row[2:] for row in map(tuple, table.rows)}
    for score in boards[1].scores:
        assert rows[score.label, "clean"] == (score.clean, None)
        for ladder in score.ladders:
            (level,) = ladder.levels
            assert rows[score.label, level.spec] == (level.error, level.change)


def test_cards_have_the_metric_with_its_sign_and_meaning(boards: list[Scoreboard]) -> None:
    first, second = (b for b in make_blocks(boards) if isinstance(b, Cards))
    for cards, board, kind in ((first, boards[0], "rate"), (second, boards[1], "change")):
        assert [c.value for c in cards.cards] == [s.value for s in board.scores]
        assert [c.sentences for c in cards.cards] == [[s.meaning] for s in board.scores]
        assert {c.kind for c in cards.cards} == {kind}


def test_published_sizes_are_not_called_derived(
    capsys: pytest.CaptureFixture[str], perfect: Records
) -> None:
    out = print_results(capsys, perfect)
    assert "suite pnorm-cifar, published sizes" in out
    assert "12 test points, 2 draws each" in out
    assert "suite ice-cifar, published sizes" in out
    assert "derived" not in out
    assert [s["derived"] for s in find_once(perfect).json()["suites"]] == [None, None]
