"""Tables 1 and 2 and Figures 4 to 6 of the study in the plane."""

import math

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_failing
from shaketable.core.errors import InputError
from shaketable.corruptions import Clean, PNormNoise
from shaketable.reproductions.papers.mscr import plane_figures, planes
from shaketable.reproductions.papers.mscr.balanced_runs import RUNS_EACH, GroupedHits, Plan
from shaketable.reproductions.papers.mscr.plane_figures import compare_spread
from shaketable.reproductions.papers.mscr.plane_forest import PlaneForest
from shaketable.reproductions.published import load_published
from shaketable.reproductions.registry import REPRODUCTIONS

EPS_MIN = 0.004
SIZES = [EPS_MIN if level == "eps_min" else float(level) for level in planes.LEVELS]


@pytest.fixture(scope="module")
def printed_set():
    """Random points with as many of either class as the printed set has."""
    x = np.random.default_rng(0).random((4674, 2))
    return st.make_dataset(x, np.repeat([0, 1], [2204, 2470]), name="made up")


def imagine_hits(data, groups, *, draws="shared", seed=0, precise=1.0):
    """Right answers of runs that scatter about the printed accuracies."""
    noise = [PNormNoise(math.inf, size) if size else Clean() for size in SIZES]
    plan = Plan(data=data, model=PlaneForest(), p=math.inf, train=noise, test=noise, draws=draws)
    table, rng = load_published("mscr-table2"), np.random.default_rng(seed)
    places = [
        [(f"test {test}", f"train {train}") for train in planes.LEVELS] for test in planes.LEVELS
    ]
    mean = np.array([[table[place].value for place in row] for row in places])
    half = np.array([[table[place].half for place in row] for row in places])
    mscr = np.array([table["MSCR", f"train {train}"].half for train in planes.LEVELS])
    half = np.minimum(half, mscr)  # the noise that all share cancels in MSCR
    shared = rng.normal(size=(groups, RUNS_EACH, 1, len(SIZES)))
    own = rng.normal(size=(groups, RUNS_EACH, len(SIZES), len(SIZES)))
    spread = 0.2 * precise * math.sqrt(groups * RUNS_EACH) * half
    accuracies = mean + spread * own + spread.min(axis=0) * shared
    hits = np.rint(accuracies / 100 * plan.sizes[:, None]).astype(int)
    return GroupedHits(plan, hits, groups, groups * RUNS_EACH)


@pytest.fixture
def imagine(monkeypatch, printed_set):
    """Reproduce Table 2, or another name, from imagined runs."""

    def reproduce(name="mscr-table2", form="full", groups=60, **options):
        found = imagine_hits(printed_set, groups, **options)
        for module in (planes, plane_figures):
            monkeypatch.setattr(module, "run_forest", lambda *_: found)
        return st.reproduce(name, data="made up", form=form, draws=options.get("draws", "shared"))

    return reproduce


def judge(found):
    return {each.claim: each.verdict for each in found.judgements}


def test_printed_numbers_are_known_to_hold(imagine):
    found = imagine()
    assert {k: v for k, v in judge(found).items() if v != "holds"} == {}
    assert (found.verdict, found.exit_code) == ("holds", 0)
    numbers = found.numbers.by_name
    assert len(numbers) == 90
    number = numbers["accuracy: test 0.03 / train eps_min"]
    assert (number.printed.value, number.printed.half, number.runs) == (94.5, 0.06, 60)
    assert number.runs_each == RUNS_EACH
    assert "60 groups of 25" in found.settings["Runs"]
    assert found.measured.figure() is not None


def test_a_changed_number_fails(imagine, monkeypatch):
    def change(clean, robust):
        return 1.1 * (np.asarray(robust) - clean) / clean

    monkeypatch.setattr(planes, "relative_change", change)
    found = imagine()
    assert judge(found)["all nine MSCR agree with print"] == "fails"
    assert found.exit_code == 1


def test_lost_answers_fail(imagine, monkeypatch):
    """A tenth of a point in one cell of 81."""
    take = GroupedHits.accuracies.func

    def lose(found):
        values = take(found).copy()
        values[:, :, 2, 4] -= 0.001
        return values

    monkeypatch.setattr(GroupedHits, "accuracies", property(lose))
    assert judge(imagine())["all 81 accuracies agree with print"] == "fails"


def test_wide_intervals_do_not_pass(imagine):
    found = imagine(groups=3, precise=3)
    verdicts = judge(found)
    assert verdicts["all 90 numbers are at least as precise as print's"] == "inconclusive"
    assert found.exit_code != 0


def test_the_fast_form_claims_less(imagine):
    found = imagine(form="fast", groups=8, precise=2)
    assert found.exit_code == 0
    assert [*REPRODUCTIONS.get("mscr-table2").forms] == ["full", "fast"]  # the first is the default


def test_independent_draws_have_claims_of_their_own(imagine):
    """Imagined runs are about print, which is not what independent draws give."""
    verdicts = judge(imagine(draws="independent"))
    assert verdicts["up to training noise eps_min, accuracies are within 0.2 of print"] == "holds"
    assert verdicts["MSCR is negative up to training noise .015"] == "holds"
    below = [verdict for claim, verdict in verdicts.items() if claim.endswith("is below print's")]
    assert len(below) == 3
    assert "holds" not in below


