"""Worst cases as a whole: all measures of all models, in numbers, in words, as files and a page."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import shaketable as st
from helpers.commands import run_command, run_failing, run_json
from helpers.pages import EVIL, read_page
from shaketable.adversary.attacks.cover import Cover
from shaketable.adversary.attacks.registry import parse_attack
from shaketable.adversary.charts import map_chart
from shaketable.adversary.curve import adversarial_accuracy, adversarial_curve
from shaketable.adversary.worst_case import worst_case
from shaketable.core.errors import InputError, UndefinedError
from shaketable.core.norms import pnorm
from shaketable.models.builtin import circle, f2, f3, oracle
from shaketable.statistics import intervals
from shaketable.views.numbers import percent_decimals
from shaketable.views.text import make_visible

pytestmark = pytest.mark.usefixtures("own_directory")


@pytest.fixture(scope="module")
def sunset():
    kinds = ["none", "genuine-max", "genuine-exact"]
    found = worst_case(oracle, "sunset(n=50)", [0.05, 0.2], constraints=kinds, random=20)
    return found + worst_case(circle, "sunset(n=50)", [0.05, 0.2], constraints=kinds, random=20)


@pytest.fixture(scope="module")
def tiles():
    """Images of 6 x 6 grey values, the lower half of one class brighter."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.3, 0.6, (60, 6, 6)).astype(np.float32)
    y = np.arange(60) % 2
    x[y == 1, 3:] += 0.1
    model = LogisticRegression(C=100).fit(x.reshape(60, -1), y)
    return worst_case(model, (x, y), [0.3, 1.0], bounds=(0, 1), attacks="rays", name="lr")


def test_models_are_joined_and_measured_as_one_by_one(sunset):
    assert sunset.models == ["oracle", "circle"]
    x, y = sunset.data.x, sunset.data.labels
    for curve in sunset.curves:
        for a in curve:
            model = {"oracle": oracle, "circle": circle}[curve.model]
            alone = adversarial_accuracy(
                model, x, y, epsilon=a.epsilon, constraint=a.constraint, attacks=[Cover(0.05)]
            )
            assert (a.value, a.n) == (alone.value, alone.n)
    kinds = ["none", "genuine-max", "genuine-exact"]
    for data, ladder, some in (
        ("sunset(n=20)", [0.05, 0.2], kinds),
        ("sunset(n=50)", [0.05, 0.1], kinds),
        ("sunset(n=50)", [0.05, 0.2], kinds[:2]),
    ):
        other = worst_case(oracle, data, ladder, constraints=some, name="other")
        with pytest.raises(InputError, match="same data, points, norm, epsilons and constraints"):
            sunset + other
    with pytest.raises(InputError, match="'circle' twice; give one of them another"):
        sunset + replace(sunset, curves=sunset.curves[3:])


def test_random_noise_is_added_to_the_attacked_points():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, (120, 3))
    y = (x.sum(axis=1) > 1.5).astype(int)
    sure = lambda z: (z.sum(axis=1) > 1.5).astype(int)  # noqa: E731
    found = worst_case(sure, (x, y), [0.02, 0.5], points=7, random=50)
    assert len(found.curves[0].target.rows) == 7
    noisy = found.random["<lambda>"]
    assert list(noisy) == [0.02, 0.5]
    # hits of 7 points in 50 draws
    assert all(abs(v.value * 350 - round(v.value * 350)) < 1e-9 for v in noisy.values())
    own = worst_case(
        RandomForestClassifier(20), (x, y), [0.02], refit=True, own=True, random=5, name="rf"
    )
    assert own.curves[0].clean == 1  # on its own points
    assert len(own.curves[0].target.rows) == 120
    # a forest keeps its own points under little noise, but not new ones
    assert own.random["rf"][0.02].value > 0.97


def test_random_noise_is_never_worse_than_the_worst_case(sunset):
    for curve in sunset.curves:
        for a in curve:
            if a.constraint == "none":
                assert sunset.random[curve.model][a.epsilon].value >= a.value


def test_differences_are_paired(sunset):
    found = sunset.differences()
    assert len(found) == 3 * 2  # measures and sizes of the one pair
    for a, d in found:
        one, two = (
            next(
                b
                for c in sunset.of(m)
                if c.constraint == a.constraint
                for b in c
                if b.epsilon == a.epsilon
            )
            for m in ("oracle", "circle")
        )
        both = one.remains & two.remains
        gap = one.withstood[both].mean() - two.withstood[both].mean()
        assert d.value.value == pytest.approx(gap)
        assert d.value.low <= gap <= d.value.high
        # an interval that leaves 0 out goes with a test that rejects, or nearly
        first = int((one.withstood & ~two.withstood)[both].sum())
        second = int((~one.withstood & two.withstood)[both].sum())
        p = binomtest(first, first + second).pvalue if first + second else 1
        assert (not d.shown) or p < 0.06


