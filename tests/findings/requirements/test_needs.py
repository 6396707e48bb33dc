"""What requirements need: the corruptions to evaluate, and what is missing among them."""

import pytest

from shaketable.core.errors import InputError
from shaketable.corruptions.suites.suite import suite
from shaketable.findings.requirements.requirement import check_needs, list_needs, parse_requirements


def test_requirements_say_what_to_measure():
    texts = [
        "accuracy >= 90",
        "mscr >= -1",
        "error[jitter(0.2)] <= 5",
        "difference(a, b).accuracy[jitter(0.2)] >= 0",
        "mce_lp <= 30",
        "mce_xn <= 30",
        "cv[two-factor-table] <= 10",
    ]
    needs = list_needs(parse_requirements(texts))
    names = [need if isinstance(need, str) else need.name for need in needs]
    assert names == ["linf(eps_min)", "jitter(0.2)", "pnorm", "common-xn", "two-factor-table"]
    assert list_needs(parse_requirements("accuracy >= 90")) == []
    for text in ("cv <= 10", "relative_loss >= -5"):
        with pytest.raises(InputError, match="must name"):
            list_needs(parse_requirements(text))


@pytest.mark.parametrize(
    ("text", "levels", "missing"),
    [
        ("mscr >= -1", ["l2(eps_min)"], None),
        ("mscr >= -1", ["linf(0.1)"], "needs linf.eps_min., .* add --corruptions 'linf.eps_min.'"),
        ("mscr >= -1", ["l2(0.5*eps_min)"], "needs linf.eps_min."),
        ("mscr >= -1", [suite("mscr-ladder")], None),
        ("error[linf(0.10)] <= 5", ["linf( 0.1 )"], None),
        ("error[linf(0.5*eps_min) + l2(1)] <= 5", ["linf(eps_min/2) + l2(1)"], None),
        ("error[linf(2*eps_min)] <= 5", ["linf(2)"], "add --corruptions 'linf.2.eps_min.'"),
        ("error[linf(2*eps_min)] <= 5", ["linf(4)"], "add --corruptions 'linf.2.eps_min.'"),
        ("error[linf(0.2)] <= 5", ["linf(0.1)"], "add --corruptions 'linf.0.2.'"),
        ("error[linf(0.2)] <= 5", [suite("pnorm")], None),
        ("error <= 5", ["linf(0.1)"], None),
        ("mce_15 <= 5", [suite("common-19")], None),
        ("mce_lp <= 5", [suite("common-19")], "add --suite pnorm"),
        ("mce_lp[pnorm-tiny] <= 5", [suite("pnorm")], "add --suite pnorm-tiny"),
    ],
)
def test_what_would_not_be_measured_is_refused(text, levels, missing):
    requirements = parse_requirements(text)
    if missing is None:
        check_needs(requirements, levels)
        return
    with pytest.raises(InputError, match=missing):
        check_needs(requirements, levels)
