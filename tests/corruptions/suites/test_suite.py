import math
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_json
from helpers.images import make_images
from shaketable.core.errors import InputError
from shaketable.core.keys import digest, fold
from shaketable.core.norms import pnorm_level
from shaketable.core.spec import display_name, split_factors
from shaketable.corruptions import PNormNoise, parse
from shaketable.corruptions.suites.catalogue import MULTIPLES
from shaketable.corruptions.suites.suite import SUITES, Suite, suite
from shaketable.data.bounds import Bounds
from shaketable.evaluation.noise import Noise
from shaketable.evaluation.records import SuiteRecord

UNIT = Bounds(0, 1)


@pytest.mark.parametrize("name", [n for n, s in SUITES.items() if s.names])
def test_every_suite_is_made_of_canonical_specs_each_once(name):
    names = suite(name).names
    specs = [parse(n, eps_min=lambda _: 0.5).spec for n in names]
    assert len(set(specs)) == len(specs)
    sized = [n for n in names if "eps_min" in n]
    assert [n for n in names if n not in sized] == [s for s in specs if s in names]
    forms = {f"linf({spec})" for spec in ("eps_min", *(f"{c:g}*eps_min" for c in MULTIPLES))}
    assert set(sized) <= forms


def test_the_ladder_of_eps_min_spans_the_published_sizes_in_any_norm():
    published = [
        (0.001, 0.002, 0.007, 0.01, 0.015, 0.02, 0.03) / np.array(0.004012795259015489),
        (0.01, 0.02, 0.03, 0.05, 0.07, 0.15) / np.array(27 / 255),
    ]
    sizes = np.array([parse(n, eps_min=lambda _: 1.0).size for n in suite("mscr-ladder").names])
    assert sizes.tolist() == sorted(MULTIPLES)
    for size in np.concatenate(published):  # each has a level within a factor of 1.4
        assert np.abs(np.log(sizes / size)).min() < np.log(1.4)
    for norm in ("2", "norm=2", "l2", "norm=L2"):
        other = suite(f"mscr-ladder({norm})")
        assert other.name == "mscr-ladder(norm=2)"
        assert other.names == tuple(n.replace("linf", "l2") for n in suite("mscr-ladder").names)
    assert suite("mscr-ladder(norm=inf)") is suite("mscr-ladder")
    assert Suite("mine", "one level", ("l2(eps_min)",)).with_options(norm="inf").names == (
        "linf(eps_min)",
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mscr-2d(norm=2)", "suite 'mscr-2d' takes no norm"),
        ("pnorm(2)", "suite 'pnorm' takes no norm"),
        ("mscr-ladder(size=2)", r"takes a norm, as in mscr\(norm=2\), got 'mscr-ladder\(size=2\)'"),
        ("mscr-ladder(1, norm=2)", "takes a norm"),
        ("mscr-ladder()", "takes a norm"),
        ("common-19()", r"takes published=, frost= and jpeg=, as in common-19\(jpeg=85\), got"),
        ("common-19(quality=85)", "takes published=, frost= and jpeg="),
        ("mscr-ladder(norm=0)", "norm must be"),
        ("mscr-lader(norm=2)", "unknown suite 'mscr-lader'; did you mean 'mscr-ladder'"),
    ],
)
def test_a_norm_is_for_sizes_in_units_of_eps_min(name, message):
    with pytest.raises(InputError, match=message):
        suite(name)


def test_only_a_suite_of_single_noises_of_eps_min_has_a_norm():
    for spec in ("linf(eps_min, surface)", "linf(eps_min) + l2(1)", "linf(eps_min) as a", "clean"):
        with pytest.raises(InputError, match="takes no norm"):
            Suite("mine", "one level", (spec,)).with_options(norm=2)


