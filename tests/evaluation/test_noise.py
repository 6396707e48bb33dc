import numpy as np
import pytest

from helpers.threshold import X, Y, threshold
from shaketable.core.errors import InputError
from shaketable.corruptions import parse
from shaketable.data.arrays import make_dataset
from shaketable.data.bounds import Bounds
from shaketable.evaluation import cells as cells_module
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.noise import Noise, choose_bounds, choose_range

LADDER = ["l2(0.02)", "l2(0.1)", "linf(0.05)", "l2(0.3)", "l0(0.5)", "l0(1)"]


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
    assert evaluate(model, data, ["linf(0.5)"], k=5).cells[1].setting.bounds == "clip[0, 1]"
    assert extremes[1] == (0, 1)
    assert evaluate(model, data, ["linf(0.5)"], k=5, bounds=None).cells[1].setting.bounds == "none"
    assert extremes[3][0] < -0.4


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
    assert {c.setting.draws for c in records} == {"none", "ladder"}


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


def test_keys_depend_on_all_that_noise_is_to_depend_on():
    data, other = make_dataset(X, Y), make_dataset(X + 1, Y)
    rows, draws = np.arange(5), np.arange(3)

    def keys(data=data, spec="linf(0.1)", **settings):
        noise = Noise(**{"k": 3, "seed": 0, "run": 0} | settings)
        return noise.keys(data, parse(spec), rows, draws)

    different = [
        keys(),
        keys(seed=1),
        keys(run=1),
        keys(seed=1, run=1),
        keys(data=other),
        keys(spec="linf(0.2)"),
        keys(spec="linf(0.1)", draws="ladder"),
        keys(spec="l2(0.1)"),
    ]
    assert len(np.unique(np.stack(different))) == len(different) * 15
    np.testing.assert_array_equal(keys(), keys(k=7))
    along = [keys(spec=spec, draws="ladder") for spec in ("linf(0.1)", "linf(0.2)")]
    np.testing.assert_array_equal(*along)


@pytest.mark.parametrize("choose", [choose_bounds, choose_range])
def test_data_beyond_either_end_of_the_bounds_are_refused(choose):
    data = make_dataset(X, Y)
    low, high = X.min(), X.max()
    assert choose(data, (low, high)) == Bounds(low, high)
    for bounds in ((low + 1e-9, high), (low, high - 1e-9)):
        with pytest.raises(InputError, match="lie in the bounds"):
            choose(data, bounds)


def test_only_the_range_of_uint8_images_has_levels():
    images = np.arange(2 * 64, dtype=np.uint8).reshape(2, 8, 8)
    data = make_dataset(images, [0, 1])
    assert choose_bounds(data, "declared").steps == 255
    assert choose_bounds(data, (0, 1)).steps == 255
    assert [choose_bounds(data, b).steps for b in ((0, 2), (-1, 1))] == [0, 0]
    assert choose_bounds(make_dataset(images / 255, [0, 1]), (0, 1)).steps == 0
