"""Corruptions of other people: decorated functions, classes, entry points, suites."""

import math
import pickle
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_command, run_failing
from helpers.custom_noise import stretch
from helpers.noise_plugin import install_noise_plugin, remove_noise_plugin
from shaketable.core.errors import InputError
from shaketable.core.keys import row_keys
from shaketable.corruptions import Sequence, parse
from shaketable.corruptions.parse import as_corruption
from shaketable.corruptions.registry import CORRUPTIONS, describe_corruptions
from shaketable.corruptions.suites.suite import SUITES, suite
from shaketable.data.bounds import Bounds

HERE = __name__


@st.corruption
def scale(x, rng, *, strength, power: int = 1, kind="all", flip=False, limit=None):
    """Multiply every value by a random number near 1."""
    assert isinstance(power, int)
    assert limit is None or isinstance(limit, (int, float))
    x *= 1 + strength * (rng.random(x.shape) - 0.5) ** power
    return -x if flip else x


@st.corruption
def add(x, rng, *, size: float = 1.0):
    assert isinstance(size, float)
    return x + size * rng.normal(size=x.shape)


@st.corruption(on_steps=True)
def rounded(x, rng, *, size=0.1):
    return x + size * rng.random(x.shape)


def plain(x, rng):
    return x


def keys(n):
    return row_keys(3, np.arange(n), np.arange(1))[:, 0]


def points(n=6, d=4):
    return np.random.default_rng(0).random((n, d))


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    install_noise_plugin(tmp_path, monkeypatch, CORRUPTIONS, SUITES)
    yield
    remove_noise_plugin(CORRUPTIONS, SUITES)


def test_the_spec_has_all_arguments_and_parses_back():
    made = scale(strength=0.2)
    text = f"{HERE}:scale(strength=0.2, power=1, kind=all, flip=False, limit=None)"
    assert made.spec == text
    assert parse(text) == made == parse(f"{HERE}:scale(0.2)") == scale(strength=0.2, power=1)
    other = scale(strength=np.float64(2), power=3.0, kind="some", flip=np.True_, limit=1e-3)
    assert other.spec == f"{HERE}:scale(strength=2, power=3, kind=some, flip=True, limit=0.001)"
    assert parse(other.spec) == other != made
    assert parse(other.spec).arguments == other.arguments
    assert add().spec == f"{HERE}:add(size=1)"
    assert parse(f"{HERE}:add") == add() == as_corruption(add)
    assert scale(0.2, 3, flip=True) == parse(f"{HERE}:scale(0.2, 3, flip=True)")
    assert repr(add) == f"<corruption {HERE}:add(size=1)>"


def test_a_point_depends_on_its_key_alone():
    x, noise = points(), add(size=0.5)
    whole = noise(x, keys(6))
    order = np.array([4, 0, 2])
    np.testing.assert_array_equal(noise(x[order], keys(6)[order]), whole[order])
    for i in range(6):
        np.testing.assert_array_equal(noise(x[[i]], keys(6)[[i]])[0], whole[i])
        rng = np.random.default_rng(int(keys(6)[i]))
        np.testing.assert_array_equal(whole[i], x[i] + 0.5 * rng.normal(size=4))


def test_the_function_cannot_change_its_input():
    x = points()
    kept = x.copy()
    scale(strength=0.5)(x, keys(6))
    np.testing.assert_array_equal(x, kept)


def test_results_are_clipped_and_rounded_only_if_asked():
    x = np.full((50, 3), 200, np.uint8)
    noisy = st.corrupt(x, add(size=100.0), rng=0, bounds=(0, 255))
    assert (noisy.min(), noisy.max()) == (0, 255)
    assert (noisy != noisy.round()).any()
    on_steps = st.corrupt(x, rounded(size=9), rng=0, bounds=(0, 255))
    np.testing.assert_array_equal(on_steps, on_steps.round())
    assert len(np.unique(on_steps)) == 10
    data = st.make_dataset(np.full((20, 8, 8), 100, np.uint8), np.arange(20) % 2)
    levels = st.corrupted(data, rounded()).x * 255
    np.testing.assert_allclose(levels, levels.round(), atol=1e-4)
    assert st.corrupt(np.zeros((2, 3), np.float32), add(), rng=0).dtype == np.float32