@pytest.mark.parametrize(("name", "d"), [("pnorm-cifar", 3072), ("pnorm-tiny", 12288)])
def test_the_published_ladders_have_nine_norms_and_ten_growing_sizes(name, d):
    levels = [pnorm_level(n) for n in suite(name).on((d,), UNIT).names]
    assert list(dict.fromkeys(p for p, _ in levels)) == [0, 0.5, 1, 2, 5, 10, 50, 200, math.inf]
    for p in {p for p, _ in levels}:
        sizes = [size for q, size in levels if q == p]
        assert len(sizes) == 10
        assert sizes == sorted(sizes)
    # the table's corners, typed in apart
    corners = {
        "pnorm-cifar": ["l0(0.005)", "l0(0.12)", "l0.5(400000)", "linf(0.15)"],
        "pnorm-tiny": ["l0(0.01)", "l0(0.3)", "l0.5(12000000)", "linf(0.3)"],
    }
    assert set(corners[name]) <= set(suite(name).names)


def test_the_imperceptible_noises():
    assert suite("ice-cifar").names == (
        "l0.5(25000)",
        "l1(25)",
        "l2(0.5)",
        "l10(0.03)",
        "l50(0.02)",
        "linf(0.01)",
    )
    assert suite("ice-tiny").names == (
        "l0.5(700000)",
        "l1(125)",
        "l2(2)",
        "l10(0.06)",
        "l50(0.04)",
        "linf(0.01)",
    )


@pytest.mark.parametrize("name", ["pnorm", "ice"])
def test_published_sizes_are_taken_where_they_fit(name):
    assert suite(name).on((3072,), UNIT) == suite(f"{name}-cifar")
    assert suite(name).on((12288,), UNIT) == suite(f"{name}-tiny")
    for odd in (suite(name).on((784,), UNIT), suite(name).on((3072,), Bounds(0, 255))):
        assert "derived from" in odd.derived
        assert len(odd.names) == len(suite(f"{name}-cifar").names)


@pytest.mark.parametrize("p", [0.5, 1, 2, 5, math.inf])
def test_derived_sizes_move_a_value_as_much_as_cifars(p):
    # by their law: the mean size of a component of noise, over the value range, stays what it is
    small = suite("pnorm").on((192,), Bounds(-1, 1)).names
    for mine, cifar in zip(small, suite("pnorm-cifar").names, strict=True):
        if pnorm_level(cifar)[0] == p:
            keys = np.arange(200, dtype=np.uint64)
            sizes = [
                np.abs(PNormNoise(*pnorm_level(spec))(np.zeros((200, d)), keys)).mean()
                for spec, d in ((mine, 192), (cifar, 3072))
            ]
            assert sizes[0] / 2 == pytest.approx(sizes[1], rel=0.05)
            break


def test_derived_impulses_that_hit_nothing_are_left_out():
    assert not any(n.startswith("l0(") for n in suite("pnorm").on((3,), UNIT).names)
    few = [n for n in suite("pnorm").on((60,), UNIT).names if n.startswith("l0(")]
    assert few[0] == "l0(0.01)"
    assert len(few) == 9


def test_a_suite_for_another_shape_is_refused():
    with pytest.raises(InputError, match="3072 values, got 784.*use 'pnorm'"):
        suite("pnorm-cifar").on((784,), UNIT)
    with pytest.raises(InputError, match="use 'ice'"):
        suite("ice-tiny").on((12288,), Bounds(0, 255))
    for odd in (None, Bounds(0, math.inf)):
        with pytest.raises(InputError, match="needs a finite value range"):
            suite("pnorm").on((3,), odd)
    data = st.make_dataset(np.random.default_rng(0).random((20, 28, 28)), np.arange(20) % 2)
    with pytest.raises(InputError, match="use 'pnorm'"):
        st.evaluate(lambda x: np.zeros(len(x), int), data, suite("pnorm-cifar"))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mscr-2d", "levels"),
        ("pnorm", "pnorm"),
        ("ice-tiny", "pnorm"),
        ("common-xn", "common"),
        ("two-factor-train", "sets"),
    ],
)
def test_a_suite_knows_its_kind(name, kind):
    assert suite(name).kind == kind
    data = st.make_dataset(np.random.default_rng(0).random((12, 8, 8)), np.arange(12) % 2)
    record = SuiteRecord(data.fingerprint, name, suite(name).metric, "", ())
    assert record.kind == kind