def test_what_need_not_be_lost_is_reported():
    x = np.array([[0.0], [1.0], [10.0], [11.0]])
    y = np.array([0, 0, 1, 1])
    early = lambda z: (z[:, 0] > 2).astype(int)  # noqa: E731  (half way would be 5.5)
    kinds = ["none", "genuine-max"]
    found = worst_case(early, (x, y), [0.5, "eps_min", 9], constraints=kinds, name="early")
    assert found.eps_min == 4.5
    at = [(a.at.constraint, a.at.epsilon, a.lost, a.of) for a in found.avoidable("early")]
    # 1 is misclassified beyond 2, and so is 0; but 1 and 10 touch at eps_min. 0's cell ends at 0.5
    assert at == [("none", 4.5, 1, 2), ("genuine-max", 9, 1, 4)]
    kept = "which L2 1-NN on the attacked points keeps"
    assert found.sentences("early") == [
        f"1 of 2 correct answers lost, {kept} (standard, epsilon 4.5)",
        f"1 of 4 correct answers lost, {kept} (genuine-max, epsilon 9)",
    ]
    half = lambda z: (z[:, 0] > 5.5).astype(int)  # noqa: E731
    found = worst_case(half, (x, y), [4.0, 9.0], constraints=kinds, name="half")
    assert [a.at.epsilon for a in found.avoidable("half")] == [4, 9]
    assert all("does not prove" in sentence for sentence in found.sentences("half"))
    nearest = KNeighborsClassifier(1).fit(x, y)
    for ladder in ([4.0, 9.0], ["eps_min", 9.0]):
        found = worst_case(nearest, (x, y), ladder, constraints=kinds, name="1nn")
        assert all("proven" in sentence for sentence in found.sentences("1nn"))
        assert not any(a.lost for a in found.avoidable("1nn"))
    found = worst_case(half, (x, y), [9.0], name="half")
    assert found.avoidable("half") == []  # beyond eps_min the standard measure is not fair


def test_points_that_are_wrong_anyway_are_not_lost():
    x = np.arange(12.0)[:, None]
    y = (x[:, 0] > 5.5).astype(int)
    late = lambda z: (z[:, 0] > 7.5).astype(int)  # noqa: E731  (two are wrong from the start)
    kinds = ["none", "genuine-max", "genuine-exact"]
    found = worst_case(late, (x, y), [0.45], constraints=kinds, name="late")
    assert [(a.lost, a.of) for a in found.avoidable("late")] == [(0, 10)] * 3
    assert [len(c.accuracies[0].examples) for c in found.curves] == [0, 0, 2]


def test_models_that_were_attacked_by_other_means_are_not_compared():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(5)
    x = rng.normal(size=(24, 30)).astype(np.float32)
    y = (x[:, 0] > 0).astype(int)
    net = torch.nn.Linear(30, 2)
    with torch.no_grad():
        net.weight.zero_()
        net.bias.zero_()
        net.weight[1] = torch.from_numpy(rng.normal(size=30).astype(np.float32)) * 0.05
        net.weight[1, 0] = 1
    black = lambda z: net(torch.from_numpy(z)).detach().numpy()  # noqa: E731
    both = worst_case(black, (x, y), 0.3, name="black") + worst_case(net, (x, y), 0.3, name="net")
    ((_, difference),) = both.differences()
    assert difference.words == "attacked by other means: not comparable"
    assert not difference.shown
    assert "without gradients" in both.curves[0].accuracies[0].notes[0]
    one, two = (worst_case(net, (x, y), 0.3, name=name) for name in "ab")
    assert (one + two).differences()[0][1].words == "the difference may be chance"
    # a proven accuracy can be compared
    sure = worst_case(lambda z: (z[:, 0] > 0).astype(int), (x[:, :1], y), 1e-9, name="sure")
    nearest = KNeighborsClassifier(1).fit(x[:, :1], y)
    proven = worst_case(nearest, (x[:, :1], y), 1e-9, name="1nn")
    assert (proven + sure).differences()[0][1].doubt == ""


