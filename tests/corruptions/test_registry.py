"""The registry of corruptions: one declaration is all that a new corruption needs."""

from dataclasses import dataclass

import numpy as np
import pytest

import shaketable as st
from helpers.commands import run_json
from shaketable.core.errors import InputError
from shaketable.core.spec import Call, display_name, parse_call
from shaketable.corruptions import Corruption, Named, Sequence, parse
from shaketable.corruptions.common.severities import NAMES
from shaketable.corruptions.corruption import AddedNoise, Traits
from shaketable.corruptions.registry import CORRUPTIONS, declare, describe_corruptions
from shaketable.data.bounds import Bounds


@dataclass(frozen=True)
class Blink(Corruption):
    """Every value times a share of light."""

    share: float
    way: str = "all"
    times: float = 1.0
    side: str = "left"
    bounds: Bounds | None = None

    traits = Traits(needs_range=True)

    def apply(self, x, drawn):
        return x * x.dtype.type(self.share)


@pytest.fixture
def blink(monkeypatch):
    monkeypatch.setattr(CORRUPTIONS, "_declared", dict(CORRUPTIONS._declared))
    monkeypatch.setattr(Blink, "spec_name", "")
    forms = {"blink(share)": "less light", "blink(share, way)": "less light in one way"}
    assert declare("blink", forms)(Blink) is Blink
    return forms


def test_a_new_corruption_needs_one_declaration(blink, capsys):
    assert parse("blink(0.5)") == Blink(0.5)
    assert parse("blink(way=odd, share=0.5) + linf(0.1) as DARK").corruption.members[0].way == "odd"
    assert blink.items() <= describe_corruptions().items()
    assert run_json(capsys, "list", "corruptions")["blink(share, way)"] == "less light in one way"
    with pytest.raises(InputError, match="takes share, and optionally way, times, side, got blink"):
        parse("blink")
    with pytest.raises(InputError, match="did you mean 'blink'"):
        parse("blnk(0.5)")
    assert st.corruptions.Suite("dark", "one", ("blink(0.5)",)).needs_range
    np.testing.assert_array_equal(st.corrupt(np.ones((2, 3)), "blink(0.5)"), np.full((2, 3), 0.5))
    x = np.random.default_rng(0).random((20, 3))
    labelled = (x, x[:, 0] > 0.5)
    assert len(st.evaluate(lambda x: x[:, 0] > 0.5, labelled, ["blink(0.5)"], bounds=(0, 1))) == 2
    with pytest.raises(InputError, match=r"blink\(0.5\) needs a finite value range"):
        st.evaluate(lambda x: x[:, 0] > 0.5, labelled, ["blink(0.5)"])


def test_a_spec_is_made_of_the_fields(blink):
    for given, spec, ladder in (
        (Blink(0.5), "blink(0.5)", "blink"),
        (Blink(0.5, "odd"), "blink(0.5, odd)", "blink(odd)"),
        (Blink(0.5, times=2), "blink(0.5, times=2)", "blink(times=2)"),
        (Blink(0.5, side="right"), "blink(0.5, side=right)", "blink(side=right)"),
        (Blink(0, "odd", 2, "right"), "blink(0, odd, times=2, side=right)", None),
    ):
        assert given.spec == spec
        assert parse(spec) == given
        assert given.bind(Bounds(0, 1)).spec == spec
        assert (given.ladder, given.size) == (ladder or given.ladder, given.share)


def test_a_name_is_declared_once(blink):
    with pytest.raises(InputError, match="'blink' is declared already"):
        declare("blink", {})(Blink)


def test_every_listed_name_is_found_and_can_be_written():
    sizes = {"severity": 3, "degrees": 30}
    for name in CORRUPTIONS:
        declaration = CORRUPTIONS.get(name)
        for form, about in declaration.forms.items():
            assert about
            if name == "lP":
                continue
            call = parse_call(form.replace("KIND", name).replace("lP", "l0.7"))
            given = [sizes.get(a, 0.5) for a in call.args[:1]]
            made = parse(str(Call(call.name, tuple(given))))
            assert display_name(made.spec).startswith(call.name)
    assert {*NAMES, "clean", "linf", "l0", "gaussian", "sp", "scaling"} <= {*CORRUPTIONS}


def test_families_are_known_by_their_pattern():
    assert CORRUPTIONS.get("l0.5") is CORRUPTIONS.get("l1e-5") is CORRUPTIONS.get("linf")
    assert CORRUPTIONS.get("l0") is not CORRUPTIONS.get("l1")
    assert CORRUPTIONS.get("fog") is CORRUPTIONS.get("frost")
    assert all(name in CORRUPTIONS for name in (*CORRUPTIONS, "l0.7", "linf", "fog"))
    for odd in ("l-1", "lx", "l", "fogs", "KINDS"):
        assert odd not in CORRUPTIONS
        with pytest.raises(InputError, match="unknown corruption"):
            parse(f"{odd}(1)")


def test_additive_noise_is_known_by_its_parameters():
    assert parse("l2(0.5, surface)").traits.additive == AddedNoise(2.0, "surface", 0.5)
    bound = parse("gaussian(0.5, mean=1) as G").bind(Bounds(0, 1))
    assert bound.traits.additive == AddedNoise(2.0, "gaussian", 0.5, 1.0, 0.0, 1.0)
    cut = Bounds(0, 1, "truncate")
    for spec in ("linf(0.1)", "gaussian(0.1)", "l0(0.1)", "clean", "sp(0.1)", "l2(1) + l2(1)"):
        assert parse(spec).bind(cut).traits.additive is None
    assert parse("l0(0.1)").bind(Bounds(0, 1)).traits.additive is None


def test_sequences_are_flat():
    both = parse("l2(1) + linf(0.1)")
    assert Named(both, "A").members == (both,)
    assert parse("l2(1)").members == ()
    assert both + parse("l1(1)") == Sequence((*both.members, parse("l1(1)")))
    assert len((both + parse("l1(1)")).members) == 3
