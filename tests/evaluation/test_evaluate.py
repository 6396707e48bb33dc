import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from shaketable.core.errors import InputError
from shaketable.corruptions import parse
from shaketable.corruptions.suites.suite import suite
from shaketable.data.arrays import join, make_dataset
from shaketable.data.bounds import Bounds
from shaketable.evaluation import cells as cells_module
from shaketable.evaluation import resolve as resolve_module
from shaketable.evaluation.cells import Cell, Origin, make_points
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.noise import Noise
from shaketable.evaluation.store import Store

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(60, 2))
Y = (X[:, 0] > 0.5).astype(int)
LEVELS = ["linf(0.05)", "l2(0.1)", "l1(0.2)"]


def threshold(x):
    return (x[:, 0] > 0.5).astype(int)


def hits(records):
    return [cell.hits.tolist() for cell in records]


def test_clean_comes_first_and_counts_are_right():
    records = evaluate(threshold, (X, Y), LEVELS, k=7)
    assert [c.corruption for c in records] == ["clean", *LEVELS]
    clean = records.cells[0]
    assert clean.k == 1
    assert clean.accuracy == 1
    np.testing.assert_array_equal(clean.predictions, Y)
    for cell in records.cells[1:]:
        assert cell.hits.max() <= 7
        # at distance > eps from the boundary nothing can change, in any of these norms
        safe = np.abs(X[:, 0] - 0.5) > cell.epsilon
        assert (cell.hits[safe] == 7).all()
        assert (cell.hits[~safe] < 7).any()


