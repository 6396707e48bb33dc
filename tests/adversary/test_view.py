"""Facts on the page, in the table and in the JSON of a worst case, against numbers made here."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

import shaketable as st
from helpers.pages import chart_rows, read_page
from shaketable.adversary.charts import curves_chart, map_chart
from shaketable.adversary.worst_case import worst_case
from shaketable.views import drawing
from shaketable.views.blocks import Chart, Table

KINDS = ["none", "genuine-max"]
LADDER = [0.3, 0.5, 1.2, 3.0]
CUTS = {"early": 4.4, "late": 7.2}


def early(x):
    return (x[:, 0] > CUTS["early"]).astype(int)


def late(x):
    return (x[:, 0] > CUTS["late"]).astype(int)


X = np.stack([np.arange(12.0), np.zeros(12)], axis=1)
Y = (X[:, 0] > 5.5).astype(int)


@pytest.fixture(scope="module")
def found():
    """Two models that cut a line of points off centre; eps_min is 0.5."""
    data = st.make_dataset(X, Y, name="line", features=("along", "across"))
    one, two = (
        worst_case(model, data, LADDER, constraints=KINDS, random=7, seed=3, name=name)
        for name, model in (("early", early), ("late", late))
    )
    return one + two


def count_withstanding(cut, epsilon):
    """Points that keep their label within epsilon: right, and farther from the cut than that."""
    right = (cut < X[:, 0]) == (Y == 1)
    return int((right & (np.abs(X[:, 0] - cut) > epsilon)).sum())


def percent(share, digits=2):
    return f"{100 * share:.{digits}f}%"


def limits(hits, n=12):
    """Clopper-Pearson limits at 95 %."""
    low = beta.ppf(0.025, hits, n - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, n - hits) if hits < n else 1.0
    return low, high


def entry(hits, n=12):
    low, high = limits(hits, n)
    return f"{percent(hits / n)} {percent(low)} to {percent(high)}"


def test_json_has_the_counts_of_the_line(found):
    facts = found.json()
    assert json.loads(json.dumps(facts)) == facts
    assert (facts["data"], facts["norm"], facts["eps_min"], facts["seed"]) == ("line", 2, 0.5, 3)
    for curve in facts["curves"]:
        cut = CUTS[curve["model"]]
        clean = count_withstanding(cut, 0)
        assert curve["clean"] == pytest.approx(100 * clean / 12)
        if curve["points"][0]["constraint"] != "none":
            continue
        shares = [clean / 12]
        for point, epsilon in zip(curve["points"], LADDER, strict=True):
            hits = count_withstanding(cut, epsilon)
            low, high = limits(hits)
            assert (point["epsilon"], point["n"], point["share"]) == (epsilon, 12, 100)
            assert point["mean"] == pytest.approx(100 * hits / 12)
            assert (point["low"], point["high"]) == pytest.approx((100 * low, 100 * high))
            assert point["found"] == clean - hits
            assert point["queries"] == sum(trial["queries"] for trial in point["trials"])
            assert sum(trial["found"] for trial in point["trials"]) <= point["found"]
            shares.append(hits / 12)
        tried = [sum(t["tried"] for t in point["trials"]) for point in curve["points"]]
        # those that withstood the epsilon before
        assert tried == [round(12 * share) for share in shares[:-1]]
        means = (np.array(shares[1:]) + shares[:-1]) / 2
        assert curve["area"] == pytest.approx((np.diff([0, *LADDER]) * means).sum())


def test_avoidable_losses_and_differences_are_those_of_the_line(found):
    facts = found.json()
    # at eps_min the points 5 and 6 touch, and do not count
    assert [(a["model"], a["constraint"], a["epsilon"]) for a in facts["avoidable"]] == [
        (model, *at) for model in ("early", "late") for at in (("none", 0.5), ("genuine-max", 3.0))
    ]
    standard = [(a["lost"], a["of"]) for a in facts["avoidable"] if a["constraint"] == "none"]
    assert standard == [(1, 10), (0, 9)]  # 4 is 0.4 from its cut, and 8 is 0.8 from the other
    for d in facts["differences"]:
        if d["constraint"] == "none":
            gap = count_withstanding(4.4, d["epsilon"]) - count_withstanding(7.2, d["epsilon"])
            assert d["mean"] == pytest.approx(100 * gap / 12)
            assert d["low"] <= d["mean"] <= d["high"]


def test_a_page_has_the_facts_of_the_line(found, tmp_path):
    page = read_page(found.report(tmp_path / "w.html"))
    queries = sum(a.queries for curve in found.curves for a in curve)
    expected = {
        "Data": "line",
        "Points": "12",
        "Points attacked": "12",
        "Norm": "L2",
        "eps_min": "0.5",
        "Epsilon": "0.3, 0.5, 1.2, 3",
        "Value range": "none",
        "Seed": "3",
        "Queries": f"{queries:,}",
    }
    assert {name: page.facts[name] for name in expected} == expected
    for model, cut in CUTS.items():
        (rows,) = (t for name, t in page.tables.items() if name.startswith(f"accuracy of {model} "))
        assert rows[0] == ["epsilon", "standard", "genuine-max", "random noise"]
        assert [row[0] for row in rows[1:]] == ["0.3", "0.5 eps_min", "1.2", "3"]
        shown = [row[1] for row in rows[1:]]
        assert shown == [entry(count_withstanding(cut, epsilon)) for epsilon in LADDER]
        noise = [f"{percent(v.value)} " for v in found.random[model].values()]
        assert [row[3][: len(n)] for row, n in zip(rows[1:], noise, strict=True)] == noise
    marked = [a for tag, a in page.elements if tag == "tr" and a.get("class") == "mark"]
    assert len(marked) == 2  # the row of eps_min, of each model
    assert page.tables["attacks"][1:] == [
        [c.model, c.name, f"{a.epsilon:g}", t.spec, str(t.tried), str(t.found), f"{t.queries:,}"]
        for c in found.curves
        for a in c
        for t in a.trials
    ]


def test_cards_have_the_values_of_their_own_model(tmp_path):
    sure = worst_case(lambda z: (z[:, 0] > 5.5) * 1, (X, Y), [0.4], name="sure")
    wrong = worst_case(lambda z: (z[:, 0] > 9.7) * 1, (X, Y), [0.4], name="wrong")
    nearest = pytest.importorskip("sklearn.neighbors").KNeighborsClassifier(1).fit(X, Y)
    proven = worst_case(nearest, (X, Y), [0.4], name="proven")
    page = read_page((wrong + sure + proven).report(tmp_path / "w.html"))
    cards = [
        a["class"] for tag, a in page.elements if tag == "li" and "card" in (a.get("class") or "")
    ]
    assert cards == ["card lost", "card open", "card kept"]
    clean = [part.partition(" ")[0] for part in page.text.split("Accuracy: ")[1:]]
    assert clean == ["66.67", "100.00", "100.00"]


def test_examples_are_those_of_the_smallest_epsilon_and_rows_those_of_the_source(tmp_path):
    kept = np.array([0, *range(2, 13)])  # row 1 was left out before
    data = replace(st.make_dataset(X, Y, features=("along", "across")), kept=kept)
    page = read_page((worst_case(late, data, LADDER)).report(tmp_path / "w.html"))
    (name,) = (name for name in page.tables if "rows counted" in name)
    assert "epsilon 1.2: 1 of 1, rows counted from 0" in " ".join(page.text.split())
    ((row, label, *_),) = page.tables[name][1:]
    assert (row, label) == ("9", "1 model says 0")  # the point at 8, 0.8 from the cut


def test_examples_come_in_order_of_their_distance_and_name_label_and_answer(tmp_path):
    data = st.make_dataset(X, np.array(["low", "high"])[Y], features=("along", "across"))
    answer = lambda z: np.where(z[:, 0] > 6.2, "high", "low")  # noqa: E731
    found = worst_case(answer, data, [3.0, 6.0], name="late")
    page = read_page(found.report(tmp_path / "w.html"))
    (name,) = (name for name in page.tables if "rows counted" in name)
    rows = page.tables[name][1:]
    away = np.sort(found.curves[0].accuracies[0].examples.distances(data, 2))
    assert [float(row[2]) for row in rows] == pytest.approx(away[: len(rows)].tolist(), rel=1e-4)
    for row in rows:
        own, other = ("high", "low") if int(row[0]) > 5 else ("low", "high")
        assert row[1] == f"{own} model says {other}"
        assert row[3].startswith(f"along: {X[int(row[0]), 0]:g} to ")


def test_blocks_have_the_facts_of_the_line(found, capsys):
    tables = [b for b in found.blocks() if isinstance(b, Table)]
    for model, cut in CUTS.items():
        (table,) = (t for t in tables if t.title.startswith(f"accuracy of {model} "))
        assert [texts[0] for texts in table.texts()] == ["0.3", "0.5 (eps_min)", "1.2", "3"]
        values = [row[1].value for row in table.rows]
        assert values == pytest.approx([count_withstanding(cut, e) / 12 for e in LADDER])
    (differences,) = (t for t in tables if "the first minus" in t.title)
    assert [row[:3] for row in differences.rows] == [
        [name, "early", "late"] for name in ("standard", "genuine-max")
    ]
    found.print()
    out = capsys.readouterr().out
    assert "line: 12 points; L2 eps_min = 0.5" in out
    assert "accuracy: 91.67 % on the points as they are" in out
    for curve in found.curves:
        assert f"{curve.name}: area {curve.area:.4g} up to epsilon 3; " in out


def test_charts_have_the_intervals_and_mark_eps_min(found):
    rows = chart_rows(curves_chart(found))
    assert any(row.get("text") == "eps_min" for row in rows)
    assert {row["at"] for row in rows if "at" in row} == {0.5}
    drawn = {
        (
            r["model"],
            r["part"].partition(" = ")[0],
            *(round(r[name], 6) for name in ("epsilon", "value", "low", "high")),
        )
        for r in rows
        if "low" in r
    }
    for name, cut in CUTS.items():
        for epsilon in LADDER:
            hits = count_withstanding(cut, epsilon)
            values = (100 * hits / 12, *(100 * v for v in limits(hits)))
            assert (name, "standard", epsilon, *(round(v, 6) for v in values)) in drawn
    spec = map_chart(found.curves[0], found.curves[0].accuracies[-1]).to_dict()
    axes = [layer["encoding"] for layer in spec["layer"]]
    assert {a["x"]["title"] for a in axes} == {"along"}
    assert {a["y"]["title"] for a in axes} == {"across"}


def test_constraints_of_a_model_differ_in_dash_and_shape_and_equal_ones_share_a_line(found):
    same = found.curves[0]
    twin = replace(
        same, accuracies=tuple(replace(a, constraint="genuine-max") for a in same.accuracies)
    )
    for curves, parts in (
        (found.curves, {"early": ["standard", "genuine-max"], "late": ["standard", "genuine-max"]}),
        ((same, twin), {"early": ["standard = genuine-max"]}),
    ):
        shown = replace(found, curves=curves)
        rows = [r for r in chart_rows(curves_chart(shown)) if "part" in r]
        assert {
            model: drawing.list_distinct([r for r in rows if r["model"] == model], "part")
            for model in parts
        } == {model: [*names, "random noise"] for model, names in parts.items()}
        text = " ".join(b.caption for b in shown.blocks() if isinstance(b, Chart))
        assert ("standard and genuine-max (early). Voronoi cells never bound" in text) == (
            len(parts) == 1
        )
    for panel in curves_chart(found).to_dict()["vconcat"]:
        dashes = [layer.get("encoding", {}).get("strokeDash") for layer in panel["layer"]]
        (scale,) = [dash["scale"] for dash in dashes if dash]
        assert len({str(dash) for dash in scale["range"]}) == len(scale["domain"]) == 3


@pytest.mark.parametrize("bounds", [None, (0, 11)])
def test_random_noise_is_that_of_evaluate(bounds):
    data = st.make_dataset(np.column_stack([X[:, 0], X[:, 0] % 4]), Y, bounds=bounds)
    answer = lambda z: (z[:, 0] + 0.3 * z[:, 1] > CUTS["late"]).astype(int)  # noqa: E731
    for seed in (0, 3):
        found = worst_case(answer, data, LADDER, random=9, seed=seed, name="m", attacks="random(1)")
        specs = [f"l2({epsilon})" for epsilon in LADDER]
        records = st.evaluate(answer, data, specs, k=9, seed=seed, draws="ladder")
        shares = [cell.accuracy for cell in records][1:]
        assert [e.value for e in found.random["m"].values()] == pytest.approx(shares)
        assert len({*shares}) > 1


def test_all_attacks_count_and_only_the_points_attacked(tmp_path):
    found = worst_case(
        late, (X, Y), [0.5, 1.2], points=9, attacks=["random(20)", "rays(60)"], name="late"
    )
    for a in found.curves[0]:
        assert [trial.spec for trial in a.trials] == ["random(queries=20)", "rays(queries=60)"]
        assert a.queries == sum(trial.queries for trial in a.trials) > a.trials[1].queries > 0
    page = read_page(found.report(tmp_path / "w.html"))
    assert (page.facts["Points"], page.facts["Points attacked"]) == ("12", "9")
    assert page.facts["Queries"] == f"{sum(a.queries for a in found.curves[0]):,}"
    with np.load(found.save_examples(tmp_path / "e.npz")) as kept:
        assert set(kept["epsilon"]) == {1.2}
        assert kept["row"].tolist() == [8]