def test_accuracies_from_distances_that_were_only_searched_are_not_compared_with_proven_ones():
    x = np.random.default_rng(0).random((60, 2))
    y = (x.sum(axis=1) > 1).astype(int)
    good = LogisticRegression(C=1e3).fit(x, y)
    poor = LogisticRegression().fit(x, (x[:, 0] > 0.5).astype(int))
    searched = worst_case(good.predict, (x, y), None, name="searched")
    proven = worst_case(poor, (x, y), None, name="proven")
    again = worst_case(poor.predict, (x, y), None, name="searched too")
    both = [d for a, d in (searched + proven).differences() if not a.proven]
    assert any(d.value.low > 0 for d in both[1:])  # beyond the size where attacks are listed
    assert not any(d.shown for d in both if d.value.value > 0)
    assert any(d.shown for _, d in (searched + again).differences())


def test_models_that_come_fitted_may_join_those_trained_here(capsys):
    data = st.load("iris")
    sure = lambda z: np.array(data.classes)[(z[:, 2] > 2.5) * 1 + (z[:, 2] > 4.9)]  # noqa: E731
    trained = worst_case(RandomForestClassifier(5), "iris", 0.1, refit=True, name="rf")
    with pytest.raises(InputError, match="same data, points, norm"):
        trained + worst_case(sure, "iris", 0.1, name="sure")
    joined = trained + worst_case(sure, "iris", 0.1, split=True, name="sure")
    assert len(joined.differences()) == 1
    assert len(joined.curves[1].target.rows) == 30
    code, out, err = run_command(
        capsys,
        "adversary",
        "--data",
        "sunset(n=60)",
        "--model",
        "oracle",
        "--model",
        "1nn",
        "--eps",
        "0.1",
        "--quiet",
    )
    assert code == 0, err
    assert "12 points" in out
    assert "in words, at epsilon 0.1" in out


def test_what_is_known_is_reported_along_the_ladder():
    x = np.arange(12.0)[:, None]
    y = (x[:, 0] > 5.5).astype(int)
    half = lambda z: (z[:, 0] > 5.5).astype(int)  # noqa: E731
    (curve,) = worst_case(half, (x, y), [0.2, 20.0], name="half").curves
    asked = sum(a.queries for a in curve)
    assert f"found no more in {asked:,} queries" in curve.bound
    assert curve.bound.endswith("; proven at epsilon 20: no point withstands")
    assert "half, standard adversarial accuracy: 0.2: 100.00 %, 20: 0.00 %" in repr(curve)
    (every,) = worst_case(half, (x, y), [15.0, 20.0], name="half").curves
    assert every.bound == "proven: no point withstands"


def test_calls_take_what_they_are_likely_to_be_given():
    sure = lambda z: (z[:, 0] > 5.5).astype(int)  # noqa: E731
    x = np.arange(12.0)[:, None]
    data = x, (x[:, 0] > 5.5).astype(int)
    one = worst_case(sure, data, 0.2, constraints="genuine-max", attacks="random(50)")
    assert [c.constraint for c in one.curves] == ["genuine-max"]
    assert one.curves[0].accuracies[0].trials[0].spec == "random(queries=50)"
    sizes = worst_case(sure, data, ["eps_min", "0.5*eps_min"]).curves[0].accuracies
    assert [accuracy.epsilon for accuracy in sizes] == [0.25, 0.5]
    assert adversarial_curve(sure, data, 0.2, attacks=["rays(60)"]).accuracies[0].value == 1
    for wrong, message in (
        ({"random": -1}, "random must be a whole number of at least 0"),
        ({"epsilons": ["eps_mn"]}, "unknown epsilon 'eps_mn'; did you mean 'eps_min'"),
        ({"epsilons": "2*eps_mn"}, "multiple of eps_min"),
        ({"constraints": []}, "constraints must name one or more"),
        ({"constraints": "genuine"}, "unknown constraint 'genuine'"),
        ({"attacks": "rnd"}, "unknown attack 'rnd'"),
    ):
        with pytest.raises(InputError, match=message):
            worst_case(sure, data, **({"epsilons": 0.2} | wrong))
    for call in (worst_case, adversarial_curve):
        with pytest.raises(TypeError, match="unexpected keyword argument 'refitt'"):
            call(sure, data, 0.2, refitt=True)