def test_a_suite_of_other_corruptions_is_a_list_of_levels():
    assert st.corruptions.Suite("mine", "one", ("linf(0.1)",), "my_metric").kind == "levels"


@pytest.mark.parametrize(
    ("names", "metric", "message"),
    [
        ((), "", r"suite 'mine' has no corruptions; give names=\('linf"),
        ("linf(0.1)", "", "names of suite 'mine' must be specs"),
        (["clean", 3], "", r"must be specs, .* got \['clean', 3\]"),
        (("clean", "linf(0.1)"), "mce_lp", "mce_lp, .*must be p-norm noise.* got 'clean'; leave"),
        (("linf(0.1)", "gaussian(0.1)"), "ice", r"got 'gaussian\(0.1\)'"),
        (("l2(1) + linf(0.1)",), "mce_lp", r"got 'l2\(1\) \+ linf\(0.1\)'"),
        (("l2(1) as A",), "mce_lp", r"got 'l2\(1\) as A'"),
        (("fog(1)", "linf(0.1)"), "mce", r"common corruptions, such as fog\(3\), got 'linf"),
        (("package.module:fog(1)",), "mce_15", "got 'package.module:fog"),
        (("clean",), "mce_xn", "got 'clean'"),
    ],
)
def test_a_suite_that_its_metric_cannot_score_is_refused(names, metric, message):
    with pytest.raises(InputError, match=message) as caught:
        st.corruptions.Suite("mine", "one", names, metric)
    assert "\n" not in str(caught.value)


def test_members_that_fit_the_metric_are_admitted():
    assert st.corruptions.Suite("mine", "two", ["l2(eps_min)", "l0.5( 1e3 )"], "mce_lp").names[
        0
    ] == ("l2(eps_min)")
    st.corruptions.Suite("mine", "one", ("fog(1, cifar, published=a (b)/c)",), "mce")


NEEDS = " must be a function without arguments, but it needs n; give them defaults"


def takes_n(n):
    return ["clean"]


def raises():
    raise RuntimeError("oops")


def raises_type_error():
    return None + 1


def makes_an_empty_suite():
    return st.corruptions.Suite("mine", "none", ())


def has_defaults(n=3, *more, **options):
    return ["linf(0.1)"] * n


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("takes_n", NEEDS),
        ("makes_an_empty_suite", ": suite 'mine' has no corruptions; give names"),
        ("raises", " failed with RuntimeError: oops; correct the function"),
        (
            "raises_type_error",
            " failed with TypeError: unsupported operand.*; correct the function",
        ),
    ],
)
def test_a_function_that_returns_no_suite_is_refused(name, message):
    with pytest.raises(InputError, match=f"suite {__name__}:{name}{message}"):
        suite(f"{__name__}:{name}")
    assert len(suite(f"{__name__}:has_defaults").names) == 3


def test_a_broken_suite_of_another_package_concerns_nobody_else(monkeypatch, capsys):
    broken = EntryPoint("broken", f"{__name__}:raises", SUITES.group)
    monkeypatch.setitem(SUITES.__dict__, "_installed", {"broken": broken})
    assert suite("pnorm").on((3072,), UNIT) == suite("pnorm-cifar")
    with pytest.raises(InputError, match="suite broken failed with RuntimeError"):
        suite("broken")
    assert "suite broken failed" in run_json(capsys, "list", "suites")["broken"]


# --- two factors ---

MADE = {
    "two-factor": {"SP": "sp({})", "GA": "ga(mean={}, var=0.01)", "RO": "rotation({})"},
    "two-factor-variance": {"SP": "sp({})", "GA": "ga(mean=0, var={})", "RO": "rotation({})"},
    "two-factor-table": {"NO": "jitter({})", "MI": "missing({})", "SC": "scaling({})"},
}
SHARES = ["0.1", "0.15", "0.2"]
LEVELS = {
    "SP": SHARES,
    "GA": SHARES,
    "RO": ["-60", "-30", "30", "60"],
    "NO": ["0.2", "0.5", "1"],
    "MI": SHARES,
    "SC": ["0.8", "0.9", "1.1", "1.2"],
}
ORDERS = {
    "two-factor": ["SP GA", "GA SP", "SP RO", "RO SP"],
    "two-factor-variance": ["SP GA", "GA SP", "SP RO", "RO SP"],
    "two-factor-table": ["NO MI", "MI NO", "MI SC", "SC MI"],
}


