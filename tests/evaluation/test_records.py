import pytest

from helpers.threshold import X, Y, threshold
from shaketable.core.errors import InputError
from shaketable.evaluation.evaluate import evaluate

LEVELS = ["linf(0.05)", "l2(0.1)", "l1(0.2)"]


def test_frames_have_one_row_per_cell():
    frame = evaluate(threshold, (X, Y), LEVELS).to_frame()
    assert frame.shape[0] == 4
    assert frame["accuracy"].iloc[0] == 1
    assert frame["corruption"].tolist() == ["clean", *LEVELS]


def test_records_select_by_field():
    records = evaluate(threshold, (X, Y), LEVELS)
    assert [c.corruption for c in records.select(corruption="l2(0.1)")] == ["l2(0.1)"]
    with pytest.raises(InputError, match="no field 'colour'"):
        records.select(colour="red")