def test_the_share_of_hits_is_the_probability_that_noise_allows():
    # one point at distance a from the boundary: P(right) = (1 + a/eps)/2 under L-inf noise
    x, y = np.array([[0.5 + 0.02, 0.0], [0.0, 0.0]]), [1, 0]
    cell = evaluate(threshold, (x, y), ["linf(0.1)"], k=20_000).cells[1]
    p = (1 + 0.02 / 0.1) / 2
    assert cell.hits[0] / 20_000 == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 20_000))


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 200))
def test_batches_do_not_matter(batch):
    whole = hits(evaluate(threshold, (X, Y), LEVELS, k=5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells_module, "BATCH_VALUES", batch)
        assert hits(evaluate(threshold, (X, Y), LEVELS, k=5)) == whole


def test_memory_does_not_grow_with_k(monkeypatch):
    monkeypatch.setattr(cells_module, "BATCH_VALUES", 1000)
    largest = 0

    def model(x):
        nonlocal largest
        largest = max(largest, x.size)
        return threshold(x)

    evaluate(model, (X, Y), ["linf(0.1)"], k=500)
    assert largest <= 1000


def test_every_model_meets_the_same_noise_and_draws_extend():
    seen = []

    def model(x):
        seen.append(x)
        return threshold(x)

    evaluate(model, (X, Y), ["linf(0.1)"], k=3)
    evaluate(lambda x: (model(x) + 1) % 2, (X, Y), ["linf(0.1)"], k=3)
    np.testing.assert_array_equal(seen[1], seen[3])
    evaluate(model, (X, Y), ["linf(0.1)"], k=5)
    few, many = seen[1].reshape(60, 3, 2), seen[5].reshape(60, 5, 2)
    np.testing.assert_array_equal(many[:, :3], few)
    evaluate(model, (X, Y), ["linf(0.1)"], k=3, seed=1)
    assert not np.isin(seen[7], seen[1]).any()


def test_shared_draws_are_the_same_offsets_for_all_points_scaled_along_the_levels():
    seen = []

    def model(x):
        seen.append(x.reshape(60, -1, 2))
        return np.zeros(x.shape[0], int)

    evaluate(model, (X, Y), ["linf(0.1)", "linf(0.2)"], k=4, draws="shared")
    small, large = seen[1] - X[:, None], seen[2] - X[:, None]
    np.testing.assert_allclose(small, np.broadcast_to(small[:1], small.shape), atol=1e-15)
    np.testing.assert_allclose(large, 2 * small, atol=1e-15)


def test_bounds_are_the_declared_ones_unless_given():
    extremes = []

    def model(x):
        extremes.append((x.min(), x.max()))
        return threshold(x)

    data = make_dataset(X, Y, bounds=(0, 1))
    assert evaluate(model, data, ["linf(0.5)"], k=5).cells[1].bounds == "clip[0, 1]"
    assert extremes[1] == (0, 1)
    assert evaluate(model, data, ["linf(0.5)"], k=5, bounds=None).cells[1].bounds == "none"
    assert extremes[3][0] < -0.4


def test_eps_min_is_taken_from_the_data_and_recorded():
    records = evaluate(threshold, (X, Y), ["linf(eps_min)", "l2(eps_min)", "linf(0.3)"], k=2)
    assert [records.at_eps_min(c) for c in records] == [False, True, True, False]
    assert {s.norm for s in records.separations} == {2.0, np.inf}


def test_a_separation_on_record_is_not_measured_again(tmp_path, monkeypatch):
    measured = []
    real = resolve_module.separation
    monkeypatch.setattr(
        resolve_module, "separation", lambda *a, **k: measured.append(k) or real(*a, **k)
    )
    for name in ("one", "two"):
        records = evaluate(
            threshold,
            (X, Y),
            ["linf(eps_min)", "l2(eps_min)"],
            name=name,
            store=tmp_path / "r.sqlite",
        )
        assert [records.at_eps_min(c) for c in records] == [False, True, True]
    assert len(measured) == 2  # once a norm


def test_the_test_part_is_what_is_measured():
    data = join((X[:40], Y[:40]), (X[40:], Y[40:]))
    records = evaluate(threshold, data, ["linf(0.1)"])
    assert records.cells[0].points.rows.tolist() == list(range(40, 60))
    fitted = evaluate(KNeighborsClassifier(1), (X, Y), ["linf(0.1)"], refit=True)
    assert fitted.cells[0].n == 12


def test_a_cell_in_the_store_is_not_computed_again(tmp_path):
    calls = 0
    store = tmp_path / "r.sqlite"

    def model(x):
        nonlocal calls
        calls += 1
        return threshold(x)

    first = evaluate(model, (X, Y), LEVELS[:2], store=store, model_id="threshold")
    assert calls == 3
    again = evaluate(model, (X, Y), LEVELS, store=store, model_id="threshold")
    assert calls == 4
    assert hits(again)[:3] == hits(first)
    evaluate(model, (X, Y), LEVELS, store=store, model_id="threshold", k=11)
    assert calls == 7  # clean points do not depend on k
    evaluate(model, (X, Y), LEVELS, store=store)
    assert calls == 11  # without an identity nothing is taken for the same
    evaluate(model, (X + 1e-9, Y), LEVELS, store=store, model_id="threshold")
    assert calls == 15
    with Store(store) as opened:
        assert len(opened.records()) == 15


def test_frames_hold_one_row_a_cell():
    frame = evaluate(threshold, (X, Y), LEVELS).to_frame()
    assert frame.shape[0] == 4
    assert frame["accuracy"].iloc[0] == 1
    assert frame["corruption"].tolist() == ["clean", *LEVELS]


def test_image_shaped_points_reach_callables_in_their_shape():
    x = np.random.default_rng(0).integers(0, 256, (20, 8, 8, 3), dtype=np.uint8)
    shapes = set()

    def model(batch):
        shapes.add((batch.shape[1:], batch.dtype.str, float(batch.max()) <= 1))
        return np.arange(len(batch)) % 2

    evaluate(model, make_dataset(x, np.arange(20) % 2), ["linf(0.1)"], k=2)
    assert shapes == {((8, 8, 3), "<f4", True)}
    evaluate(model, (x, np.arange(20) % 2), ["linf(0.1)"], k=2)  # arrays keep their own units
    assert ((8, 8, 3), "<f4", False) in shapes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 2.5}, "k must be"),
        ({"seed": -1}, "seed must be"),
        ({"bounds": (0.2, 0.8)}, "lie in the bounds"),
        ({"draws": "share"}, "did you mean 'shared'"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        evaluate(threshold, (X, Y), LEVELS, **options)


def test_fewer_points_than_classes_are_refused():
    with pytest.raises(InputError, match="as many points as there are classes"):
        evaluate(threshold, join((X[:9], [0, 1, 2] * 3), (X[:2], [0, 1])), LEVELS)


def _cell(**changes):
    data = changes.pop("data", make_dataset(X, Y))
    noise = Noise(**{"k": 3, "seed": 0, **changes.pop("noise", {})})
    spec = changes.pop("spec", "linf(0.1)")
    points = make_points(data, changes.pop("rows", np.arange(30)))
    return Cell(
        data, points, parse(spec), noise, Origin("m", "r", "clean"), changes.pop("model", "id")
    )


CHANGES = {
    "corruption": {"spec": "linf(0.2)"},
    "k": {"noise": {"k": 4}},
    "seed": {"noise": {"seed": 1}},
    "run": {"noise": {"run": 1}},
    "draws": {"noise": {"draws": "shared"}},
    "bounds": {"noise": {"bounds": Bounds(0, 1)}},
    "rule": {"noise": {"bounds": Bounds(0, 1, "truncate")}},
    "points": {"rows": np.arange(1, 31)},
    "model": {"model": "other"},
    "values": {"data": make_dataset(X + 1e-12, Y)},
    "labels": {"data": make_dataset(X, 1 - Y)},
    "class order": {"data": make_dataset(X, Y, classes=(1, 0))},
    "dtype": {"data": make_dataset(X.astype(np.float32), Y)},
}


def test_a_cells_key_tells_all_that_its_counts_depend_on():
    keys = {name: _cell(**change).key for name, change in CHANGES.items()}
    keys["nothing"] = _cell().key
    assert len(set(keys.values())) == len(keys)
    assert _cell().key == _cell().key
    # clean points depend neither on k nor on bounds nor on how noise is drawn
    clean = [_cell(spec="clean", **CHANGES[name]).key for name in ("k", "draws", "bounds")]
    assert {*clean, _cell(spec="clean").key} == {clean[0]}


@pytest.mark.parametrize("name", ["corruption", "seed", "run", "values"])
def test_noise_follows_from_data_stream_run_and_seed(name):
    def keys(cell):
        return cell.noise.keys(cell.data, cell.corruption, np.arange(5), np.arange(2))

    assert not np.isin(keys(_cell(**CHANGES[name])), keys(_cell())).any()
    np.testing.assert_array_equal(keys(_cell(**CHANGES["k"])), keys(_cell()))
    np.testing.assert_array_equal(keys(_cell(**CHANGES["model"])), keys(_cell()))


def test_any_kind_of_integer_is_the_same_integer():
    plain = evaluate(threshold, (X, Y), LEVELS, k=3, seed=3)
    numpy = evaluate(threshold, (X, Y), LEVELS, k=np.int64(3), seed=np.uint8(3))
    assert hits(plain) == hits(numpy)
    assert numpy.cells[1].k == 3


def test_records_come_under_the_name_that_was_asked_for(tmp_path):
    options = {"store": tmp_path / "r.sqlite", "model_id": "m"}
    evaluate(threshold, (X, Y), LEVELS, name="first", **options)
    assert evaluate(threshold, (X, Y), LEVELS, name="second", **options).models == ["second"]


def test_bounds_belong_to_the_evaluation_not_to_the_corruption():
    bound = parse("linf(0.1)").bind(Bounds(0, 1))
    with pytest.raises(InputError, match="bounds of linf"):
        evaluate(threshold, (X, Y), [bound])


def test_rows_per_batch_are_limited_too(monkeypatch):
    monkeypatch.setattr(cells_module, "BATCH_ROWS", 100)
    largest = 0

    def model(x):
        nonlocal largest
        largest = max(largest, len(x))
        return threshold(x)

    evaluate(model, (X, Y), ["linf(0.1)"], k=50)
    assert largest <= 100


LADDER = ["l2(0.02)", "l2(0.1)", "linf(0.05)", "l2(0.3)", "l0(0.5)", "l0(1)"]


def seen_by_a_model(**options):
    """What a model is shown, by corruption."""
    shown = []

    def model(x):
        shown.append(x.copy())
        return np.zeros(len(x), int)

    records = evaluate(model, (X, Y), LADDER, k=3, bounds=(0, 1), **options)
    return records, shown


def test_ladder_draws_scale_one_draw_of_a_point_along_the_sizes():
    records, shown = seen_by_a_model(draws="ladder")
    order = ["clean", "l2(0.02)", "l2(0.1)", "l2(0.3)", "linf(0.05)", "l0(0.5)", "l0(1)"]
    moved = dict(zip(order, (x - np.repeat(X, len(x) // 60, axis=0) for x in shown), strict=True))
    inside = np.abs(shown[3] - 0.5).max(axis=1) < 0.5  # not clipped at the largest size
    np.testing.assert_allclose(moved["l2(0.3)"][inside], 15 * moved["l2(0.02)"][inside], rtol=1e-9)
    hit = moved["l0(0.5)"] != 0
    assert (hit.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(moved["l0(0.5)"][hit], moved["l0(1)"][hit])
    # points and draws have noise of their own, and so have norms
    assert len(np.unique(moved["l2(0.3)"][:, 0])) > 150
    assert not np.allclose(np.sign(moved["l2(0.1)"]), np.sign(moved["linf(0.05)"]))
    assert {c.draws for c in records} == {"none", "ladder"}


def test_independent_draws_do_not():
    _, shown = seen_by_a_model()
    weak, strong = (x - np.repeat(X, 3, axis=0) for x in (shown[1], shown[2]))
    assert abs(np.corrcoef(weak[:, 0], strong[:, 0])[0, 1]) < 0.3


def test_a_level_of_a_ladder_is_the_same_whatever_is_measured_beside_it():
    records = evaluate(threshold, (X, Y), LADDER[:4], k=3, draws="ladder")
    whole = {c.corruption: c.hits for c in records}
    (_, alone) = evaluate(threshold, (X, Y), ["l2(0.1)"], k=3, draws="ladder")
    np.testing.assert_array_equal(alone.hits, whole["l2(0.1)"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells_module, "BATCH_VALUES", 7)
        small = evaluate(threshold, (X, Y), LADDER[:4], k=3, draws="ladder")
    for cell in small:
        np.testing.assert_array_equal(cell.hits, whole[cell.corruption])


def test_a_suite_is_drawn_by_ladders_and_recorded(tmp_path):
    data = make_dataset(RNG.uniform(size=(20, 8, 8)), np.arange(20) % 2, bounds=(0, 1))
    store = tmp_path / "r.sqlite"

    def model(x):
        return (x.mean(axis=(1, 2)) > 0.5).astype(int)

    records = evaluate(model, data, suite("ice"), store=store, model_id="m")
    assert {c.k for c in records} == {1}
    assert {c.draws for c in records} == {"none", "ladder"}
    (kept,) = records.suites
    assert kept.name == "ice"
    assert kept.metric == "ice"
    assert "derived from ice-cifar for 64 values" in kept.derived
    assert kept.specs == tuple(c.corruption for c in records.cells[1:])
    with Store(store) as opened:
        assert opened.records().suites == records.suites
    again = evaluate(model, data, [suite("ice")], store=store, model_id="m", draws="independent")
    assert {c.draws for c in again} == {"none", "independent"}


def test_stopped_ladders_go_on_where_they_were(tmp_path):
    asked = []

    def model(x):
        asked.append(len(x))
        if len(asked) == 5:  # clean, three sizes of L2, and then
            raise KeyboardInterrupt
        return threshold(x)

    store = tmp_path / "r.sqlite"
    settings_ = {"k": 2, "draws": "ladder", "store": store, "model_id": "m"}
    with pytest.raises(KeyboardInterrupt):
        evaluate(model, (X, Y), [*LADDER[:4], "l1(0.1)"], **settings_)
    asked.clear()
    asked.extend(range(10))
    records = evaluate(model, (X, Y), [*LADDER[:4], "l1(0.1)"], **settings_)
    assert len(asked) == 12
    assert hits(records) == hits(
        evaluate(threshold, (X, Y), [*LADDER[:4], "l1(0.1)"], k=2, draws="ladder")
    )
