"""Numbers of trained networks by regime: metrics, differences, transfer; and what print implies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shaketable.core.types import FloatArray
from shaketable.reproductions.numbers import Number, NumberTable, Printed
from shaketable.reproductions.published import load_published

if TYPE_CHECKING:
    from shaketable.evaluation.records import Records
    from shaketable.findings.suite_results import SuiteResult
    from shaketable.statistics.estimate import Estimate

STANDARD = "Standard"
"""Training without noise and augmentation beyond flips and crops."""
RELEASED = {"RA": "tv-randaugment", "AM": "tv-augmix"}
"""RandAugment and AugMix as the authors released them."""

_SHORT = {**RELEASED, "MU": "mixup", "TA": "trivialaugment", STANDARD: "clean"}

METRICS = ("E_clean", "mCE", "mCE_xN", "mCE_Lp", "iCE")
"""In the order of the printed tables."""

_PUBLISHED_NETWORKS = {
    "wrn-28-4": "wrn",
    "densenet-201-12": "densenet",
    "resnext-29-32x4d": "resnext",
}


def spell(regime: str) -> str:
    """Return the spec of a regime that is named as in print.

    >>> spell("Standard"), spell("TA+C1"), spell("l2(1)")
    ('clean', 'trivialaugment + C1', 'l2(1)')
    """
    return " + ".join(_SHORT.get(part, part) for part in regime.split("+"))


@dataclass(frozen=True, eq=False)
class Study:
    """Records of networks that were trained with regimes, by the names of print."""

    records: Records
    specs: Mapping[str, str]
    """Canonical spec of every regime."""
    image_set: str

    @cached_property
    def results(self) -> Mapping[tuple[str, str], Mapping[str, SuiteResult]]:
        """Results by network and regime, and by the metric of the suite."""
        from shaketable import metrics

        names = {spec: regime for regime, spec in self.specs.items()}
        found: dict[tuple[str, str], dict[str, SuiteResult]] = {}
        for result in metrics.suite_results(self.records):
            place = result.first.network, names[result.first.train]
            found.setdefault(place, {})[result.suite.metric] = result
        return found

    @property
    def networks(self) -> list[str]:
        """Networks, in their order."""
        return [*dict.fromkeys(network for network, _ in self.results)]

    @cached_property
    def runs(self) -> list[int]:
        """Numbers of its runs."""
        return sorted({record.run for record in self.records})

    @property
    def norms(self) -> list[str]:
        """Regimes of p-norm noise alone, after plain training."""
        return [r for r in self.specs if r == STANDARD or r.partition("+")[0] not in _SHORT]

    @property
    def augmented(self) -> list[str]:
        """Regimes with augmentations, after plain training."""
        return [r for r in self.specs if r.partition("+")[0] in _SHORT]

    @property
    def notes(self) -> list[str]:
        """Which definition of RandAugment and AugMix the numbers have."""
        parts = {part for regime in self.specs for part in regime.split("+")}
        used = [f"{name} is {spec}" for name, spec in RELEASED.items() if name in parts]
        return [f"Augmentations by their specs: {', '.join(used)}."] if used else []

    def choose(self, regimes: Iterable[str]) -> Records:
        """Return the records of some regimes."""
        wanted = {self.specs[regime] for regime in regimes}
        cells = tuple(record for record in self.records if record.train in wanted)
        return replace(self.records, cells=cells)

    def measure(self, network: str, regime: str, metric: str) -> FloatArray:
        """Return a metric of every run, in per cent."""
        from shaketable import metrics

        computed: Mapping[str, tuple[str, Callable[[SuiteResult], Estimate]]] = {
            "E_clean": ("mce", measure_clean_error),
            "mCE": ("mce", metrics.mce),
            "mCE_xN": ("mce", metrics.mce_xn),
            "mCE_Lp": ("mce_lp", metrics.mce_lp),
            "iCE": ("ice", metrics.ice),
        }
        suite, compute = computed[metric]
        result = self.results[network, regime][suite]
        return np.array([100 * compute(take_run(result, run)).value for run in self.runs])

    @cached_property
    def _means(self) -> dict[tuple[str, str], FloatArray]:
        return {}

    def average(self, regime: str, metric: str) -> FloatArray:
        """Return the mean of a metric over networks, of every run."""
        if (regime, metric) not in self._means:
            each = [self.measure(network, regime, metric) for network in self.networks]
            self._means[regime, metric] = np.mean(each, axis=0)
        return self._means[regime, metric]

    def compare(self, first: str, second: str, metric: str) -> FloatArray:
        """Return the first regime's mean minus the second's, paired by run."""
        return self.average(first, metric) - self.average(second, metric)


def measure_clean_error(result: SuiteResult) -> Estimate:
    """Return the error on clean points."""
    from shaketable.findings.regimes.numbers import estimate_mean, measure_clean

    found = estimate_mean([measure_clean(result.series[0].on_clean)])
    assert found is not None
    return found


def take_run(result: SuiteResult, run: int) -> SuiteResult:
    """Return one run of a result."""
    return replace(result, series=tuple(s.keep_runs({run}) for s in result.series))


def tabulate_metrics(
    study: Study,
    published: str,
    regimes: Sequence[str],
    *,
    find_place: Callable[[str, str, str], tuple[str, str] | None] = lambda *_: None,
) -> NumberTable:
    """Return all metrics by regime; `find_place` says where a number is printed."""
    printed = load_published(published)
    numbers = []
    for network in study.networks:
        for regime in regimes:
            for metric in METRICS:
                place = find_place(network, regime, metric)
                theirs = None if place is None else printed.get(*place)
                ours = study.measure(network, regime, metric)
                numbers.append(Number(name_row(study, network, regime), ours, theirs, metric))
    return NumberTable("metrics", "Metrics by training", numbers, unit="%", corner="training")


def name_row(study: Study, network: str, regime: str) -> str:
    """Return the name of a row: with the network if it is one of print."""
    short = name_network(network)
    return f"{short} {regime}" if short or len(study.networks) > 1 else regime


def name_network(network: str) -> str:
    """Return how print's rows call a network; empty for others.

    >>> name_network("wrn-28-4"), name_network("resnet9")
    ('wrn', '')
    """
    return _PUBLISHED_NETWORKS.get(network.partition("(")[0], "")


def tabulate_deltas(study: Study, prefix: str | None, regimes: Sequence[str]) -> NumberTable:
    """Return metrics minus those of plain training, paired by run, mean over networks.

    `prefix` is that of the rows of Table 4, or None if nothing is printed.
    """
    printed = load_published("pnorm-table4")
    numbers = [
        Number(
            regime,
            study.compare(regime, STANDARD, metric),
            None if prefix is None else printed.get(f"{prefix}{regime}", metric),
            metric,
        )
        for regime in regimes
        if regime != STANDARD
        for metric in METRICS
    ]
    title = "Minus plain training, paired by run"
    return NumberTable("delta", title, numbers, unit="points", corner="training")


LEADS = (
    ("C2", "l0(0.01)"),
    ("C2", "l0.5(75000)"),
    ("C2", "l2(1)"),
    ("C2", "linf(0.02)"),
    ("AM+C2", "AM"),
)
"""Regimes that are compared with each other."""


def tabulate_leads(study: Study) -> NumberTable:
    """Return metrics of one regime minus those of another, paired by run."""
    numbers = [
        Number(
            f"{first} and {second}",
            study.compare(first, second, metric),
            column=metric,
        )
        for first, second in LEADS
        if {first, second} <= set(study.specs)
        for metric in METRICS
    ]
    title = "The first minus the second, paired by run"
    return NumberTable("lead", title, numbers, unit="points", corner="training")


def tabulate_transfer(study: Study) -> NumberTable:
    """Return the accuracies of Fig. 3 by training norm and test norm, one value per run."""
    from shaketable import metrics
    from shaketable.findings.figures.norms import compute_transfer

    series = metrics.series(study.records)
    found: dict[tuple[str, str], list[float]] = {}
    for run in study.runs:
        for row in compute_transfer([s.keep_runs({run}) for s in series]):
            found.setdefault((row["train"], row["noise"]), []).append(row["value"])
    # a noise under which every model of some run is always wrong has no best one
    found = {place: values for place, values in found.items() if len(values) == len(study.runs)}
    trains = dict.fromkeys(train for train, _ in found)
    numbers = []
    for train in trains:
        own = {noise: np.array(values) for (t, noise), values in found.items() if t == train}
        numbers += [Number(train, values, column=noise) for noise, values in own.items()]
        numbers.append(Number(train, np.mean([*own.values()], axis=0), column="mean"))
    title = "Accuracy relative to the best, by test norm"
    return NumberTable("transfer", title, numbers, unit="%", digits=1, corner="training norm")


def tabulate_pairs(study: Study, pairs: Sequence[tuple[str, str]]) -> NumberTable:
    """Return the changes of both errors along arrows, paired by run."""
    printed = load_published("pnorm-table5")
    numbers = []
    for start, end in pairs:
        for metric in ("E_clean", "mCE"):
            places = ((f"densenet {name}", f"{study.image_set} {metric}") for name in (start, end))
            first, last = (printed.get(*place) for place in places)
            theirs = Printed(last.value - first.value) if first and last else None
            change = study.compare(end, start, metric)
            numbers.append(Number(f"{start} to {end}", change, theirs, metric))
    title = "Changes along arrows; print: DenseNet"
    return NumberTable("arrow", title, numbers, unit="points", corner="arrow")


def follow_arrows() -> NumberTable:
    """Return the changes of both errors on Tiny ImageNet that follow from Table 5."""
    printed = load_published("pnorm-table5")
    numbers = []
    for row in printed.rows:
        start = row.partition("+")[0]
        if start == row:
            continue
        if printed.get(start, "TinyImageNet mCE") is None:
            continue
        for metric in ("E_clean", "mCE"):
            first, last = (printed[name, f"TinyImageNet {metric}"] for name in (start, row))
            name = f"{start} to {row.partition(' ')[2]}"
            numbers.append(Number(name, last.value - first.value, column=metric))
    title = "Arrows on Tiny ImageNet that follow from Table 5"
    return NumberTable("print", title, numbers, unit="points", corner="arrow")


def follow_noise(published: str) -> NumberTable:
    """Return the mean error under the four noises, which follows from mCE and mCE_xN in print."""
    from shaketable.corruptions.common.corruption import NO_NOISE
    from shaketable.corruptions.common.severities import NAMES

    printed = load_published(published)
    every, others = len(NAMES), len(NO_NOISE)
    numbers = []
    for row in printed.rows:
        for column in printed.columns:
            image_set, _, metric = column.rpartition(" ")
            if metric != "mCE":
                continue
            without = printed[row, f"{column}_xN"].value
            total = every * printed[row, column].value - others * without
            numbers.append(Number(row, total / (every - others), column=image_set or "CIFAR-100"))
    title = "Error under the four noises that follows from the printed mCE and mCE_xN"
    return NumberTable("noise", title, numbers, unit="%", digits=1, corner="training")


def follow_slip() -> NumberTable:
    """Return mCE_xN minus mCE_Lp on Tiny ImageNet in print: rows TA, and the least of all others.

    Rows with noise in training have a far lower mCE_Lp, so only those without count.
    """
    printed = load_published("pnorm-table5")
    gaps = {
        row: printed[row, "TinyImageNet mCE_xN"].value - printed[row, "TinyImageNet mCE_Lp"].value
        for row in printed.rows
    }
    slips = [row for row in gaps if row.endswith(" TA")]
    numbers = [Number(row, gaps[row]) for row in slips]
    least = min(gap for row, gap in gaps.items() if row not in slips)
    numbers.append(Number("least of all others", least))
    title = "mCE_xN minus mCE_Lp on Tiny ImageNet, in print"
    return NumberTable("slip", title, numbers, unit="points", corner="training")
