"""The search for the training noise that buys the most robustness.

The data have one part for the test, and one for the search, which splits it further.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from shaketable.core.checks import check_real, check_whole
from shaketable.core.errors import DIVERGED, InputError
from shaketable.core.norms import as_p, norm_name, pnorm_level
from shaketable.core.spec import Call, display_name
from shaketable.corruptions import Corruption
from shaketable.corruptions.parse import has_size_eps_min
from shaketable.corruptions.suites.suite import Suite
from shaketable.data.arrays import fix_test_part
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.evaluation.evaluate import check_complete
from shaketable.evaluation.noise import USUAL_K, Noise, choose_range
from shaketable.evaluation.records import Records
from shaketable.evaluation.resolve import check_range, resolve_and_record
from shaketable.evaluation.store import Store
from shaketable.evaluation.study import resolve_training, study
from shaketable.evaluation.trainees import choose_training_bounds, load_trainees, trains_itself
from shaketable.training.hardening.result import (
    PLAIN,
    Answers,
    Candidate,
    Hardening,
    Workshop,
    choose_candidate,
    collect_answers,
    compare_splits,
    compare_trainings,
    measure_accuracies,
)


def put_test_aside(data: Dataset, seed: int) -> Dataset:
    """Return the data with a fixed test part: their own, or 20 % of the points at random.

    >>> from shaketable import load
    >>> put_test_aside(load("bands(n=100)"), seed=0).n_train
    80
    """
    fixed = data if data.n_train is not None else fix_test_part(data, data.parts(seed=seed)[1])
    return replace(fixed, groupings=())


_PART = ", training part"


def names_training_part(name: str) -> bool:
    """Whether the name of data is that of points that a search splits, which only it makes."""
    return name.endswith(_PART)


def take_training_part(data: Dataset) -> Dataset:
    """Return the points outside the fixed test part, which are split anew in every run."""
    n = data.n_train
    return replace(
        data,
        name=f"{data.name}{_PART}",
        x=data.x[:n],
        y=data.y[:n],
        n_train=None,
        kept=None if data.kept is None else data.kept[:n],
        files=None if data.files is None else data.files[:n],
    )


LADDER = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Sizes of training noise that are tried first, relative to the size of the test noise."""

LARGEST = 64.0
"""Size up to which the ladder is extended while its largest size is the best."""

FINE = 2**0.5
"""Factor to the sizes that are tried last, around the best one."""


def harden(
    data: Any,
    model: Any,
    *,
    norm: str | float = "inf",
    target: str | Corruption | Suite | None = None,
    noise: str | Iterable[str] | None = None,
    price: float = 0.0,
    runs: int = 10,
    search_runs: int = 3,
    k: int | None = None,
    seed: int = 0,
    bounds: BoundsLike | Literal["declared"] = "declared",
    store: str | Path | None = None,
    n_jobs: int | None = None,
    trust: bool = False,
    progress: bool = False,
) -> Hardening:
    """Find the training noise that buys the most robustness within a price in clean accuracy.

    The test part, the data's own or 20 % of the points, is put aside. In every run of the search
    the others are split anew, 80/20: models are trained with every noise on the larger part, and
    compared with training without noise on the smaller one, on the same points and noise. Chosen is
    the noise with the highest accuracy under the target among those whose loss of clean accuracy is
    at most the price, up to one standard error. Both are then trained `runs` times on all but the
    test part, and compared on that part. Only this decides whether the noise helps.

    Estimators are trained on k noisy copies of every point. What they are compared with is trained
    on k copies without noise: for many models, copies alone change what is learned. The test says
    how much, against plain training on one copy. Networks get no copies.

    Parameters
    ----------
    data
        ``(x, y)``, a `Dataset`, or what `load` takes; uint8 images count as x/255.
    model
        As one of `study`: name of a built-in model, unfitted estimator, or network to be trained
        (`training.UntrainedNetwork`).
    norm
        Norm of noise and separation.
    target
        What the model is to be robust to: a spec such as ``l2(0.5)``, a corruption, or a suite,
        whose corruptions have the same weight; by default noise of size eps_min, as in MSCR.
    noise
        Training noise to choose from, as in `study`: ``C1``, ``l2(1) | sp(0.1)``, for networks also
        ``trivialaugment + C1``. By default p-norm noise, in the norm of the target: 1/4 to 8 times
        its size (of other targets: eps_min) in factors of 2, up to 64 times while the largest is
        the best, and then a factor of sqrt(2) around the best.
    price
        Largest loss of clean accuracy that is accepted, in percentage points.
    runs, search_runs
        Number of trainings on the test, and of every candidate in the search.
    k, seed, bounds, store, n_jobs, trust, progress
        As in `study`; the target is bounded as `evaluate` does it.

    Returns
    -------
    Hardening
        What was found, the chosen noise first; `model` is trained with it.

    Notes
    -----
    eps_min is that of all points, as MSCR has it. It is all that the search knows of the test part.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> found = harden("bands(n=200)", DecisionTreeClassifier(), runs=2, search_runs=2, k=3)
    >>> found.chosen in [candidate.noise for candidate in found.candidates]
    True
    """
    price = check_real("price", price, "lie in [0, 100] percentage points", low=0, high=100) / 100
    runs = check_whole("runs", runs, least=1)
    search_runs = check_whole("search_runs", search_runs, least=1)
    data = put_test_aside(as_dataset(data), seed)
    ((name, trainee),) = _load_one(model, data, trust=trust).items()
    limits = choose_training_bounds(data, bounds, [trainee])
    drawn = Noise(k=USUAL_K if k is None else k, seed=seed, bounds=limits)
    job = _Job(Workshop(name, trainee, data, drawn), k, bounds, store, n_jobs, progress)
    aim = _resolve_target(job, target, norm)
    part = take_training_part(data)
    search = _Search(job, part, aim, search_runs)
    if noise is None:
        candidates, unit = search.climb(*_choose_ladder(job, aim, norm), price)
    else:
        candidates, unit = search.try_all(_name_noise(job, noise)), ""
    best = choose_candidate(candidates, price)
    chosen = PLAIN if best is None else best.noise
    control = job.control
    answers = job.train_and_test(data, [PLAIN, control, chosen], aim, runs)
    differs, has_copies = chosen != PLAIN, control != PLAIN
    fit, selection = map(len, part.parts(seed=seed))
    return Hardening(
        workshop=job.workshop,
        target=aim.title,
        unit=unit,
        at_eps_min=aim.at_eps_min,
        price=price,
        search_runs=search_runs,
        parts=(fit, selection, data.n - part.n),
        candidates=tuple(candidates),
        diverged=tuple(search.diverged),
        chosen=chosen,
        runs=runs,
        plain_test=measure_accuracies(answers[PLAIN]),
        copies_test=measure_accuracies(answers[control]) if has_copies else None,
        chosen_test=measure_accuracies(answers[chosen]) if differs else None,
        difference=compare_trainings(answers[chosen], answers[control]) if differs else None,
        copies_difference=compare_trainings(answers[control], answers[PLAIN])
        if has_copies
        else None,
    )