def test_it_works_in_sequences_with_a_name_and_on_tensors():
    x = points()
    both = parse("linf(0.1)") + add(size=0.5)
    assert isinstance(both, Sequence)
    assert parse(both.spec) == both
    named = parse(f"{HERE}:add(0.5) + linf(0.1) as WET")
    assert named.spec == f"{HERE}:add(size=0.5) + linf(0.1) as WET"
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for noise in (add(size=0.5), both, named):
        array = st.corrupt(x, noise, rng=0)
        np.testing.assert_array_equal(st.corrupt(torch.from_numpy(x), noise, rng=0), array)


def evaluate(corruptions, **options):
    rng = np.random.default_rng(0)
    x = rng.random((40, 3))
    return st.evaluate(
        lambda x: (x[:, 0] > 0.5).astype(int),
        (x, (x[:, 0] > 0.5).astype(int)),
        corruptions,
        model_id="threshold",
        **options,
    )


def test_evaluate_suites_and_grids_take_it(monkeypatch):
    records = evaluate([add(size=0.2), f"{HERE}:add(0.4)", add], k=3)
    assert [r.corruption for r in records] == [
        "clean",
        f"{HERE}:add(size=0.2)",
        f"{HERE}:add(size=0.4)",
        f"{HERE}:add(size=1)",
    ]
    (alone,) = [r for r in evaluate(add(size=0.2), k=3) if r.corruption != "clean"]
    np.testing.assert_array_equal(alone.hits, records.cells[1].hits)
    monkeypatch.setattr("shaketable.evaluation.cells.BATCH_ROWS", 7)
    np.testing.assert_array_equal(evaluate(add(size=0.2), k=3).cells[1].hits, alone.hits)
    np.testing.assert_array_equal(evaluate(add(size=0.2), k=1).cells[1].hits.max(), 1)
    grid = st.grid([add(size=0.1)], ["linf(0.1)"])
    assert f"{HERE}:add(size=0.1) + linf(0.1)" in grid.names
    assert len(evaluate(grid)) == 5
    ladder = st.corruptions.Suite("mine", "two sizes", (add(size=0.1).spec, add(size=0.2).spec))
    assert not ladder.needs_range
    assert len(evaluate(ladder)) == 3


def dim(x, rng, *, strength=0.5):
    return x * strength


def test_a_function_of_a_script_needs_a_module_for_a_results_file(tmp_path, monkeypatch):
    monkeypatch.setattr(dim, "__module__", "__main__")
    of_script = st.corruption(dim)(0.2)
    assert [r.corruption for r in evaluate([of_script])][1:] == ["__main__:dim(strength=0.2)"]
    for given in (of_script, parse("linf(0.1)") + of_script):
        with pytest.raises(InputError, match="defined in a script or notebook, .*into a module"):
            evaluate([given], store=tmp_path / "r.sqlite")
    assert len(evaluate([add(0.2)], store=tmp_path / "r.sqlite")) == 2


def test_the_gallery_shows_it():
    shown = st.gallery(np.full((1, 8, 8), 0.5), [add(size=0.1), f"{HERE}:add(0.2)"])
    assert [p.name for p in shown.pictures][1:] == [add(size=0.1).spec, add(size=0.2).spec]