def test_where_classes_touch_there_is_no_eps_min():
    data = st.make_dataset([[0.0], [0.0], [1.0]], [0, 1, 1])
    sure = lambda z: (z[:, 0] > 0.5).astype(int)  # noqa: E731
    assert worst_case(sure, data, [0.1]).eps_min is None
    for size in ("eps_min", "2*eps_min"):
        with pytest.raises(UndefinedError, match=r"\(0, 1\)"):
            worst_case(sure, data, size)


def test_room_on_the_surface_is_found_within_the_range():
    # black and white images: nearly every direction leaves the range
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, (30, 16)).astype(float)
    y = np.arange(30) % 2
    found = adversarial_accuracy(
        lambda z: np.zeros(len(z), int),
        x,
        y,
        epsilon=0.5,
        constraint="genuine-exact",
        bounds=(0, 1),
        attacks="random(100)",
    )
    assert found.share == 1
    assert not found.remains_exactly
    assert found.value == 0.5  # one class is always right
    (trial,) = (t for t in found.trials if t.found)
    assert trial.found == 15
    away = found.examples.distances(st.make_dataset(x, y), 2)
    np.testing.assert_allclose(away, 0.5, rtol=2e-6)


def test_examples_are_kept_as_a_file(sunset, tmp_path):
    with np.load(sunset.save_examples(tmp_path / "e.npz")) as file:
        kept = dict(file)
    sizes = [len(curve.accuracies[-1].examples) for curve in sunset.curves]
    assert len(kept["row"]) == sum(sizes)
    assert set(kept) == {
        "model",
        "constraint",
        "epsilon",
        "row",
        "label",
        "x",
        "distance",
        "predicted",
    }
    x, labels = sunset.data.x, sunset.data.labels
    np.testing.assert_allclose(pnorm(kept["x"] - x[kept["row"]], 2), kept["distance"])
    assert (kept["label"] == labels[kept["row"]]).all()
    assert (kept["predicted"] != kept["label"]).all()
    for name, model in (("oracle", oracle), ("circle", circle)):
        mine = kept["model"] == name
        assert (model(kept["x"][mine]) == kept["predicted"][mine]).all()
    with pytest.raises(InputError, match="examples cannot be written"):
        sunset.save_examples(tmp_path / "no" / "e.npz")


def test_maps_show_regions_cells_and_examples(sunset):
    curve = sunset.curves[1]
    spec = map_chart(curve, curve.accuracies[-1]).to_dict()
    layers = [spec["datasets"][layer["data"]["name"]] for layer in spec["layer"]]
    regions, borders, moves, crosses, points = layers
    span = [
        sum((r["x2"] - r["x"]) * (r["y2"] - r["y"]) for r in regions if r["class"] == c)
        for c in ("A", "B")
    ]
    low, high = sunset.data.x.min(axis=0) - 0.2, sunset.data.x.max(axis=0) + 0.2
    # area above the parabola of the oracle, by the rectangles and by hand
    u = np.linspace(low[0], high[0], 10_001)
    above = np.clip(high[1] - np.maximum(u**2 / 4, low[1]), 0, None).mean() * (high[0] - low[0])
    assert span[0] == pytest.approx(above, rel=0.03)
    assert len(points) == 50
    assert len(moves) == len(crosses) == len(curve.accuracies[-1].examples)
    # every border is equally far from the two nearest points, and none is nearer
    ends = np.array([[b["x"], b["y"]] for b in borders] + [[b["x2"], b["y2"]] for b in borders])
    inside = ((ends > low) & (ends < high)).all(axis=1)
    away = np.sort(np.linalg.norm(ends[inside, None] - sunset.data.x, axis=2), axis=1)
    np.testing.assert_allclose(away[:, 0], away[:, 1], rtol=1e-6)
    toy = worst_case(f2, "toy1d(n=20)", [0.5]).curves[0]
    with pytest.raises(InputError, match="two features"):
        map_chart(toy, toy.accuracies[0])


def test_the_map_of_a_model_is_chosen_by_its_name(sunset):
    for name, curve in ((None, sunset.curves[0]), ("circle", sunset.of("circle")[0])):
        expected = map_chart(curve, curve.accuracies[-1])
        assert sunset.draw_map(name).to_dict() == expected.to_dict()
    with pytest.raises(InputError, match="did you mean 'circle'"):
        sunset.draw_map("circl")


