import math

import pytest

from helpers.threshold import X, Y, threshold
from shaketable.core.errors import InputError
from shaketable.corruptions.suites.suite import Suite
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


def test_cells_and_models_keep_the_order_in_which_they_were_measured():
    zebra, ape = (
        evaluate(threshold, (X, Y), LEVELS, name=name, model_id=name) for name in ("zebra", "ape")
    )
    both = zebra + ape
    assert both.models == ["zebra", "ape"]
    assert [(c.model, c.corruption) for c in both] == [
        (model, spec) for model in ("zebra", "ape") for spec in ("clean", *LEVELS)
    ]
    assert [c.key for c in both + zebra] == [c.key for c in both]
    assert (ape + zebra).models == ["ape", "zebra"]


def test_joined_records_keep_the_separations_and_suites_of_both():
    suites = {norm: Suite(norm, "one level", (f"{norm}(eps_min)",)) for norm in ("l2", "linf")}
    one, two, three = (
        evaluate(threshold, (x, Y), suites[norm], model_id="m")
        for x, norm in ((X, "l2"), (X, "linf"), (X + 1, "l2"))
    )
    joined = one + two + three
    kept = {(s.fingerprint, s.norm) for s in joined.separations}
    data, other = one.cells[0].fingerprint, three.cells[0].fingerprint
    assert kept == {(data, 2.0), (data, math.inf), (other, 2.0)}
    assert [(s.fingerprint, s.name) for s in joined.suites] == [
        (data, "l2"),
        (data, "linf"),
        (other, "l2"),
    ]


def test_eps_min_is_that_of_the_norm_of_the_noise_and_of_its_data():
    records = evaluate(threshold, (X, Y), ["linf(eps_min)", "l2(eps_min)"], model_id="m")
    (linf,) = (s for s in records.separations if s.norm == math.inf)
    (l2,) = (s for s in records.separations if s.norm == 2)
    assert linf.epsilon_min < l2.epsilon_min
    swapped = [f"l2({linf.epsilon_min!r})", f"linf({l2.epsilon_min!r})"]
    records += evaluate(threshold, (X, Y), swapped, model_id="m")
    # the same size on other data
    records += evaluate(threshold, (2 * X, Y), f"l2({l2.epsilon_min!r})", model_id="m")
    found = [(c.fingerprint, c.corruption) for c in records if records.at_eps_min(c)]
    own = records.cells[0].fingerprint
    assert found == [(own, f"linf({linf.epsilon_min!r})"), (own, f"l2({l2.epsilon_min!r})")]


@pytest.mark.parametrize(("cells", "more"), [(20, ""), (21, "1 more cells are left out")])
def test_up_to_twenty_cells_are_printed(capsys, cells, more):
    specs = [f"linf({i / 100})" for i in range(1, cells)]
    records = evaluate(threshold, (X, Y), specs, k=1)
    records.print()
    out = capsys.readouterr().out
    assert f"{cells} cells: shares of draws" in out
    assert ("more cells" in out) == bool(more)
    assert more in out
    assert sum("linf(" in line for line in out.splitlines()) == 19