def test_it_can_be_sent_to_workers():
    made = stretch(strength=0.2)
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert again.decorated is stretch
    x = points()
    jobs = [joblib.delayed(made)(x[[i]], keys(6)[[i]]) for i in range(6)]
    rows = joblib.Parallel(n_jobs=2)(jobs)
    np.testing.assert_array_equal(np.concatenate(rows), made(x, keys(6)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (plain, "corruption plain is a plain function; decorate it with @shaketable.corruption"),
        (f"{HERE}:plain", f"corruption {HERE}:plain is a plain function; decorate it"),
        ("math:sqrt", "corruption math:sqrt is a plain function"),
        ("math:pi", "corruption must be a spec .*, got 3.14"),
        (3, "corruption must be a spec .*, got 3"),
        (dict, "corruption must be a spec .*, got <class 'dict'>"),
        (
            scale,
            "argument strength is missing; its arguments are strength, power \\(default 1\\), kind",
        ),
        (f"{HERE}:scale", "argument strength is missing"),
        (f"{HERE}:scale(size=3)", r"its arguments are strength, .*; got \(size=3.0\)"),
        (f"{HERE}:scale(1, 2, 3, 4, 5, 6)", "its arguments are strength"),
        (f"{HERE}:scale(1, strength=2)", "its arguments are strength"),
        (f"{HERE}:scale(1, power=0.5)", "power must be a whole number, got 0.5"),
        (f"{HERE}:scale(1, flip=maybe)", "flip must be True or False, got 'maybe'"),
        (f"{HERE}:add(big)", "size must be a number, got 'big'"),
        (f"{HERE}:nothing", "has no attribute 'nothing'"),
        ("no_such_package.noise:rain", "cannot import 'no_such_package.noise'"),
    ],
)
def test_what_is_no_corruption_is_refused_in_one_line(given, message):
    for use in (
        lambda: as_corruption(given),
        lambda: st.corrupt(points(), given),
        lambda: evaluate([given]),
        lambda: st.gallery(np.full((1, 8, 8), 0.5), [given]),
        lambda: st.grid([given], ["linf(0.1)"]),
    ):
        with pytest.raises(InputError, match=message) as caught:
            use()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"strength": (1, 2)}, "strength must be a number, a word"),
        ({"strength": math.nan}, "strength must be a number, a word"),
        ({"strength": "a, b"}, "strength must be a number, a word"),
        ({"strength": "(a"}, "strength must be a number, a word"),
        ({"strength": ")+("}, "strength must be a number, a word"),
        ({"strength": 2**60 + 1}, "strength must be a number, a word"),
        ({"strength": 1, "kind": "1e3)"}, "kind must be a word"),
        ({"strength": 1, "power": True}, "power must be a whole number"),
        ({"strength": 1, "size": 1}, r"its arguments are strength, .*; got \(strength=1, size=1\)"),
        ({}, "argument strength is missing"),
    ],
)
def test_arguments_that_no_spec_can_contain_are_refused(arguments, message):
    with pytest.raises(InputError, match=f"corruption {HERE}:scale: .*{message}|{message}"):
        scale(**arguments)


def no_generator(x, strength=1):
    return x


def several(x, rng, *more):
    return x


def odd_default(x, rng, *, limits=(0, 1)):
    return x


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_generator, r"no_generator: it must take the point and a generator first: def no_gener"),
        (lambda x, rng: x, "top level of its module"),
        (several, r"several: all arguments must have names, got \*more"),
        (odd_default, r"odd_default: limits must be a number, a word"),
        (3, "is for functions, got int"),
    ],
)
def test_functions_of_another_form_are_refused(function, message):
    with pytest.raises(InputError, match=message):
        st.corruption(function)


def test_decorating_under_another_name_is_refused():
    other = st.corruption(plain)
    with pytest.raises(InputError, match="is decorated under another name"):
        other()


RESULT = {}


@st.corruption
def result(x, rng, *, of):
    return RESULT[of](x)