def test_a_page_says_what_was_measured(sunset, tmp_path):
    page = read_page(sunset.report(tmp_path / "w.html", notes=["A note."]))
    for curve in sunset.curves:
        assert f"{curve.area:.4g}" in page.text
        for a in curve:
            digits = percent_decimals(a.estimate)
            assert f"{a.value:.{digits}%}" in page.text
            assert f"{a.low:.{digits}%} to {a.high:.{digits}%}" in page.text
        assert curve.bound[1:] in page.text
    for model in sunset.models:
        for sentence in sunset.sentences(model):
            assert sentence[1:] in page.text
    assert "A note." in page.text
    assert "covers" not in page.text
    assert page.count("figure") == 2 + 6  # curves of two models, and maps
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert len(page.specs) == 8


def test_images_are_shown_with_their_difference(tiles, tmp_path):
    page = read_page(tiles.report(tmp_path / "w.html"))
    images = [attributes for tag, attributes in page.elements if tag == "img"]
    shown = min(6, len(tiles.curves[0].accuracies[0].examples))
    assert shown > 2
    assert len(images) == 3 * shown
    assert all(i["src"].startswith("data:image/png") and i["alt"] for i in images)
    assert len({i["src"] for i in images}) == 3 * shown
    assert "× " in page.text


def test_features_are_reported_in_their_own_units(tmp_path):
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.uniform(0, 1000, 80), rng.uniform(0, 1, 80), rng.uniform(0, 1, 80)])
    y = (x[:, 0] > 500).astype(int)
    data = st.make_dataset(x, y, features=("mass", "a", "b")).scaled()
    cut = lambda z: (z[:, 0] > 500).astype(int)  # noqa: E731  (trained on raw units)
    found = worst_case(cut, data, [0.1], unscale=True, name="cut")
    lost = found.curves[0].accuracies[0].examples
    assert len(lost) > 3
    page = read_page(found.report(tmp_path / "w.html"))
    row = lost.rows[np.argmin(lost.distances(data, 2))]
    assert f"mass: {x[row, 0]:.4g} to " in page.text


def test_names_cannot_break_out(tmp_path):
    x = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [10.0, 0.0, 1.0], [11.0, 0.0, 0.0]])
    data = st.make_dataset(x, [EVIL, EVIL, "b", "b"], name=EVIL, features=(EVIL, "f", "g"))
    early = lambda z: np.where(z[:, 0] > 2, "b", EVIL)  # noqa: E731
    found = worst_case(early, data, [2, 4], name=EVIL) + worst_case(early, data, [2, 4], name="z")
    page = read_page(found.report(tmp_path / "w.html"))
    assert page.count("script") == read_page(found.report(tmp_path / "v.html")).count("script")
    assert make_visible(EVIL) in page.text
    with pytest.raises(InputError, match="report cannot be written"):
        found.report(tmp_path / "no" / "w.html")


def test_the_command(capsys, tmp_path):
    arguments = (
        "adversary",
        "--data",
        "toy1d(n=40)",
        "--model",
        "f2",
        "--model",
        "f3",
        "--eps",
        "0.3,2.5",
        "--quiet",
    )
    code, out, err = run_command(
        capsys,
        *arguments,
        "--constraint",
        "none",
        "--constraint",
        "genuine-exact",
        "--random",
        "5",
        "-o",
        "c.svg",
        "--report",
        "w.html",
    )
    assert code == 0, err
    assert "50.00 [1.26, 98.74] (2 points have room)" in out
    assert "genuine-exact: area" in out
    assert "random noise" in out
    assert "in words, at epsilon 2.5" in out
    assert (tmp_path / "c.svg").exists()
    assert "<h1>How robust" in (tmp_path / "w.html").read_text()
    found = run_json(capsys, *arguments, "--constraint", "genuine-exact", "--random", "5")
    assert found["eps_min"] > 0
    values = {c["model"]: [p["mean"] for p in c["points"]] for c in found["curves"]}
    assert values == {"f2": [100, 50], "f3": [100, 100]}
    assert [d["epsilon"] for d in found["differences"]] == [0.3, 2.5]
    assert [(r["model"], r["epsilon"]) for r in found["random"]] == [
        ("f2", 0.3),
        ("f2", 2.5),
        ("f3", 0.3),
        ("f3", 2.5),
    ]
    run_command(
        capsys,
        "adversary",
        "--data",
        "sunset(n=40)",
        "--model",
        "1nn",
        "--own",
        "--eps",
        "0.3",
        "--constraint",
        "genuine-max",
        "--map",
        "m.svg",
        "--examples",
        "e.npz",
        "--quiet",
    )
    assert (tmp_path / "m.svg").read_text().startswith("<svg")
    with np.load("e.npz") as kept:
        assert len(kept["row"]) == 0  # Theorem 2
    for wrong, message in (
        (("--constraint", "genuine"), "unknown constraint"),
        (("--attack", "pdg"), "unknown attack 'pdg'; did you mean 'pgd'"),
        (("--attack", "random(queries=1.5)"), "queries must be a whole number"),
        (("--map", "m.svg"), "two features"),
        (("--norm", "x"), "norm must be"),
        (("--report", "x.txt"), "must end in .html"),
        (("--examples", "x.txt"), "must end in .npz"),
    ):
        assert message in run_failing(capsys, *arguments, *wrong)
    error = run_failing(capsys, "adversary", "--data", "iris", "--model", "rf", "--eps", "x")
    assert "numbers, or multiples of eps_min" in error