def rule(name):
    """Specs by name, as print has them: in every order every level of both, and none of either."""
    sets = {"clean": "clean"}
    for order in ORDERS[name]:
        one, two = order.split()
        for level, other in [(a, b) for a in ["", *LEVELS[one]] for b in ["", *LEVELS[two]]][1:]:
            none = {"SC": "1"}
            label = f"{one}{level or none.get(one, 0)}{two}{other or none.get(two, 0)}"
            first = [MADE[name][one].format(level)] if level else []
            second = [MADE[name][two].format(other)] if other else []
            sets[label] = " + ".join(first + second)
    return sets


@pytest.mark.parametrize("name", MADE)
def test_two_factor_suites_have_69_sets(name):
    found, expected = suite(name), rule(name)
    assert len(expected) == len(found.names) == 69
    assert {display_name(spec) for spec in found.names} == set(expected)
    for spec in found.names[1:]:
        assert split_factors(spec) == tuple(expected[display_name(spec)].split(" + "))
    assert found.names[0] == "clean"
    assert (found.metric, found.k, found.part) == ("mcv", 1, "test")
    assert found.needs_range == (name != "two-factor-table")


def test_names_of_the_paper_mean_what_they_say():
    specs = {display_name(spec): spec for spec in suite("two-factor").names}
    assert specs["SP0.1GA0.15"] == "sp(0.1) + ga(mean=0.15, var=0.01) as SP0.1GA0.15"
    assert specs["GA0SP0.2"] == "sp(0.2) as GA0SP0.2"
    assert specs["SP0.15RO-60"] == "sp(0.15) + rotation(-60) as SP0.15RO-60"
    assert specs["RO30SP0.1"] == "rotation(30) + sp(0.1) as RO30SP0.1"
    switched = {display_name(spec): spec for spec in suite("two-factor-variance").names}
    assert switched["GA0.15SP0"] == "ga(mean=0, var=0.15) as GA0.15SP0"


def test_the_nine_training_sets():
    found = suite("two-factor-train")
    ga = "ga(mean=0.1, var=0.01)"
    assert {display_name(spec): split_factors(spec) for spec in found.names} == {
        "clean": (),
        "SP0.1": ("sp(0.1)",),
        "GA0.1": (ga,),
        "SP0.1GA0.1": ("sp(0.1)", ga),
        "GA0.1SP0.1": (ga, "sp(0.1)"),
        "SP0.1RL30": ("sp(0.1)", "rotation(-30)"),
        "SP0.1RR30": ("sp(0.1)", "rotation(30)"),
        "RL30": ("rotation(-30)",),
        "RR30": ("rotation(30)",),
    }
    assert found.part == "train"


@pytest.fixture(scope="module")
def photographs():
    return st.make_dataset(make_images(60, 16, 16), np.arange(60) % 2)


def test_65_of_the_69_sets_differ_and_clean_is_untouched(photographs):
    sets = {
        display_name(spec): st.corrupted(photographs, spec, draws="ladder").x.tobytes()
        for spec in suite("two-factor").names
    }
    assert sets["clean"] == photographs.rows(slice(None)).tobytes()
    assert len(set(sets.values())) == 65
    for angle in (-60, -30, 30, 60):
        assert sets[f"SP0RO{angle}"] == sets[f"RO{angle}SP0"]