@pytest.mark.parametrize(
    ("of", "make", "message"),
    [
        ("shape", lambda x: x[:2], r"must return an array of shape \(4,\), .* got shape \(2,\)"),
        ("batch", lambda x: x[None], r"got shape \(1, 4\)"),
        ("infinite", lambda x: x / 0, "not finite"),
        ("none", lambda x: None, "got NoneType; return the corrupted copy"),
        ("text", lambda x: ["a"] * 4, "real numbers"),
        ("ragged", lambda x: [[1], [1, 2]], "real numbers"),
        ("complex", lambda x: x + 1j, "real numbers"),
        ("error", lambda x: x["red"], r"failed on a point of shape \(4,\): IndexError: .*correct"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_wrong_results_are_refused(of, make, message, monkeypatch):
    monkeypatch.setitem(RESULT, of, make)
    with pytest.raises(InputError, match=rf"corruption {HERE}:result\(of={of}\).*{message}"):
        st.corrupt(np.zeros((3, 4)), result(of=of), rng=0)


def test_results_of_other_number_types_are_converted(monkeypatch):
    monkeypatch.setitem(RESULT, "whole", lambda x: np.ones(4, int))
    noisy = st.corrupt(np.zeros((3, 4), np.float32), result(of="whole"), rng=0)
    assert noisy.dtype == np.float32
    assert (noisy == 1).all()


# --- other packages ---


def test_an_entry_point_gives_a_name(plugin):
    by_name = parse("rain(strength=0.5)")
    assert by_name.spec == "rain(strength=0.5, angle=30)"
    assert parse(by_name.spec) == by_name
    by_reference = parse("plugin_package.noise:rain(0.5)")
    assert by_reference.spec == "plugin_package.noise:rain(strength=0.5, angle=30)"
    from plugin_package.noise import rain

    assert rain(strength=0.5) == by_reference != by_name
    listed = describe_corruptions()
    assert listed["rain(strength, angle)"] == "Streaks of rain."
    assert "cannot be loaded" in listed["broken"]
    assert "linf(epsilon)" in listed
    with pytest.raises(InputError, match="did you mean 'rain'"):
        parse("rian(0.5)")
    with pytest.raises(InputError, match="'broken' of an installed package cannot be loaded"):
        parse("broken(0.5)")
    assert len(evaluate(["rain(0.5)"])) == 2


def test_classes_and_objects_that_play_the_role_are_admitted(plugin):
    shift = parse("plugin_package.noise:Shift(0.5)")
    np.testing.assert_array_equal(st.corrupt(np.zeros((2, 2)), shift), np.full((2, 2), 0.5))
    assert parse(shift.spec) == shift
    assert parse("plugin_package.noise:READY").corruption.amount == 0.25
    assert len(evaluate([shift, "plugin_package.noise:READY + linf(0.1)"])) == 3
    for spec, message in [
        ("plugin_package.noise:Shift", "missing 1 required positional argument"),
        ("plugin_package.noise:READY(1)", "takes no arguments"),
        ("plugin_package.noise:plain", "is a plain function; decorate it"),
        ("plugin_package.noise:NOTHING", "corruption must be"),
    ]:
        with pytest.raises(InputError, match=message):
            parse(spec)


def test_suites_of_other_packages(plugin):
    assert suite("wet") == suite("plugin_package.noise:SUITE")
    assert "wet" in SUITES
    listed = suite("plugin_package.noise:list_of_specs")
    assert listed.about == "Rain, and rain after noise."
    assert listed.names == (
        "plugin_package.noise:rain(strength=0.5, angle=30)",
        "linf(eps_min)",
        "linf(0.1) + rain(strength=0.5, angle=1)",
    )
    assert len(evaluate(listed)) == 4
    assert len(evaluate(suite("wet"))) == 3
    with pytest.raises(InputError, match="must be a Suite, a list of specs"):
        suite("plugin_package.noise:NOTHING")
    with pytest.raises(InputError, match="function without arguments"):
        suite("plugin_package.noise:plain")


MODULE = """
import shaketable as st

@st.corruption
def fade(x, rng, *, strength=0.5):
    return x * (1 - strength)

def plain(x):
    return x

FADES = ["fading:fade(0.1)", "fading:fade(0.2)"]
"""


def test_commands_find_modules_of_the_working_directory(own_directory, monkeypatch, capsys):
    Path("fading.py").write_text(MODULE)
    measure = ["evaluate", "--model", "1nn", "--fit", "--data", "bands(n=60)"]
    code, out, err = run_command(capsys, *measure, "--corruptions", "fading:fade(0.3)")
    assert code == 0, err
    assert "fading:fade(strength=0.3)" in out
    code, _, err = run_command(
        capsys, "corrupt", "bands(n=60)", "--corruption", "fading:fade(0.25)", "-o", "out.npz"
    )
    assert code == 0, err
    with np.load("out.npz") as arrays:
        np.testing.assert_allclose(arrays["x"], 0.75 * st.load("bands(n=60)").x)
    code, out, err = run_command(
        capsys, *measure, "--suite", "fading:FADES", "--report", "page.html"
    )
    assert code == 0, err
    assert "fading:fade(strength=0.2)" in Path("page.html").read_text()
    assert "decorate it" in run_failing(capsys, *measure, "--corruptions", "fading:plain")
    monkeypatch.delitem(sys.modules, "fading")


def test_bounds_are_part_of_the_corruption():
    bound = add().bind(Bounds(0, 1))
    assert bound != add()
    assert bound.bind(None) == add()
    assert Path(add.function.__code__.co_filename).name == Path(__file__).name