def test_other_data_and_norms_are_not_compared_with_print(monkeypatch, tmp_path):
    short = (0, "eps_min")
    monkeypatch.setattr(planes, "LEVELS", short)
    options = {"runs": 2, "n_jobs": 1, "out": tmp_path}
    monkeypatch.setattr(PlaneForest.__init__, "__defaults__", (3, None))
    found = st.reproduce("mscr-table2", data="bands(n=62)", norm=2, **options)
    assert (found.verdict, len(found.judgements)) == ("inconclusive", 0)
    assert len(found.numbers.by_name) == 6
    assert not any(number.printed for number in found.numbers.by_name.values())
    accuracy, mscr = (found.numbers.by_name[f"{n} / train 0"].value for n in NAMES)
    assert 40 < accuracy <= 100
    assert -40 < mscr < 20
    again = st.reproduce("mscr-table2", data="bands(n=62)", norm=2, **options)
    assert again.json()["tables"] == found.json()["tables"]
    part = st.reproduce("mscr-table2", data="bands(n=62)", minutes=0, **options | {"out": None})
    assert part.exit_code == 3
    assert "0 of 50 runs are done" in part.json()["unfinished"]
    assert (tmp_path / "mscr-table2.full.l2.runs2.svg").exists()


NAMES = ("accuracy: test eps_min", "mscr: MSCR")


def test_table_1_of_what_is_given(tmp_path):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.random((4673, 2)) * [1, 0.4], [[0.5, 0.408026]]])
    y = np.repeat([0, 1], [4673, 1])
    x[np.abs(x[:, 0] - 0.5) < 0.1, 1] = 0.0
    x[-1], x[0] = (0.5, 0.408026), (0.5, 0.4)
    np.savez(tmp_path / "plane.npz", x=x, y=y)
    found = st.reproduce("mscr-table1", data=tmp_path / "plane.npz")
    assert judge(found)["2r and eps_min of the data in the plane are as printed"] == "holds"
    assert found.json()["unfinished"] == "not given: CIFAR-10"
    assert found.exit_code == 3
    images = rng.integers(0, 256, (60, 32, 32, 3)).astype(np.uint8)
    np.savez(tmp_path / "small.npz", x=images, y=np.arange(60) % 10)
    (tmp_path / "notes.txt").write_text("no data")
    both = st.reproduce("mscr-table1", data=tmp_path)
    assert {name.split(" /")[0] for name in both.numbers.by_name} == {
        "size: 2D dataset",
        "size: small.npz",
    }
    other = st.reproduce("mscr-table1", data=tmp_path / "plane.npz", norm=2)
    assert (other.verdict, len(other.judgements)) == ("inconclusive", 0)
    x[-1, 1] += 0.00001
    np.savez(tmp_path / "plane.npz", x=x, y=y)
    assert st.reproduce("mscr-table1", data=tmp_path / "plane.npz").exit_code == 1


def test_cifar_10_is_told_by_its_classes(monkeypatch, tmp_path):
    monkeypatch.setitem(planes.PRINTED_SIZES, "CIFAR-10", 60)
    images = np.random.default_rng(0).integers(0, 256, (60, 32, 32, 3)).astype(np.uint8)
    for name, classes in (("a.npz", 20), ("b.npz", 10), ("c.npz", 10)):
        np.savez(tmp_path / name, x=images, y=np.arange(60) % classes)
    found = st.reproduce("mscr-table1", data=tmp_path)
    rows = {name.split(" /")[0] for name in found.numbers.by_name}
    assert rows == {"size: a.npz", "size: CIFAR-10"}
    assert found.measured.unfinished == "not given: 2D dataset"


def test_table_1_needs_data(tmp_path):
    with pytest.raises(InputError, match="CIFAR-10, or a folder that holds both"):
        st.reproduce("mscr-table1")
    with pytest.raises(InputError, match="which has neither"):
        st.reproduce("mscr-table1", data=tmp_path)


def test_the_tradeoff_of_printed_numbers(imagine):
    found = imagine("mscr-fig6", "fast")
    assert found.exit_code == 0
    assert len(found.judgements) == 10
    assert found.measured.figure() is not None
    wide = judge(imagine("mscr-fig6", "fast", groups=3, precise=8))
    assert wide["all 18 intervals are at most five times as wide as print's"] == "inconclusive"


@pytest.mark.parametrize(("norm", "claims"), [("inf", 3), (2, 0)])
def test_figure_4_is_claimed_of_the_printed_norm_alone(monkeypatch, norm, claims):
    monkeypatch.setattr(plane_figures, "COPIES", (1, 10))
    monkeypatch.setattr(plane_figures, "is_printed_set", lambda _: True)
    monkeypatch.setattr(PlaneForest.__init__, "__defaults__", (3, None))
    found = st.reproduce("mscr-fig4", data="bands(n=62)", runs=2, n_jobs=1, norm=norm)
    assert len(found.judgements) == claims