@dataclass(frozen=True, eq=False)
class _Aim:
    """What the model is to be robust to, resolved for the data."""

    tests: str | Corruption | Suite
    title: str
    level: tuple[float, float] | None
    """Order p and size of p-norm noise; None for any other target."""
    at_eps_min: bool


@dataclass(frozen=True, eq=False)
class _Job:
    """One model on one data set, and how it is trained and tested."""

    workshop: Workshop
    k: int | None
    """Noisy copies; None for 10, and in suites the number they were published with."""
    bounds: BoundsLike | Literal["declared"]
    store: str | Path | None
    n_jobs: int | None
    progress: bool

    @property
    def data(self) -> Dataset:
        return self.workshop.data

    @cached_property
    def control(self) -> str:
        """Training noise that changes nothing: with k copies of every point for estimators."""
        shop = self.workshop
        if shop.noise.k == 1 or trains_itself(shop.trainee):
            return PLAIN
        table = shop.data.table
        return "linf(0)" if table is None or table.moved.any() else "clean | clean"

    def train_and_test(
        self, data: Dataset, specs: Iterable[str], aim: _Aim, runs: int
    ) -> dict[str, Answers]:
        """Return what models answer that are trained with each noise, by its spec."""
        records = self._study(data, specs, aim, runs)
        check_complete(records)
        return collect_answers(records)

    def try_to_train(
        self, data: Dataset, specs: Sequence[str], aim: _Aim, runs: int
    ) -> dict[str, Answers]:
        """The same, without noise with which a training diverges."""
        try:
            records = self._study(data, specs, aim, runs)
        except InputError as error:  # of the first, if none succeeds
            if DIVERGED not in str(error):
                raise
            alone = [[spec] for spec in specs] if len(specs) > 1 else []
            each = (self.try_to_train(data, spec, aim, runs) for spec in alone)
            return {spec: answers for found in each for spec, answers in found.items()}
        others = tuple(failure for failure in records.failures if not failure.is_lasting)
        check_complete(replace(records, failures=others))
        trained = Counter(cell.train for cell in records if cell.corruption == PLAIN)
        return collect_answers(cell for cell in records if trained[cell.train] == runs)

    def _study(self, data: Dataset, specs: Iterable[str], aim: _Aim, runs: int) -> Records:
        return study(
            data,
            {self.workshop.name: self.workshop.trainee},
            train=list(dict.fromkeys(specs)),
            corruptions=[aim.tests],
            k=self.k,
            runs=runs,
            seed=self.workshop.noise.seed,
            bounds=self.bounds,
            store=self.store,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )

    def resolve(self, target: str | Corruption | Suite) -> tuple[Corruption, ...]:
        """Return corruptions with all that the data decide; a separation is kept in the store.

        A value range that is missing is an error now, before anything is trained.
        """
        bounds = self.workshop.noise.bounds
        if isinstance(target, Suite) and target.needs_range:
            bounds = choose_range(self.data, self.bounds)
        with Store(self.store) as results:
            corruptions = resolve_and_record([target], self.data, bounds, results)
        for corruption in corruptions:
            check_range(corruption, bounds)
        return corruptions


