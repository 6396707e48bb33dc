"""Requirements as texts: what they say, what they decide, and what cannot be read."""

import pytest

from shaketable.core.errors import InputError
from shaketable.findings.requirements.quantities import QUANTITIES
from shaketable.findings.requirements.requirement import (
    parse_requirement,
    parse_requirements,
    read_file,
)


@pytest.mark.parametrize(
    ("text", "parts", "limit"),
    [
        ("mscr >= -1", ((), "mscr", "", ">="), -0.01),
        ("error[jitter(0.2)]<=5%", ((), "error", "jitter(0.2)", "<="), 0.05),
        (" model( rf ) . accuracy >= 9e1 ", (("rf",), "accuracy", "", ">="), 0.9),
        ("model('a, b').mce_lp[pnorm] <= 30", (("a, b",), "mce_lp", "pnorm", "<="), 0.3),
        ("difference(new, old).mscr >= -0.5", (("new", "old"), "mscr", "", ">="), -0.005),
        (
            'difference("a(1), b", net(clean)).error[linf(0.1, only="x]>=1") + sp(0.1)] <= .5',
            (("a(1), b", "net(clean)"), "error", 'linf(0.1, only="x]>=1") + sp(0.1)', "<="),
            0.005,
        ),
        ("model(p.q:r #1).cv[a b] <= 3", (("p.q:r #1",), "cv", "a b", "<="), 0.03),
    ],
)
def test_every_part_is_read(text, parts, limit):
    r = parse_requirement(text)
    assert (r.models, r.metric, r.under, r.sign) == parts
    assert r.limit == pytest.approx(limit, abs=1e-15)
    assert r.is_difference == (len(parts[0]) == 2)


@pytest.mark.parametrize(
    ("low", "high", "at_least", "at_most"),
    [
        (-0.005, 0.01, "met", "not met"),
        (-0.01, 0.01, "met", "inconclusive"),
        (-0.05, -0.011, "not met", "met"),
        (-0.05, -0.01, "inconclusive", "met"),
        (-0.05, 0.01, "inconclusive", "inconclusive"),
    ],
)
def test_the_whole_interval_decides(low, high, at_least, at_most):
    assert parse_requirement("mscr >= -1").decide(low, high) == at_least
    assert parse_requirement("mscr <= -1").decide(low, high) == at_most


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read; write METRIC >= LIMIT"),
        ("mscr", "cannot be read"),
        ("-1 <= mscr", "cannot be read"),
        ("mscr > -1", "must compare by >= or <=, got '>'"),
        ("mscr == -1", "must compare by >= or <=, got '=='"),
        ("mscr >= low", "must end in a number, in per cent, got 'low'"),
        ("mscr >= nan", "must end in a number"),
        ("modle(rf).mscr >= 1", "unknown word in requirement .* 'modle'; did you mean 'model'"),
        ("model(a, b).mscr >= 1", "must name one model, got 2"),
        ("difference(a).mscr >= 1", "must name two models, got 1"),
        (3, "must be a text, got 3"),
    ],
)
def test_what_cannot_be_read_is_one_line_that_helps(text, message):
    with pytest.raises(InputError, match=message) as error:
        parse_requirement(text)
    assert "\n" not in str(error.value)


RATES = {
    "accuracy",
    "error",
    "error_probability",
    "mean_accuracy",
    "cv",
    *(f"mce{part}" for part in ("", "_lp", "_15", "_xn", "_alexnet")),
    "relative_mce_alexnet",
    "calibration_error",
    "sure_and_wrong",
    "selective_accuracy",
}


def test_a_bare_limit_below_1_on_a_rate_is_refused_with_both_readings():
    assert set(QUANTITIES) - RATES == {"mscr", "relative_loss", "ice", "risk"}
    for metric in RATES:
        for model in ("", "model(rf)."):
            with pytest.raises(InputError, match="a fraction or per cent") as error:
                parse_requirement(f"{model}{metric}[x]  <=.285")
            assert str(error.value).endswith(
                f"'{model}{metric}[x] <=28.5%' or '{model}{metric}[x] <=0.285%'?"
            )
            for written in (".285%", "0.285 %"):
                assert parse_requirement(f"{model}{metric} <= {written}").limit == 0.285 / 100
            assert parse_requirement(f"{model}{metric} <= 1").limit == 0.01
            assert parse_requirement(f"{model}{metric} >= 0").limit == 0


@pytest.mark.parametrize("text", ["mscr >= 0.5", "relative_loss[sp(0.1)] >= 0.5", "ice <= 0.5"])
def test_changes_and_differences_take_any_bare_number(text):
    assert parse_requirement(text).limit == 0.005
    assert parse_requirement(text).text == f"{text}%"
    assert parse_requirement(f"difference(a, b).{text}").text == f"difference(a, b).{text}"
    assert parse_requirement("difference(a, b).accuracy >= 0.5").limit == 0.005


def test_requirements_are_one_or_several_and_none_counts_twice():
    assert [r.text for r in parse_requirements("mscr  >= -1")] == ["mscr >= -1%"]
    assert len(parse_requirements(["mscr >= -1", "mscr >=  -1 %", "mscr >= -2"])) == 2
    with pytest.raises(InputError, match="at least one requirement"):
        parse_requirements([])


def test_a_file_holds_requirements(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text('require = ["mscr >= -1", "error[sp(0.1)] <= 5"]')
    assert read_file(path) == ["mscr >= -1", "error[sp(0.1)] <= 5"]
    for text, message in (
        ("requires = []", "unknown key in requirements file .* did you mean 'require'"),
        ("require = []", "must hold texts"),
        ("require = [1]", r"must hold texts, .* got \[1\]"),
        ("require", "cannot be read"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_file(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_file(tmp_path / "none.toml")


def test_requirements_may_come_from_any_iterable():
    assert parse_requirements(iter(["mscr >= -1"])) == parse_requirements("mscr >= -1")
    for none in ([], iter(())):
        with pytest.raises(InputError, match="at least one requirement is needed"):
            parse_requirements(none)
