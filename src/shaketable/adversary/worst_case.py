"""The worst case: adversarial accuracies of models, beside random noise of the same size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shaketable.adversary import view
from shaketable.adversary.accuracy import AdversarialAccuracy, find_doubt
from shaketable.adversary.attacks.registry import Attacks
from shaketable.adversary.avoidable import Avoidable, WorstCaseJson
from shaketable.adversary.curve import Curve, compute_curve
from shaketable.adversary.distances import Distances
from shaketable.adversary.effort import EFFORT
from shaketable.adversary.embedded import check_use
from shaketable.adversary.kept import list_records
from shaketable.adversary.lines import RANDOM, Line, list_lines
from shaketable.adversary.region import Constraint
from shaketable.adversary.sizes import choose_sizes, find_eps_min, resolve_epsilon
from shaketable.adversary.target import Draws, Target
from shaketable.core.checks import check_whole, unknown_name
from shaketable.core.errors import InputError, either
from shaketable.core.norms import as_p, norm_title, norm_to_json
from shaketable.core.spec import read_multiple
from shaketable.core.types import Array
from shaketable.core.writing import write_beside
from shaketable.data.bounds import BoundsLike
from shaketable.data.dataset import Dataset
from shaketable.data.files import as_dataset
from shaketable.evaluation.data_record import DataRecord
from shaketable.evaluation.records import Records
from shaketable.evaluation.store import Store
from shaketable.findings.errata.errata import (
    Erratum,
    list_touching,
    name_data,
    name_errata,
    note_errata,
)
from shaketable.findings.guessing import note_guessing
from shaketable.statistics import intervals
from shaketable.statistics.difference import Difference
from shaketable.statistics.estimate import Estimate
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed, print_notes
from shaketable.views.text import name_notes

if TYPE_CHECKING:
    from shaketable.views.drawing import Chart


@dataclass(frozen=True, eq=False, repr=False)
class WorstCase(Displayed):
    """Adversarial accuracies of models on the same data, at the same epsilons.

    Examples
    --------
    >>> import tempfile
    >>> import shaketable as st
    >>> data = [[0.2], [0.9]], [False, True]
    >>> found = st.worst_case(lambda x: x[:, 0] > 0.3, data, name="step")
    >>> len(found.of("step")), found.within(0.1), found.differences()
    (1, True, [])
    >>> len(found.sentences("step")), len(found.avoidable("step"))
    (1, 1)
    >>> found.beside(st.Records(())).lines
    {'step': []}
    >>> sorted(found.json())[:2]
    ['avoidable', 'curves']
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(found.save_examples(Path(folder) / "examples.npz").name)
    ...     print(found.report(Path(folder) / "page.html").name)
    examples.npz
    page.html
    """

    data: Dataset | None
    """None where a results file holds the numbers alone."""
    p: float
    eps_min: float | None
    """Half the separation of the data in this norm; None if points of different classes touch."""
    curves: tuple[Curve, ...]
    """One curve per model and constraint."""
    noisy: Mapping[str, Mapping[float, Draws]] = field(default_factory=dict)
    """Draws of random noise, by model and epsilon; empty if not asked for."""
    lines: Mapping[str, Sequence[Line]] = field(default_factory=dict)
    """By model, other results at the same points that a results file holds beside these."""

    def __add__(self, other: WorstCase) -> WorstCase:
        """Join results of different models on the same data."""
        if self._setting != other._setting:
            raise InputError(
                "worst cases must be of the same data, points, norm, epsilons and constraints to "
                "be joined (split=True puts models that come fitted on the test part)"
            )
        if same := set(self.models) & set(other.models):
            raise InputError(
                f"worst cases must be of models with different names, got {min(same)!r} twice; "
                "give one of them another (name=…)"
            )
        noisy = {**self.noisy, **other.noisy}
        lines = {**self.lines, **other.lines}
        curves = self.curves + other.curves
        return WorstCase(self.data, self.p, self.eps_min, curves, noisy, lines)

    def beside(self, records: Records) -> WorstCase:
        """Return the same with what records hold on these models at the same points.

        Parameters
        ----------
        records
            Records of any models and data.

        Returns
        -------
        WorstCase
            The same, whose chart and tables show more.
        """
        found = {model: list_lines(records, self.of(model)[0]) for model in self.models}
        for model in {*self.random} & {*found}:  # their own noise is shown already
            found[model] = [line for line in found[model] if line.name != RANDOM]
        return replace(self, lines=found)

    @property
    def _setting(self) -> tuple[Any, ...]:
        accuracies = {
            (c.constraint, c.attacked.embedding, tuple(a.epsilon for a in c)) for c in self.curves
        }
        first = self.curves[0].attacked
        return first.fingerprint, self.p, accuracies, first.rows.tobytes()

    @cached_property
    def notes(self) -> list[str]:
        """What a reader should know about data and models, one sentence per note."""
        attacked = {curve.model: curve.attacked for curve in self.curves}
        notes = [*dict.fromkeys(n for curve in self.curves for n in curve.attacked.about_data)]
        notes += name_notes((m, note) for m, a in attacked.items() for note in a.about_model)
        guessing: list[tuple[str, str]] = []
        for model, a in attacked.items():
            right = intervals.mean_share(a.right.astype(int), 1)
            guessing += note_guessing(model, right, a.points.y, a.codes, a.points.classes)
        return notes + name_notes(guessing)

    @cached_property
    def distances(self) -> list[tuple[Curve, Distances]]:
        """Distances to the nearest failures, of the curves that tell half of them or more."""
        pairs = ((curve, curve.find_distances(self.data, self.eps_min)) for curve in self.curves)
        return [(c, d) for c, d in pairs if d is not None and d.quantile(0.5).found is not None]

    @property
    def name(self) -> str:
        """Name of the data."""
        return self.curves[0].attacked.data

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the data."""
        return self.curves[0].attacked.fingerprint

    @cached_property
    def random(self) -> dict[str, dict[float, Estimate]]:
        """Accuracy under random noise, by model and epsilon; empty if not asked for."""
        return {
            model: {e: intervals.mean_share(hits, k) for e, (hits, k) in by_epsilon.items()}
            for model, by_epsilon in self.noisy.items()
        }

    @property
    def models(self) -> list[str]:
        """Names of the models, in the order they were added."""
        return list(dict.fromkeys(curve.model for curve in self.curves))

    @property
    def norm(self) -> str:
        """Name of the norm."""
        return norm_title(self.p)

    def of(self, model: str) -> list[Curve]:
        """Curves of one model, one per constraint.

        Parameters
        ----------
        model
            Name of the model.

        Returns
        -------
        list[Curve]
            Its curves.
        """
        return [curve for curve in self.curves if curve.model == model]

    def avoidable(self, model: str) -> list[Avoidable]:
        """What a model loses although 1-NN would not, one entry per constraint.

        Counted at the largest epsilon at which 1-NN on the attacked points loses nothing: any for
        Voronoi cells (Theorem 2), and up to eps_min for balls. At eps_min itself the balls of the
        closest points of different classes touch; these points are left out.

        Parameters
        ----------
        model
            Name of the model.

        Returns
        -------
        list[Avoidable]
            What it loses.
        """
        return self._avoidable.get(model, [])

    @cached_property
    def _avoidable(self) -> dict[str, list[Avoidable]]:
        return {
            model: [a for curve in self.of(model) for a in self._find_avoidable(curve)]
            for model in self.models
        }

    def _find_avoidable(self, curve: Curve) -> list[Avoidable]:
        """What one curve loses at the largest epsilon at which it need not; none without one."""
        genuine = curve.constraint != "none"
        fair = [a for a in curve if a.n and (genuine or self.within(a.epsilon))]
        if not fair:
            return []
        last = fair[-1]
        right = curve.attacked.right & last.remains
        if not genuine and last.epsilon == self.eps_min:
            right[curve.find_closest(last.epsilon)] = False
        lost = right[np.searchsorted(curve.attacked.rows, last.examples.rows)]
        return [Avoidable(last, int(lost.sum()), int(right.sum()), bool(curve.attacked.embedding))]

    def within(self, epsilon: float) -> bool:
        """Whether epsilon is at most eps_min.

        Parameters
        ----------
        epsilon
            Radius.

        Returns
        -------
        bool
            Whether it is so.
        """
        return self.eps_min is not None and epsilon <= self.eps_min

    def sentences(self, model: str) -> list[str]:
        """What a model loses although 1-NN would not, one sentence per constraint.

        Parameters
        ----------
        model
            Name of the model.

        Returns
        -------
        list[str]
            Sentences.
        """
        return [str(avoidable) for avoidable in self.avoidable(model)]

    def __repr__(self) -> str:
        return "\n".join(repr(curve) for curve in self.curves)

    def draw_map(self, model: str | None = None) -> Chart:
        """Draw where the adversary went at the largest epsilon, for points with two features.

        Decision regions, points with their Voronoi cells, and the examples that were found.

        Parameters
        ----------
        model
            Name of the model; by default the first one. Of several constraints, the first is drawn.

        Returns
        -------
        Chart
            The chart.

        Examples
        --------
        >>> found = worst_case(lambda x: x[:, 0] > 0.5, ([[0.2, 0], [0.8, 0], [0.9, 1]], [0, 1, 1]))
        >>> type(found.draw_map()).__name__
        '_LayerChart'
        """
        from shaketable.adversary.charts import map_chart  # altair is slow to import

        curves = self.curves if model is None else self.of(model)
        if not curves:
            raise unknown_name("model", str(model), self.models)
        return map_chart(curves[0], curves[0].accuracies[-1])

    def save_examples(self, path: str | Path) -> Path:
        """Write the examples at the largest epsilon of every curve as ``.npz``.

        One entry per example: ``model``, ``constraint``, ``epsilon``, ``row`` of the data, its
        ``label``, the point ``x`` as the model takes it, ``distance`` and the ``predicted`` label.

        Parameters
        ----------
        path
            File that ends in ``.npz``.

        Returns
        -------
        Path
            Path of the file.
        """
        if self.data is None:
            raise InputError("examples are points, which no results file holds; attack again")
        if self.data.table is not None and self.data.table.decodes:
            raise InputError(
                "examples of a data frame are no plain numbers, which an .npz file holds; leave "
                f"{either('out --examples', 'it')}, the page shows them"
            )
        classes = np.array([*map(str, self.data.classes), "none"])  # code -1 is the last
        columns: dict[str, list[Array]] = {}
        for curve in self.curves:
            last = curve.accuracies[-1]
            examples = last.examples
            for name, values in {
                "model": np.full(len(examples), curve.model),
                "constraint": np.full(len(examples), last.constraint),
                "epsilon": np.full(len(examples), last.epsilon),
                "row": examples.rows,
                "label": classes[self.data.y[examples.rows]],
                "x": examples.moved,
                "distance": examples.distances(self.data, self.p),
                "predicted": classes[examples.codes],
            }.items():
                columns.setdefault(name, []).append(values)
        arrays: dict[str, Any] = {n: np.concatenate(parts) for n, parts in columns.items()}
        with write_beside(path, "examples") as beside, beside.open("wb") as file:
            np.savez_compressed(file, **arrays)
        return Path(path)

    def differences(self) -> list[tuple[AdversarialAccuracy, Difference]]:
        """Paired differences of every two models, for every constraint and epsilon.

        The accuracy of each entry is that of the first model.

        Returns
        -------
        list[tuple[AdversarialAccuracy, Difference]]
            Accuracy of the first model, and its difference from the second.
        """
        return self._differences

    @cached_property
    def _differences(self) -> list[tuple[AdversarialAccuracy, Difference]]:
        differences = []
        for first, second in combinations(self.curves, 2):
            if first.constraint == second.constraint:
                trials = [[trial for a in curve for trial in a.trials] for curve in (first, second)]
                for a, b in zip(first, second, strict=True):
                    both = a.remains & b.remains
                    if both.any():
                        hits, other_hits = (c.withstood[both].astype(int) for c in (a, b))
                        difference = Difference(
                            first.model,
                            second.model,
                            intervals.mean_difference(hits, other_hits, 1),
                            "withstands more",
                            doubt=find_doubt(a, b, trials),
                        )
                        differences.append((a, difference))
        return differences

    @property
    def errata(self) -> list[Erratum]:
        """Errata of published numbers like these."""
        constraints = {f"constraint:{curve.constraint}" for curve in self.curves}
        return list_touching({name_data(self.name), *constraints})

    def json(self) -> WorstCaseJson:
        """All results as a JSON object; accuracies are percentages.

        Returns
        -------
        dict
            Keys as in ``shaketable adversary --json``.
        """
        return {
            "data": self.name,
            "norm": norm_to_json(self.p),
            "eps_min": self.eps_min,
            "curves": [curve.json() for curve in self.curves],
            "random": [
                {"model": model, "epsilon": epsilon, **value.json()}
                for model, by_epsilon in self.random.items()
                for epsilon, value in by_epsilon.items()
            ],
            "distances": [
                {"model": curve.model, "constraint": curve.constraint, **distances.json()}
                for curve, distances in self.distances
            ],
            "differences": [
                {
                    "constraint": a.constraint,
                    "epsilon": a.epsilon,
                    "words": difference.words,
                    **difference.json(),
                }
                for a, difference in self.differences()
            ],
            "avoidable": [
                {"model": model, **avoidable.json()}
                for model in self.models
                for avoidable in self.avoidable(model)
            ],
            "seed": self.curves[0].attacked.seed,
            **name_errata(self.errata),
            "notes": [*self.notes, *note_errata(self.errata)],
        }

    def blocks(self) -> list[Block]:
        """Return verdicts, accuracies, differences, maps, examples, evidence and settings."""
        return view.make_blocks(self)

    def print(self) -> None:
        """Print verdicts, one table per model, differences between models, and notes."""
        super().print()
        print_notes([*self.notes, *note_errata(self.errata)])

    def report(
        self, path: str | Path, *, title: str | None = None, notes: Iterable[str] = ()
    ) -> Path:
        """Write verdicts, tables, figures, examples and evidence as one HTML page.

        Parameters
        ----------
        path
            File to write; an older one is replaced.
        title
            Heading of the page; by default it names the models and the data.
        notes
            Sentences to show near the top, besides its own notes.

        Returns
        -------
        pathlib.Path
            Path of the page.

        Examples
        --------
        >>> import tempfile
        >>> found = worst_case(lambda x: x[:, 0] > 0.5, ([[0.2], [0.8], [0.9]], [0, 1, 1]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(found.report(Path(folder) / "page.html").name)
        page.html
        """
        from shaketable.adversary.finding import make_results
        from shaketable.findings.page import write_report  # loads the charts

        results = make_results(self, notes)
        return write_report(path, results, dataset=self.data, title=title)


