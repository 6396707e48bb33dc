"""Other results of the same models beside the worst case."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import shaketable as st
from helpers.commands import run_json
from shaketable.adversary.worst_case import worst_case
from shaketable.statistics.intervals import proportion


@pytest.fixture
def fitted():
    data = st.load("bands(n=120)")
    train, test = data.parts()
    model = LogisticRegression(C=100).fit(data.x[train], data.labels[train])
    return model, (data.x[test], data.labels[test])


def test_lines_are_what_was_measured_at_the_same_points(fitted, tmp_path, capsys):
    model, data = fitted
    path = str(tmp_path / "results.sqlite")
    sizes = [0.02, 0.05]
    records = st.evaluate({"m": model}, data, ["l2(0.05)", "linf(0.05)"], store=path)
    risks = st.risk(model, data, "l2(0.05)", name="m", store=path, budget=5000)
    certified = st.smoothed(model, 0.05, draws=300).certify(
        data, sizes, name="m, smoothed 0.05", store=path
    )
    found = worst_case(model, data, sizes, name="m", store=path)
    random, rare, smooth = found.lines["m"]
    assert (random.name, smooth.name) == ("random noise", "smoothed 0.05, certified")
    (cell,) = [r for r in records if r.corruption == "l2(0.05)"]
    assert {e: v.value for e, v in random.by_epsilon.items()} == {
        0.05: pytest.approx(cell.accuracy)
    }
    below, _, _ = risks.risks[0].risks.count_above(1e-6)
    share = proportion(below, len(data[0]))
    assert {e: v.value for e, v in rare.by_epsilon.items()} == {0.05: share.value}
    assert [v.value for v in smooth.by_epsilon.values()] == [e.value for e in certified.curve()]
    # what is certified of a smoothed model is on record with all that it needs
    (kept,) = run_json(capsys, "report", path)["certificates"]
    assert kept == certified.json()
    other = worst_case(model, data, sizes, norm="inf", name="m", store=path)
    names = [line.name for line in other.lines["m"]]
    assert names == ["random noise", "smoothed 0.05, certified"]


def test_lines_of_other_models_and_points_are_left_out(fitted, tmp_path):
    model, (x, y) = fitted
    path = str(tmp_path / "results.sqlite")
    another = LogisticRegression(C=1).fit(x, y)
    st.evaluate({"other": another}, (x, y), "l2(0.05)", store=path)
    st.evaluate({"m": model}, (x[:10], y[:10]), "l2(0.05)", store=path)
    found = worst_case(model, (x, y), 0.05, name="m", store=path)
    assert found.lines == {"m": []}
    assert not np.isnan(found.curves[0].accuracies[0].value)
