"""PGD and APGD: attacks that raise a loss along its gradients, for torch modules.

Both start at the point itself: for linear models its gradient says everything, and for a small
network 20 steps found more from there than from noise (`benchmarks/results/attacks.md`). Further
restarts start at noise; with the loss ``targeted`` each restart aims at the next class, highest
score first, and the first restart at each class starts at the point. A row whose gradient is zero
or not finite moves along its noise instead. The search itself is in `gradient_search.py`, which
needs torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from shaketable.adversary.attacks.registry import AttackResult, declare
from shaketable.adversary.region import Region
from shaketable.core.checks import HUGE, TINY, check_real, check_whole, unknown_name
from shaketable.core.spec import Call, Value
from shaketable.core.types import IntArray, KeyArray
from shaketable.models.classifier import Classifier

Loss: TypeAlias = Literal["ce", "margin", "dlr", "targeted"]
"""Losses as specs name them."""

Objective: TypeAlias = Loss | Literal["targeted-dlr"]
"""What rises along the gradients; `gradient_search.compute_losses` has the formulas."""

TARGETS = 9
"""Classes that APGD aims at by default, as in Croce & Hein (ICML 2020)."""

_DLR = "dlr/margin"  # its name in specs: with two classes it is the margin


@declare(
    "pgd",
    "steps=20, restarts=1, loss=margin",
    "projected gradient ascent, for torch modules",
    needs="torch",
)
@dataclass(frozen=True)
class PGD:
    """Projected gradient ascent with steps of one size (Madry et al., ICLR 2018).

    `step` is a share of epsilon; the default ``2.5 / steps`` is enough to cross the ball from any
    start. Every point on the way counts, not only the last.

    >>> PGD().spec
    'pgd(steps=20, restarts=1, loss=margin)'
    """

    steps: int = 20
    restarts: int = 1
    loss: Loss = "margin"
    step: float | None = None

    def __post_init__(self) -> None:
        _check(self)
        if self.step is not None:
            check_real("step", self.step, "be a positive share of epsilon", low=TINY, high=HUGE)

    @property
    def objective(self) -> Objective:
        """The loss."""
        return self.loss

    @property
    def spec(self) -> str:
        """Name and budget."""
        return _format_spec("pgd", self, {} if self.step is None else {"step": self.step})

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> AttackResult:
        """Search around these rows; see `Attack`."""
        from shaketable.adversary.attacks.gradient_search import (
            GradientSearch,
            PGDState,  # needs torch
        )

        step = 2.5 / self.steps if self.step is None else self.step
        search = GradientSearch(model, region, rows, y, keys)
        return search.run(self, lambda start: PGDState(start, step * region.epsilon))


@declare(
    "apgd",
    "steps=100, restarts=1, loss=ce|dlr|targeted|margin",
    "the same with steps that adapt themselves",
    needs="torch",
)
@dataclass(frozen=True)
class APGD:
    """Auto-PGD: momentum, and steps that are halved where they no longer help.

    Algorithm 1 of Croce & Hein (ICML 2020), with changes that find more in few steps
    (`benchmarks/results/attacks.md`): it starts at the point itself, with steps of epsilon, not
    twice that; checkpoints are rounded down, as in the authors' code, not up; where a step is
    halved the search goes on from the best point so far, without momentum. In L1 the share of
    values that move is halved as well. The loss ``dlr``, also written ``dlr/margin``, needs three
    classes: with two it is the margin. ``targeted`` is the targeted DLR loss, which needs four
    classes: with fewer it is the margin to the class that is aimed at. There are then 9 restarts by
    default, one for each of the 9 classes with the highest scores but for the right one.

    >>> APGD(loss="dlr").spec
    'apgd(steps=100, restarts=1, loss=dlr/margin)'
    >>> APGD(loss="targeted").spec
    'apgd(steps=100, restarts=9, loss=targeted)'
    """

    steps: int = 100
    restarts: int = cast("int", None)  # filled in below
    """By default 9 with the loss ``targeted``, else 1."""
    loss: Loss = "margin"

    def __post_init__(self) -> None:
        if cast("int | None", self.restarts) is None:
            object.__setattr__(self, "restarts", TARGETS if self.loss == "targeted" else 1)
        _check(self)

    @property
    def objective(self) -> Objective:
        """The loss, or the targeted DLR loss."""
        return "targeted-dlr" if self.loss == "targeted" else self.loss

    @property
    def spec(self) -> str:
        """Name and budget."""
        return _format_spec("apgd", self, {})

    def __call__(
        self, model: Classifier, region: Region, rows: IntArray, y: IntArray, keys: KeyArray
    ) -> AttackResult:
        """Search around these rows; see `Attack`."""
        from shaketable.adversary.attacks.gradient_search import (  # needs torch
            APGDState,
            GradientSearch,
            plan_checkpoints,
        )

        checkpoints = plan_checkpoints(self.steps)
        search = GradientSearch(model, region, rows, y, keys)
        return search.run(self, lambda start: APGDState.start(start, region.epsilon, checkpoints))


def _check(attack: PGD | APGD) -> None:
    check_whole("steps", attack.steps, least=1)
    check_whole("restarts", attack.restarts, least=1)
    if attack.loss == _DLR:
        object.__setattr__(attack, "loss", "dlr")
    if attack.loss not in get_args(Loss):
        raise unknown_name("loss", str(attack.loss), get_args(Loss))


def _format_spec(name: str, attack: PGD | APGD, more: dict[str, Value]) -> str:
    budget: dict[str, Value] = {"steps": attack.steps, "restarts": attack.restarts}
    loss = _DLR if attack.loss == "dlr" else attack.loss
    return str(Call(name, options=budget | {"loss": loss} | more))