@pytest.mark.parametrize(("norm", "claims"), [("inf", 5), (2, 0)])
def test_figure_5_is_claimed_of_the_printed_norm_alone(monkeypatch, printed_set, norm, claims):
    found = imagine_hits(printed_set, 3)
    for name in ("run_forest", "run_model"):
        monkeypatch.setattr(plane_figures, name, lambda *_: found)
    assert len(st.reproduce("mscr-fig5", data="made up", norm=norm).judgements) == claims


def test_deviations_need_several_runs(capsys, tmp_path):
    message = run_failing(capsys, "reproduce", "mscr-fig4", "--runs", "1", "--out", str(tmp_path))
    assert "runs must be 2 or more" in message


@pytest.mark.parametrize("name", ["mscr-table2", "mscr-fig4", "mscr-fig5", "mscr-fig6"])
def test_other_data_than_points_of_two_classes_are_refused(capsys, tmp_path, name):
    images = np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3)).astype(np.uint8)
    np.savez(tmp_path / "images.npz", x=images, y=np.arange(20) % 10)
    points = np.random.default_rng(0).random((9, 2))
    np.savez(tmp_path / "three.npz", x=points, y=np.arange(9) % 3)
    for file, got in (("images", "3072 features and 10"), ("three", "2 features and 3")):
        path = str(tmp_path / f"{file}.npz")
        message = run_failing(capsys, "reproduce", name, "--data", path, "--out", str(tmp_path))
        assert "points in the plane, with two features and two classes" in message
        assert f"{got} classes" in message


def test_the_forest_and_1nn_in_the_same_runs(monkeypatch, tmp_path):
    for module in (planes, plane_figures):
        monkeypatch.setattr(module, "LEVELS", (0, "eps_min"))
    monkeypatch.setattr(PlaneForest.__init__, "__defaults__", (3, None))
    options = {"data": "bands(n=62)", "runs": 2, "n_jobs": 1}
    found = st.reproduce("mscr-fig5", **options, out=tmp_path)
    assert (tmp_path / "mscr-table2.sqlite").exists()
    numbers = found.numbers.by_name
    near, forest, ahead = (
        numbers[f"{name} / train eps_min"].ours
        for name in ("clean: 1-NN", "clean: random forest", "ahead: clean accuracy")
    )
    assert np.allclose(near[:2] - forest, ahead)
    assert numbers["change: MSCR of 1-NN / train eps_min"].runs == 6


def test_claims_on_1nn_depend_on_the_draws(imagine, monkeypatch, printed_set):
    def better(*_):
        found = imagine_hits(printed_set, 8, precise=0.2, seed=1)
        hits = np.repeat(found.hits[..., [0, 3], :1], len(planes.LEVELS), axis=3)
        plan = Plan(
            data=printed_set, model=PlaneForest(), p=math.inf, train=found.plan.train,
            test=[found.plan.test[0], found.plan.test[3]],
        )  # fmt: skip
        top = np.array([0.9995, 0.9993])[:, None] * plan.sizes[:, None]
        return GroupedHits(plan, np.maximum(hits, top.astype(int)), 8, 200)

    monkeypatch.setattr(plane_figures, "run_model", better)
    verdicts = judge(imagine("mscr-fig5", "fast", groups=8, precise=0.5))
    assert {k: v for k, v in verdicts.items() if v != "holds"} == {}
    falls = judge(imagine("mscr-fig5", "fast", groups=8, precise=0.5, draws="independent"))
    assert "inconclusive" in falls.values() or "fails" in falls.values()


def test_copies_of_every_point(monkeypatch, tmp_path):
    monkeypatch.setattr(plane_figures, "COPIES", (1, 10))
    monkeypatch.setattr(PlaneForest.__init__, "__defaults__", (3, None))
    found = st.reproduce("mscr-fig4", data="bands(n=62)", runs=5, n_jobs=1, out=tmp_path)
    numbers = found.numbers.by_name
    assert [*numbers] == [
        "accuracy: k = 1",
        "accuracy: k = 10",
        "gain: k = 1",
        "spread: k = 1",
    ]
    gain = numbers["accuracy: k = 1"].ours - numbers["accuracy: k = 10"].ours
    assert np.allclose(numbers["gain: k = 1"].ours, gain)
    assert (tmp_path / "mscr-fig4.fast.runs5.svg").exists()
    few = st.reproduce("mscr-fig4", data="bands(n=62)", runs=2, n_jobs=1)
    assert "spread: k = 1" not in few.numbers.by_name


def test_the_spread_is_compared_with_its_interval():
    """Coverage of the jackknife, for deviations of two that go together."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(300):
        shared = rng.normal(size=30)
        usual, other = shared, 1.1 * shared + 0.2 * rng.normal(size=30)
        values = compare_spread(other, usual)
        error = values.std(ddof=1) / math.sqrt(len(values))
        inside += abs(values.mean() - math.hypot(1.1, 0.2)) < 2.05 * error
    assert inside > 0.88 * 300