@pytest.mark.parametrize("name", ["two-factor", "two-factor-variance", "two-factor-train"])
def test_no_two_noisy_sets_share_a_draw(name):
    grey = np.full((200, 12, 12, 3), 128, np.uint8)
    data = st.make_dataset(grey, np.arange(200) % 2)
    patterns = []
    for spec in suite(name).names:
        if "sp(" not in spec and "ga(" not in spec:
            continue
        noisy = st.corrupted(data, spec, draws="ladder").x
        if split_factors(spec)[-1].startswith("rotation"):  # turned back, the noise is where it was
            back = -float(split_factors(spec)[-1][9:-1])
            noisy = st.corrupt(noisy, f"rotation({back})", bounds=(0, 1))
        noise = noisy - noisy.mean(axis=0)  # corners are the same in all pictures
        patterns.append(noise.ravel() / np.linalg.norm(noise))
    assert len(patterns) == (60 if name != "two-factor-train" else 6)
    together = np.array(patterns) @ np.array(patterns).T - np.eye(len(patterns))
    assert np.abs(together).max() < 7 / math.sqrt(grey.size)


@pytest.mark.parametrize("draws", ["independent", "ladder"])
@pytest.mark.parametrize("name", [*MADE, "two-factor-train"])
def test_every_factor_of_every_set_has_keys_of_its_own(name, draws, photographs):
    noise = Noise(k=1, seed=0, draws=draws)
    keys = []
    for spec in suite(name).names[1:]:
        own = noise.keys(photographs, parse(spec), np.arange(60), np.arange(1))[:, 0]
        keys += [own, fold(own, 0), fold(own, 1)]
    assert len(np.unique(keys)) == 60 * len(keys)


def test_a_model_meets_all_sets_once(photographs):
    records = st.evaluate(lambda x: np.zeros(len(x), int), photographs, suite("two-factor"))
    assert [record.corruption for record in records] == list(suite("two-factor").names)
    assert {record.k for record in records} == {1}


def test_two_factor_suites_need_a_range():
    data = st.make_dataset(np.random.default_rng(0).normal(size=(20, 8, 8)), np.arange(20) % 2)
    with pytest.raises(InputError, match="needs a finite value range.*give bounds"):
        st.evaluate(lambda x: np.zeros(len(x), int), data, suite("two-factor"))


@pytest.mark.parametrize(
    ("name", "count", "draws", "pinned"),
    [
        ("mscr-2d", 8, 10, 0x0D9E7E5673BEF80C),
        ("mscr-cifar", 7, 10, 0xE824EDE8D49B2159),
        ("pnorm-cifar", 90, 1, 0x4F962B8346030AEB),
        ("pnorm-tiny", 90, 1, 0x327BE823D1D901AF),
        ("ice-cifar", 6, 1, 0x3D4494DDD9F10A30),
        ("ice-tiny", 6, 1, 0xCF789B464729D2E9),
        ("common-19", 95, 1, 0x884152952C403976),
        ("common-15", 75, 1, 0x516B93B343238364),
        ("common-xn", 75, 1, 0x8DB79E59A671C319),
        ("two-factor", 69, 1, 0x5C24B60ADD21F78D),
        ("two-factor-variance", 69, 1, 0x209B953EC70AA3C1),
        ("two-factor-train", 9, 1, 0x488B438FAADBE14D),
        ("two-factor-table", 69, 1, 0x6D3FA9D21DFB0869),
    ],
)
def test_what_suites_consist_of_does_not_move(name, count, draws, pinned):
    chosen = suite(name)
    assert (len(chosen.names), chosen.k, digest(*chosen.names)) == (count, draws, pinned)
    # a long list is shown by its ends
    assert str(chosen).endswith(display_name(chosen.names[-1]))
    assert f": {display_name(chosen.names[0])}, " in str(chosen)


def test_shares_of_replaced_values_do_not_depend_on_the_range():
    def sizes(bounds, p):
        levels = [pnorm_level(n) for n in suite("pnorm").on((1000,), bounds).names]
        return [size for q, size in levels if q == p]

    unit, wide = sizes(Bounds(0, 1), 0.0), sizes(Bounds(-2, 3), 0.0)
    assert unit == wide == [s for p, s in map(pnorm_level, suite("pnorm-cifar").names) if p == 0]
    for p in (1.0, math.inf):
        ratio = np.divide(sizes(Bounds(-2, 3), p), sizes(Bounds(0, 1), p))
        np.testing.assert_allclose(ratio, 5, rtol=0.01)  # three digits are kept
