"""One model under one corruption: the probability at every point, in blocks that are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np

from shaketable.adversary.target import Target
from shaketable.core.arrays import Parts, keep_arrays, load_arrays
from shaketable.core.errors import InputError
from shaketable.core.keys import SCHEME, digest, row_keys
from shaketable.core.types import FloatArray, IntArray
from shaketable.core.versions import list_versions
from shaketable.corruptions import Clean, Corruption
from shaketable.evaluation.cells import BATCH_VALUES, Cell, Origin, make_points, measure_groups
from shaketable.evaluation.noise import Noise
from shaketable.evaluation.rare_record import RareRecord
from shaketable.evaluation.records import AS_GIVEN
from shaketable.rare.latent import LatentNoise, find_latent
from shaketable.rare.margin import Margin
from shaketable.rare.splitting import Asking, estimate_risk
from shaketable.statistics.rare import PLAIN, PointRisk, PointRisks
from shaketable.views.progress import show_progress

_BLOCK = 20  # points whose questions are asked together
_BLOCK_VALUES = 1 << 22  # of their normal numbers, about
_TRIED = 100  # points at which it is found out whether a model gives scores


@dataclass(frozen=True, eq=False)
class Measurement:
    """What is to be measured: a model at its points, under a corruption that has its bounds."""

    target: Target
    corruption: Corruption
    """Fitted to the data, without bounds."""
    budget: int
    precision: float | None

    @cached_property
    def noisy(self) -> Corruption:
        """The corruption in the bounds."""
        return self.corruption.bind(self.target.bounds)

    @cached_property
    def latent(self) -> LatentNoise | None:
        """How its noise is made of normal numbers; None if that is not known."""
        return find_latent(self.noisy, self.target.data.d)

    @cached_property
    def margin(self) -> Margin | None:
        """Margin of the model; None if it gives labels only."""
        return Margin.of(self.target.classifier, self.target.points[:_TRIED])

    @cached_property
    def why_plain(self) -> str:
        """Why there are plain draws alone; empty if margins are followed."""
        if self.latent is None:
            return f"{self.corruption.spec} is no noise whose law the search can follow"
        if self.margin is None:
            return "the model gives labels without scores"
        return ""

    @cached_property
    def blocks(self) -> list[slice]:
        """Places of the points that are measured together."""
        n, size = len(self.target.rows), _BLOCK
        if self.latent is not None and not self.why_plain:
            size = max(1, min(_BLOCK, _BLOCK_VALUES // (1000 * self.latent.dimensions)))
        return [slice(start, min(n, start + size)) for start in range(0, n, size)]

    def measure(self, keep: Parts | None = None, *, progress: bool = False) -> RareRecord:
        """Measure all points, but for blocks that are kept already."""
        name = f"risk of {self.target.classifier.name}"
        if self.target.classifier.identity is None:
            keep = None
        parts = [
            self._measure_block(block, keep)
            for block in show_progress(self.blocks, name, enabled=progress, total=len(self.blocks))
        ]
        return self._make_record(PointRisks.join(parts))

    def _measure_block(self, block: slice, keep: Parts | None) -> PointRisks:
        key = self._make_key("rare block", self.target.rows[block].astype("<i8").tobytes())
        if (arrays := load_arrays(keep, key)) is not None:
            return PointRisks(**arrays)
        found = self._draw(block) if self.why_plain else self._split(block)
        keep_arrays(keep, key, vars(found))
        return found

    def _make_key(self, purpose: str, *more: bytes | str) -> str:
        """Hash of all that results depend on."""
        target = self.target
        setting = (
            purpose,
            SCHEME,
            str(sorted(list_versions().items())),
            target.data.fingerprint,
            target.classifier.identity or f"function {target.classifier.name}",
            self.corruption.spec,
            repr((str(target.bounds), target.seed, self.budget, self.precision)),
            *more,
        )
        return f"{digest(*setting):016x}{digest('second half', *setting):016x}"

    def _draw(self, block: slice) -> PointRisks:
        """Count wrong answers of as many draws as the budget has, as `evaluate` does."""
        target = self.target
        noise = Noise(k=self.budget, seed=target.seed, bounds=target.bounds)
        points = make_points(target.data, target.rows[block])
        cell = Cell(
            target.data,
            points,
            self.corruption,
            noise,
            Origin(target.classifier.name, "", AS_GIVEN),
            "",
        )
        ((record,),) = measure_groups([[cell]], target.classifier)
        wrong = record.k - record.hits
        return PointRisks.of(
            [PointRisk(PLAIN, w / record.k, 0.0, record.k, w, record.k) for w in wrong.tolist()]
        )

    def _split(self, block: slice) -> PointRisks:
        """Follow the margins at all points of a block together."""
        target, latent, margin = self.target, self.latent, self.margin
        assert latent is not None
        assert margin is not None
        x, y = target.points[block], target.y[block]
        key = digest("rare", SCHEME, target.data.fingerprint, self.corruption.spec, target.seed)
        keys = row_keys(key, target.rows[block], np.arange(1))[:, 0]

        def ask(places: IntArray, u: FloatArray) -> FloatArray:
            drawn = np.ascontiguousarray(latent(u), x.dtype)
            return margin(self.noisy.apply(x[places], drawn), y[places])

        estimates = [
            estimate_risk(int(k), latent.dimensions, self.budget, self.precision) for k in keys
        ]
        size = max(1, BATCH_VALUES // target.data.d)
        return PointRisks.of(ask_together(estimates, ask, size))

    def _make_record(self, risks: PointRisks) -> RareRecord:
        target = self.target
        about = target.attacked
        return RareRecord(
            key=self._make_key("rare", about.points.id),
            points=about.points,
            data=about.data,
            fingerprint=about.fingerprint,
            model=about.model,
            model_id=about.model_id,
            corruption=self.corruption.spec,
            bounds=about.bounds,
            seed=about.seed,
            budget=self.budget,
            why_plain=self.why_plain,
            about_data=about.about_data,
            about_model=about.about_model,
            versions=list_versions(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            **vars(risks),
        )


def ask_together(
    estimates: Sequence[Asking[PointRisk]],
    ask: Callable[[IntArray, FloatArray], FloatArray],
    size: int,
) -> list[PointRisk]:
    """Return the results of several estimates, which get their answers together.

    Parameters
    ----------
    estimates
        One per point; see `splitting`.
    ask
        Returns the margins at rows of normal numbers, given with the places of their points.
    size
        Rows that are asked about at a time, at most.
    """
    results: dict[int, PointRisk] = {}
    waiting: dict[int, FloatArray] = {}

    def advance(place: int, margins: FloatArray | None) -> None:
        try:
            waiting[place] = estimates[place].send(margins)  # type: ignore[arg-type]  # None starts
        except StopIteration as end:
            results[place] = end.value
            waiting.pop(place, None)

    for place in range(len(estimates)):
        advance(place, None)
    while waiting:
        asked = list(waiting)
        places = np.repeat(asked, [len(waiting[place]) for place in asked])
        u = np.concatenate([waiting[place] for place in asked])
        margins = np.concatenate(
            [ask(places[i : i + size], u[i : i + size]) for i in range(0, len(u), size)]
        )
        for place in asked:
            advance(place, margins[places == place])
    return [results[place] for place in range(len(estimates))]


def check_corruption(corruption: Corruption) -> None:
    """Raise `InputError` for a corruption that is the same at every draw."""
    if isinstance(corruption, Clean) or corruption.traits.by_row:
        raise InputError(
            f"corruption must be drawn at random to have a probability, got {corruption.spec}; "
            "name noise, such as linf(eps_min)"
        )