def test_attacks_take_numbers_by_place_too():
    assert parse_attack("random(50)") == parse_attack("random(queries=50)")


def test_attacks_are_listed(capsys):
    found = run_json(capsys, "list", "attacks")
    names = {"pgd", "apgd", "square", "leaves", "random", "rays", "cover"}
    assert {name.partition("(")[0] for name in found} == names


def test_the_command_about_agreement(capsys, tmp_path):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(400, 2))
    y = np.where(x[:, 0] * x[:, 1] > 0, "same", "other")  # no line parts them
    with (tmp_path / "d.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b", "kind"], *zip(x[:, 0], x[:, 1], y, strict=True)])
    arguments = ("adversary", "--data", "d.csv", "--label", "kind", "--quiet")
    arguments += ("--agreement", "neither")
    models = ("--model", "rf", "--model", "logistic", "--model", "1nn")
    code, out, err = run_command(capsys, *arguments, *models)
    assert code == 0, err
    assert "rf labels more like 1-NN (p < 0.01)" in out
    found = json.loads(run_command(capsys, *arguments, *models, "--json")[1])
    assert found["n"] == 80
    data = st.load("d.csv", label="kind")
    train, test = data.parts(seed=0)
    nearest = st.one_nn(data)
    assert found["one_nn"] == {"low": 100 * nearest.accuracy[0], "high": 100 * nearest.accuracy[1]}
    assert [[m["model"] for m in pair["models"]] for pair in found["pairs"]] == [
        ["rf", "logistic"],
        ["rf", "1nn"],
        ["logistic", "1nn"],
    ]
    # 1-NN agrees with itself wherever another differs from it
    assert found["pairs"][2]["models"][1]["share"] == 100
    fitted = KNeighborsClassifier(1).fit(data.x[train], data.labels[train])
    right = (fitted.predict(data.x[test]) == data.labels[test]).mean()
    assert found["accuracy"]["1nn"] == pytest.approx(100 * right)
    assert "two models or more" in run_failing(capsys, *arguments, "--model", "rf")
    error = run_failing(capsys, *arguments[:-1], "majorty", *models)
    assert "did you mean 'majority'" in error


def test_f2_and_f3_are_distinguished_by_the_genuine_measure_alone():
    kinds = ["none", "genuine-exact"]
    ladder = [0.5, 1.5, 2.5, 3.5]
    found = worst_case(f2, "toy1d(n=40)", ladder, constraints=kinds)
    found += worst_case(f3, "toy1d(n=40)", ladder, constraints=kinds)
    values = {(c.model, c.name): [a.value for a in c] for c in found.curves}
    assert values["f2", "standard"] == values["f3", "standard"]
    assert values["f2", "genuine-exact"][-1] == 0.5
    assert values["f3", "genuine-exact"][-1] == 1


def test_results_are_computed_once_for_all_views(sunset, tmp_path, monkeypatch, capsys):
    fresh = replace(sunset)
    calls = []
    compare = intervals.mean_difference

    def count(*arguments):
        calls.append(arguments)
        return compare(*arguments)

    monkeypatch.setattr(intervals, "mean_difference", count)
    fresh.print()
    shown = capsys.readouterr().out
    fresh.report(tmp_path / "w.html")
    assert len(fresh.json()["differences"]) == len(calls) == 6
    assert all(sentence in shown for sentence in fresh.sentences("circle"))
    assert all(f"{curve.name}: area {curve.area:.4g}" in shown for curve in fresh.curves)


def test_maps_are_drawn_in_two_dimensions_only(tiles, sunset, tmp_path):
    for worst, maps in ((tiles, 0), (sunset, 6)):
        page = read_page(worst.report(tmp_path / "w.html"))
        assert page.count("figure") == len(worst.models) + maps