def worst_case(
    model: Any,
    data: Any,
    epsilons: float | str | Iterable[float | str] | None = "eps_min",
    *,
    norm: str | float = 2,
    constraints: Constraint | Sequence[Constraint] = "none",
    attacks: Attacks = None,
    effort: int = EFFORT,
    random: int = 0,
    bounds: BoundsLike | Literal["declared"] = "declared",
    seed: int = 0,
    name: str | None = None,
    refit: bool = False,
    own: bool = False,
    split: bool = False,
    unscale: bool = False,
    points: int | None = None,
    embedding: Any = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> WorstCase:
    """Attack a model under one constraint after the other; join several models with ``+``.

    Parameters
    ----------
    model, data
        As in `adversarial_curve`.
    epsilons
        One radius or several; ``eps_min`` stands for half the separation of these data, and
        ``0.5*eps_min`` for half of that. None: the distance to the nearest failure of every point
        is measured, and accuracies at a ladder of sizes follow from it.
    norm
        Order of the norm.
    constraints
        One or several of ``none``, ``genuine-max`` and ``genuine-exact``, one curve each.
    attacks, effort
        As in `adversarial_accuracy`.
    random
        Number of noisy copies per point, for the accuracy under random noise of the same sizes,
        uniform in the ball, at the same points; 0 for none.
    embedding
        Map to vectors, as in `separation`: Voronoi cells are then those of the vectors; the ball is
        that of the points. A function is kept only with an ID (`models.Embedding`).
    bounds, seed, name, refit, own, split, unscale, points, store, progress
        As in `adversarial_curve`.

    Returns
    -------
    WorstCase
        Curves of all constraints.

    Examples
    --------
    >>> from shaketable.models.builtin import f2, f3
    >>> kinds = ["none", "genuine-exact"]
    >>> worst = worst_case(f2, "toy1d(n=40)", [0.5, 2.5], constraints=kinds)
    >>> worst += worst_case(f3, "toy1d(n=40)", [0.5, 2.5], constraints=kinds)
    >>> [(curve.model, [a.value for a in curve]) for curve in worst.curves]
    [('f2', [1.0, 0.0]), ('f2', [1.0, 0.5]), ('f3', [1.0, 0.0]), ('f3', [1.0, 1.0])]
    """
    data, p = as_dataset(data), as_p(norm)
    nearest = epsilons is None
    if isinstance(epsilons, str) or not isinstance(epsilons, Iterable):
        epsilons = [] if epsilons is None else [epsilons]
    sizes, kinds = list(epsilons), [constraints] if isinstance(constraints, str) else constraints
    if not kinds:
        raise InputError("constraints must name one or more, got none")
    if nearest and "genuine-exact" in kinds:
        raise InputError(
            "epsilons must be given with genuine-exact, under which all distances are epsilon"
        )
    check_use(embedding, kinds)
    check_whole("random", random, least=0)
    with Store(store) as results:
        needed = any(read_multiple(size) is not None for size in sizes)
        eps_min = find_eps_min(data, p, results, needed=needed, progress=progress)
        ladder = [resolve_epsilon(size, eps_min) for size in sizes]
        ladder = choose_sizes(data, p, eps_min) if nearest else ladder
        target = Target.of(
            model,
            data,
            bounds=bounds,
            seed=seed,
            name=name,
            refit=refit,
            own=own,
            split=split,
            unscale=unscale,
            points=points,
            embedding=embedding,
        )
        curves = tuple(
            compute_curve(
                target,
                ladder,
                norm=norm,
                constraint=constraint,
                attacks=attacks,
                nearest=nearest,
                effort=effort,
                keep=None if results.in_memory else results,
                progress=progress,
            )
            for constraint in dict.fromkeys(kinds)
        )
        noisy = target.evaluate_noise(p, ladder, random, progress=progress) if random else {}
        name = target.classifier.name
        found = WorstCase(data, p, eps_min, curves, {name: noisy} if noisy else {})
        if not results.in_memory and not target.is_nameless:
            results.add_data(DataRecord.of(data))
            results.add_results(list_records(found))
            found = found.beside(results.everything())
    return found
