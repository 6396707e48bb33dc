"""Suites: named lists of corruptions, the published ladders as data."""

from dataclasses import dataclass

from shaketable.errors import unknown


@dataclass(frozen=True)
class Suite:
    """A named list of corruptions; `names` are their spec strings."""

    name: str
    about: str
    names: tuple[str, ...]


def _linf(*epsilons: float | str) -> tuple[str, ...]:
    return tuple(f"linf({epsilon})" for epsilon in epsilons)


_ALL = (
    Suite("mscr", "the one level that MSCR needs", _linf("eps_min")),
    Suite(
        "mscr-2d",
        "L-inf levels of the 2-D study (Siedel et al. 2022, Table 2)",
        _linf(0.001, 0.002, "eps_min", 0.007, 0.01, 0.015, 0.02, 0.03),
    ),
    Suite(
        "mscr-cifar",
        "L-inf levels of the CIFAR-10 study (Siedel et al. 2022, Table 3), pixels in [0, 1]",
        _linf(0.01, 0.02, 0.03, 0.05, 0.07, "eps_min", 0.15),
    ),
)
SUITES = {suite.name: suite for suite in _ALL}


def suite(name: str) -> Suite:
    """Suite of that name.

    >>> suite("mscr").names
    ('linf(eps_min)',)
    """
    if name not in SUITES:
        raise unknown("suite", name, SUITES)
    return SUITES[name]