@dataclass(frozen=True, eq=False)
class _Search:
    """Models are trained with noise on parts of the training part, and compared on the rest."""

    job: _Job
    part: Dataset
    aim: _Aim
    runs: int
    diverged: list[str] = field(default_factory=list)
    """Noise with which a training diverged."""

    @cached_property
    def control(self) -> Answers:
        """Answers of models that are trained without noise, on as many copies."""
        control = self.job.control
        return self.job.train_and_test(self.part, [control], self.aim, self.runs)[control]

    def try_all(self, specs: Mapping[str, float | None]) -> list[Candidate]:
        """Compare training noise, given with its sizes, with training without noise."""
        answers = self.job.try_to_train(self.part, list(specs), self.aim, self.runs)
        self.diverged.extend(spec for spec in specs if spec not in answers)
        return [
            Candidate(
                spec,
                size,
                answers[spec].clean_accuracy,
                answers[spec].robust_accuracy,
                *compare_splits(answers[spec], self.control),
            )
            for spec, size in specs.items()
            if spec in answers
        ]

    def climb(self, p: float, unit: float, name: str, price: float) -> tuple[list[Candidate], str]:
        """Try p-norm noise from coarse to fine; returns the candidates and what sizes are in."""

        def extend(sizes: Sequence[float]) -> Candidate | None:
            tried.extend(sizes)
            specs = {_format_noise(p, unit, size): size for size in sizes}
            candidates.extend(self.try_all(_name_noise(self.job, specs, list(specs.values()))))
            candidates.sort(key=lambda candidate: candidate.size or 0.0)
            return choose_candidate(candidates, price)

        candidates: list[Candidate] = []
        tried: list[float] = []
        best = extend(LADDER)
        while best is not None and best.size == max(tried) < LARGEST:
            best = extend([2 * max(tried)])
        if best is not None and best.size is not None:
            extend([best.size / FINE, best.size * FINE])
        return candidates, name


def _format_noise(p: float, unit: float, size: float) -> str:
    """Return the spec of noise of a size, of which four digits are enough."""
    return str(Call(norm_name(p), (float(f"{size * unit:.4g}"),)))


def _name_noise(
    job: _Job, noise: str | Iterable[str], sizes: Sequence[float | None] | None = None
) -> dict[str, float | None]:
    """Return canonical specs of training noise on all data, each with its size if it has one."""
    specs = [noise] if isinstance(noise, str) else list(noise)
    shop = job.workshop
    named = [resolve_training(shop.trainee, [s], shop.data, shop.noise)[0].spec for s in specs]
    both = zip(named, sizes or [None] * len(named), strict=True)
    found = {spec: size for spec, size in both if not _is_nothing(spec)}
    if not found:
        raise InputError(
            "noise must name at least one training noise besides clean and noise of size 0, got "
            f"{', '.join(specs)}; add one, such as C1"
        )
    return found


def _is_nothing(spec: str) -> bool:
    """Whether a canonical spec is no noise, or p-norm noise of size 0."""
    level = pnorm_level(spec)
    return spec == PLAIN or (level is not None and level[1] == 0)


def _load_one(model: Any, data: Dataset, *, trust: bool) -> dict[str, Any]:
    trainees = load_trainees(model, data, trust=trust)
    if len(trainees) > 1:
        raise InputError(f"model must be one model, got {len(trainees)}; harden one at a time")
    return trainees


def _resolve_target(job: _Job, target: str | Corruption | Suite | None, norm: str | float) -> _Aim:
    """Fill in what the data decide: those of the search have another eps_min."""
    if target is None:
        target = str(Call(norm_name(as_p(norm)), ("eps_min",)))
    corruptions = job.resolve(target)
    if all(_is_nothing(c.spec) for c in corruptions):
        raise InputError(
            f"target must be noise, got {corruptions[0].spec}; name what the model is to withstand"
        )
    if isinstance(target, Suite):
        title = f"{target.name} (mean of {len(corruptions)} corruptions)"
        if any("eps_min" in name for name in target.names):
            target = replace(target, names=tuple(c.spec for c in corruptions))
        return _Aim(target, title, None, at_eps_min=False)
    (corruption,) = corruptions
    level = pnorm_level(corruption.spec)
    title = target if isinstance(target, str) else display_name(corruption.spec)
    at_eps_min = isinstance(target, str) and has_size_eps_min(target)
    return _Aim(corruption.spec, title, level, at_eps_min=at_eps_min)


def _choose_ladder(job: _Job, aim: _Aim, norm: str | float) -> tuple[float, float, str]:
    """Return order p, size and name of the unit of training noise."""
    if aim.level is not None and aim.level[0] > 0:
        return *aim.level, "eps_min" if aim.at_eps_min else "size of the test noise"
    p = as_p(norm)
    (corruption,) = job.resolve(str(Call(norm_name(p), ("eps_min",))))
    level = pnorm_level(corruption.spec)
    assert level is not None
    return *level, "eps_min"
