"""Two faults in sequence: what follows from the printed accuracies of 27 networks (Table III).

Nobody can have the networks, so all this is arithmetic: the printed rows go through the code that
reads tables of scores, and what the paper says of them is compared with what comes out.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from shaketable.corruptions.suites.suite import suite
from shaketable.findings.mcv.finding import ScoreVariation
from shaketable.findings.mcv.variation import Row, Variation
from shaketable.reproductions.claims import Claim, Close, Order, Within
from shaketable.reproductions.numbers import Number, NumberTable
from shaketable.reproductions.published import load_published
from shaketable.reproductions.registry import Asked, Form, Measured, declare
from shaketable.views.blocks import Table

KINDS = {
    "clean": ("clean",),
    "single factor": ("SP0.1", "GA0.1", "RL30", "RR30"),
    "two factors": ("SP0.1GA0.1", "GA0.1SP0.1", "SP0.1RL30", "SP0.1RR30"),
}
"""Training sets by kind."""

_GROUPS = {"I": 1, "II": 2, "III": 3, "IV": 4}
_COLUMNS = {"CV": "cv", "mean": "mean", "clean": "clean", "min": "least", "max": "most"}
"""What columns of Table III are called by `Row`."""


@cache
def read_scores() -> ScoreVariation:
    """Read the printed Table III as a file of scores.

    >>> read_scores().table.groups["AlexNet(RL30)"]
    'II'
    """
    from shaketable.findings.figures.scores import find_variation  # slow to load

    published = load_published("twofactor-table3")
    with TemporaryDirectory() as folder:
        file = Path(folder, "Table III.csv")
        with file.open("w", newline="", encoding="utf-8") as lines:
            writer = csv.writer(lines)
            writer.writerow(["model", *published.columns])
            for row in published.rows:
                texts = (published.numbers[row, column].text for column in published.columns)
                writer.writerow([row, *texts])
        found = find_variation(file)
    assert isinstance(found, ScoreVariation)
    return found


def _split(label: str) -> tuple[str, str]:
    """Return network and training set.

    >>> _split("AlexNet(RL30)")
    ('AlexNet', 'RL30')
    """
    network, _, trained = label.removesuffix(")").partition("(")
    return network, trained


_PAIRS = {"cv-mean": "CV and mean", "cv-clean": "CV and clean", "mean-clean": "mean and clean"}


@declare(
    "twofactor-table2",
    place="Table II",
    about="correlations of CV, mean and clean accuracy over the 27 networks of Table III",
    forms={
        "full": Form(
            about="both coefficients from the printed rows of Table III",
            takes="a second",
            claims=[
                Close("all six follow from Table III as the erratum says", "correlation: *"),
                Within(
                    "none of the six printed ones follows from Table III",
                    "misprint: *",
                    low=0.0005,
                ),
                Within(
                    "mean and clean accuracy depend on each other: both are above .8",
                    "correlation: mean and clean / *",
                    low=0.8,
                ),
                Within(
                    "CV depends on neither strongly: Pearson's is below .5, as print says",
                    "correlation: CV * / Pearson",
                    -0.5,
                    0.5,
                ),
            ],
        ),
    },
    errata=["twofactor-table2", "twofactor-independent"],
)
def measure_correlations(_asked: Asked) -> Measured:
    """Correlate CV, mean and clean accuracy over the rows of Table III."""
    published, numbers, misprints = load_published("twofactor-table2"), [], []
    for name, row in _PAIRS.items():
        found = read_scores().table.correlations[name]
        assert found is not None
        for column, value in (("Spearman", found.spearman), ("Pearson", found.pearson)):
            printed = published[row, column]
            numbers.append(Number(row, value, printed, column=column))
            misprints.append(Number(row, abs(value - float(printed.slip)), column=column))
    return Measured(
        tables=[
            NumberTable("correlation", "Correlation", numbers, digits=3),
            NumberTable("misprint", "Distance from what is printed", misprints, digits=3),
        ],
        figure=read_scores().plot,
    )


def _all_but(network: str, *left_out: str) -> list[str]:
    """Return the networks of one kind that were trained on corrupted images, without some."""
    corrupted = [*KINDS["single factor"], *KINDS["two factors"]]
    return [f"{network}({trained})" for trained in corrupted if trained not in left_out]


def _in_group(text: str, group: str, labels: Sequence[str]) -> Claim:
    number = _GROUPS[group]
    names = ";".join(f"group: {label}" for label in labels)
    return Within(text, names, number - 0.5, number + 0.5)


def _changed(text: str, labels: Sequence[str], *columns: str, up: bool) -> Claim:
    names = ";".join(f"change: {label} / {column}" for label in labels for column in columns)
    return Within(text, names, *((0, math.inf) if up else (-math.inf, 0)))


@declare(
    "twofactor-mcv",
    place="Fig. 5 to 7",
    about="27 networks by mean accuracy and its variation, in four groups",
    forms={
        "full": Form(
            about="Algorithm 1 on the printed rows of Table III, read as a file of scores",
            takes="a second",
            claims=[
                Close("both groups that the text names are right", "group: *"),
                _in_group(
                    "AlexNet: all are in group I but RL30 and RR30",
                    "I",
                    _all_but("AlexNet", "RL30", "RR30"),
                ),
                _in_group(
                    "AlexNet: RL30 and RR30 are in group II",
                    "II",
                    ["AlexNet(RL30)", "AlexNet(RR30)"],
                ),
                _in_group(
                    "ResNet50: all are in group III but RR30 and SP0.1RR30",
                    "III",
                    _all_but("ResNet50", "RR30", "SP0.1RR30"),
                ),
                _in_group(
                    "ResNet50: RR30 and SP0.1RR30 are in group IV",
                    "IV",
                    ["ResNet50(RR30)", "ResNet50(SP0.1RR30)"],
                ),
                _in_group("VGG-19: GA0.1SP0.1 is in group I", "I", ["VGG-19(GA0.1SP0.1)"]),
                _in_group(
                    "VGG-19: all others are in group III", "III", _all_but("VGG-19", "GA0.1SP0.1")
                ),
                _changed(
                    "AlexNet: corrupted training images raise every mean",
                    _all_but("AlexNet"),
                    "mean",
                    up=True,
                ),
                _changed(
                    "AlexNet: they raise every lowest accuracy but those of RL30 and RR30",
                    _all_but("AlexNet", "RL30", "RR30"),
                    "min",
                    up=True,
                ),
                _changed(
                    "AlexNet: RL30 and RR30 lower the lowest accuracy",
                    ["AlexNet(RL30)", "AlexNet(RR30)"],
                    "min",
                    up=False,
                ),
                _changed(
                    "ResNet50: they lower mean, lowest and highest accuracy",
                    _all_but("ResNet50"),
                    "mean",
                    "min",
                    "max",
                    up=False,
                ),
                _changed("VGG-19: they lower every CV", _all_but("VGG-19"), "CV", up=False),
                _changed(
                    "accuracy on clean images falls in all 24 networks", ["*"], "clean", up=False
                ),
                Order(
                    "AlexNet: salt & pepper before RL30 lowers the CV",
                    ["change: AlexNet(SP0.1RL30) / CV", "change: AlexNet(RL30) / CV"],
                ),
                *(
                    Order(
                        f"AlexNet: salt & pepper before RL30 raises the {words} accuracy",
                        [f"change: AlexNet({each}) / {column}" for each in ("RL30", "SP0.1RL30")],
                    )
                    for column, words in (("mean", "mean"), ("min", "lowest"), ("max", "highest"))
                ),
            ],
            deviations=[
                "The figures are not data of the paper, so groups are compared with its text and "
                "with what follows from Table III.",
            ],
        ),
    },
)
def measure_groups(_asked: Asked) -> Measured:
    """Place every network of Table III in a group, against that trained on clean images."""
    found = read_scores()
    table, published = found.table, load_published("twofactor-groups")
    rows = {row.label: row for row in table.rows}
    groups, changes = [], []
    for label, row in rows.items():
        reference = rows[table.references[label]]
        if row is reference:
            continue
        value = float(_GROUPS[table.groups[label]])
        groups.append(Number(label, value, published.get(label, "group")))
        changes += [
            Number(label, _take(row, column) - _take(reference, column), column=column)
            for column in _COLUMNS
        ]
    title = "Group (1 to 4 for I to IV)"
    return Measured(
        tables=[
            NumberTable("group", title, groups, digits=0, corner="network(training set)"),
            NumberTable(
                "change",
                "Change against training on clean images",
                changes,
                unit="percentage points",
                corner="network(training set)",
            ),
        ],
        blocks=[block for block in found.blocks() if isinstance(block, Table)][:1],
        figure=found.plot,
    )


def _take(row: Row, column: str) -> float:
    value = getattr(row, _COLUMNS[column])
    assert value is not None
    return float(value)


ARITHMETIC: Sequence[Claim] = (
    Close("averages of Table III are as printed, or as the errata say", "average: *"),
    Close("the gains of two factors over one are as the errata say", "gain: *"),
    Order(
        "in print, two factors lower the mean CV below one, and one below none",
        ["average: two factors / CV", "average: single factor / CV", "average: clean / CV"],
    ),
    Order(
        "in print, two factors raise the lowest accuracy above both",
        ["average: single factor / min", "average: clean / min", "average: two factors / min"],
    ),
    Within("no printed mean is below its lowest accuracy", "above: * / as printed", low=0),
    Within(
        "had print divided by n - 1, four true means would be below it",
        ";".join(
            f"above: ResNet50({trained}) / had print divided by n - 1"
            for trained in ("GA0.1", "GA0.1SP0.1", "SP0.1", "SP0.1GA0.1")
        ),
        high=0,
    ),
    Close("accuracies are those of sets of 5000 images", "images: *"),
)
"""What follows from the printed rows of Table III."""


def tabulate_print() -> list[NumberTable]:
    """Return what follows from the printed rows of Table III."""
    averages = [*_average_rows()]
    return [
        NumberTable("average", "Averages of Table III", averages, "per cent", digits=3),
        NumberTable("gain", "Two factors over one", [*_compute_gains(averages)], "per cent", 1),
        NumberTable(
            "above",
            "Mean minus lowest accuracy",
            [*_compare_means()],
            unit="percentage points",
            corner="network(training set)",
        ),
        NumberTable("images", "Size of the test sets", [_count_images()], digits=0),
    ]


def _average_rows() -> Iterator[Number]:
    """Average the rows by kind of training set."""
    published, rows = load_published("twofactor-averages"), read_scores().table.rows
    for kind, trained in KINDS.items():
        own = [row for row in rows if _split(row.label)[1] in trained]
        for column in published.columns:
            mean = Variation(kind, {row.label: _take(row, column) for row in own}).mean
            yield Number(kind, mean, published[kind, column], column=column)


def _compute_gains(averages: Sequence[Number]) -> Iterator[Number]:
    published, values = load_published("twofactor-gains"), {n.name: n.value for n in averages}
    for row, column, sign in (
        ("mean CV falls by", "CV", -1),
        ("lowest accuracy rises by", "min", 1),
    ):
        one, two = (values[f"{kind} / {column}"] for kind in ("single factor", "two factors"))
        yield Number(row, sign * 100 * (two - one) / one, published[row, "gain"])


def _compare_means() -> Iterator[Number]:
    """Compare means with lowest accuracies, as printed and had they been divided by n - 1."""
    n = len(suite("two-factor").names)
    for row in read_scores().table.rows:
        yield Number(row.label, row.mean - row.least, column="as printed")
        true = row.mean * (n - 1) / n
        yield Number(row.label, true - row.least, column="had print divided by n - 1")


def _count_images() -> Number:
    """Return the least number of images of which all printed accuracies are shares."""
    rows = read_scores().table.rows
    scores = [_take(row, column) for row in rows for column in ("clean", "min", "max")]
    hundredths = [round(100 * score) for score in scores]
    name = "images of a test set"
    printed = load_published("twofactor-sets")[name, "number"]
    return Number(name, 10_000 // math.gcd(*hundredths), printed)
