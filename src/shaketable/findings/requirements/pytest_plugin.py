"""The pytest plugin: tests require robustness by the fixture ``shaketable``.

::

    def test_model(shaketable):
        shaketable.require(model, (x_test, y_test), "mscr >= -1")

pytest loads this module in every run, so nothing but pytest is imported before the fixture is used.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from shaketable.data.bounds import BoundsLike
    from shaketable.evaluation.resolve import Corruptions
    from shaketable.findings.requirements.check import Check

_INCONCLUSIVE = ("fail", "warn", "skip")


@dataclass(frozen=True)
class Requirer:
    """What the fixture is: it evaluates models, and fails the test if a requirement is not met."""

    seed: int = 0
    store: Path | None = None
    """Results file, so that what was measured once is not measured again."""
    inconclusive: str = "fail"
    """What happens if the points are too few to decide: ``fail``, ``warn`` or ``skip``."""

    def require(
        self,
        model: Any,
        data: Any,
        *requirements: str,
        corruptions: Corruptions | None = None,
        k: int | None = None,
        seed: int | None = None,
        bounds: BoundsLike | Literal["declared"] = "declared",
        name: str | None = None,
        model_id: str | None = None,
        refit: bool = False,
        confidence: float = 0.95,
        careful: bool = False,
        inconclusive: Literal["fail", "warn", "skip"] | None = None,
    ) -> Check:
        """Evaluate a model, fail the test unless all requirements are met, and return them decided.

        Parameters
        ----------
        model
            Fitted model, or several as a mapping from names to them, for requirements such as
            ``difference(new, old).accuracy >= -0.5``.
        data
            ``(x, y)``, a `Dataset`, or what `load` takes.
        requirements
            Such as ``mscr >= -1`` or ``accuracy >= 90%``, in per cent; see `shaketable.check`.
        corruptions
            As in `evaluate`; by default what the requirements need.
        k, bounds, name, model_id, refit
            As in `evaluate`.
        seed, inconclusive
            In place of ``--shaketable-seed`` and ``--shaketable-inconclusive``.
        confidence, careful
            As in `shaketable.check`.
        """
        __tracebackhide__ = True
        from shaketable.evaluation.evaluate import evaluate
        from shaketable.findings.requirements.check import check
        from shaketable.findings.requirements.requirement import (
            list_columns,
            list_needs,
            parse_requirements,
        )

        wanted = parse_requirements(requirements)
        records = evaluate(
            model,
            data,
            list_needs(wanted) if corruptions is None else corruptions,
            k=k,
            seed=self.seed if seed is None else seed,
            store=self.store,
            bounds=bounds,
            name=None if isinstance(model, Mapping) else name,
            model_id=model_id,
            refit=refit,
            by=list_columns(wanted),
        )
        decisions = check(records, wanted, confidence=confidence, careful=careful)
        if decisions.outcome == "not met":
            pytest.fail(str(decisions))
        if decisions.outcome == "inconclusive":
            self._settle(str(decisions), inconclusive or self.inconclusive)
        return decisions

    def _settle(self, text: str, how: str) -> None:
        """Fail, warn or skip the test for requirements that are inconclusive."""
        __tracebackhide__ = True
        if how == "warn":
            warnings.warn(text, UserWarning, stacklevel=3)
        elif how == "skip":
            pytest.skip(text)
        else:
            pytest.fail(f"{text}\n(--shaketable-inconclusive {'|'.join(_INCONCLUSIVE)})")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, each also for the configuration file."""
    group = parser.getgroup("shaketable", "robustness of models (fixture shaketable)")
    for name, metavar, about in (
        ("seed", "NUMBER", "seed of all random numbers (default: 0)"),
        ("store", "FILE", "results file; what it holds is not measured again"),
        (
            "inconclusive",
            "|".join(_INCONCLUSIVE),
            "what happens if the points are too few to decide a requirement (default: fail)",
        ),
    ):
        group.addoption(f"--shaketable-{name}", metavar=metavar, help=about)
        parser.addini(f"shaketable_{name}", about, default=None)


def _make_requirer(pytestconfig: pytest.Config) -> Requirer:
    """Evaluate models in a test, and fail it unless requirements on them are met."""
    seed = _read(pytestconfig, "seed") or "0"
    if not seed.isdecimal():
        raise pytest.UsageError(f"--shaketable-seed must be a whole number, got {seed!r}")
    inconclusive = _read(pytestconfig, "inconclusive") or "fail"
    if inconclusive not in _INCONCLUSIVE:
        known = ", ".join(_INCONCLUSIVE)
        raise pytest.UsageError(
            f"--shaketable-inconclusive must be one of {known}, got {inconclusive!r}"
        )
    store = _read(pytestconfig, "store")
    given = pytestconfig.getoption("--shaketable-store")
    folder = pytestconfig.invocation_params.dir if given else pytestconfig.rootpath
    return Requirer(int(seed), folder / store if store else None, inconclusive)


def _read(config: pytest.Config, name: str) -> str:
    """Read an option, or else the setting in the configuration file; empty if there is neither."""
    return str(
        config.getoption(f"--shaketable-{name}") or config.getini(f"shaketable_{name}") or ""
    )


shaketable = pytest.fixture(_make_requirer, scope="session", name="shaketable")
