"""Options of `evaluate`, `study` and `rerun`: each is declared here, and nowhere else.

A flag, a key of a study file, a setting that a results file keeps and an argument of the Python
function are the same field.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from shaketable.core.errors import InputError, either
from shaketable.core.options import (
    COMMON,
    GRIDS,
    LIST,
    REPEATED,
    RESULTS,
    RUNNING,
    SEVERAL,
    SOME,
    WHOLE,
    cluster_option,
    contains,
    jobs_option,
    norm_option,
    one_of,
    option,
    output_file,
    parse_epsilons,
    parse_path,
    report_option,
    seed_option,
    store_option,
    switch,
    whole,
)
from shaketable.data.options import DataOptions, bounds_option
from shaketable.models.options import TRAINED, ModelOptions, NetworkOptions, device_option
from shaketable.views.options import PrintOptions

if TYPE_CHECKING:
    from shaketable.corruptions.suites.suite import Suite
    from shaketable.evaluation.noise import Draws
    from shaketable.evaluation.resolve import Corruptions
    from shaketable.evaluation.sequential import StoppingRule

Epsilon: TypeAlias = float | str
Record: TypeAlias = Literal["answers", "hits"]
T = TypeVar("T", bound="MeasureOptions")

_NOISE = "noise"
_STOPPING = "when enough is known"

RUNS = 10
MAX_RUNS = 200
"""Runs of a study: by default, and at most with a stopping rule."""


def parse_copies(text: str) -> tuple[int, ...] | int | str:
    """Parse a whole number, several with commas between them, or ``auto``."""
    if text == "auto":
        return text
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise InputError(f"must be a whole number, several, or auto, got {text!r}")
    numbers = tuple(map(int, words))
    return numbers if len(numbers) > 1 else numbers[0]


def parse_count(text: str) -> int:
    """Parse a whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def parse_precision(text: str) -> tuple[float, str]:
    """Parse half a width in percentage points, and of what.

    >>> parse_precision("0.5 of mscr"), parse_precision("1")
    ((0.5, 'mscr'), (1.0, ''))
    """
    number, of, metric = text.partition(" of ")
    try:
        points = float(number)
    except ValueError as error:
        raise InputError(f"must be POINTS or 'POINTS of METRIC', got {text!r}") from error
    if of and not metric.strip():
        raise InputError(f"must name a metric after of, such as '0.5 of mscr', got {text!r}")
    return points, metric.strip()


def _copies_option(more: str = "") -> Any:
    """Field for the number of noisy copies; `more` says what else it may be."""
    return option(
        f"noisy copies of every point, or several, such as 1,2,5,10, one after the other{more} "
        "(default: 10, or what the suite was published with)",
        read=parse_copies,
        form=LIST,
        group=COMMON,
        example=10,
    )


def _corruptions_option(about: str) -> Any:
    """Field for corruptions by their specs."""
    return option(about, (), form=SEVERAL, metavar="SPEC", group=COMMON, example=["l2(1)"])


@dataclass(frozen=True)
class RequirementOptions:
    """What is required of models, and files for the decisions."""

    require: tuple[str, ...] = option(
        "such as 'accuracy >= 90%%', 'mscr >= -1' or 'difference(new, old).accuracy >= -0.5', in "
        "per cent, or FILE.toml with require = ['mscr >= -1', …]; repeat it. Exit code 1: not met, "
        "3: interval too wide to decide",
        (),
        form=REPEATED,
        metavar="REQUIREMENT|FILE.toml",
        group=RESULTS,
        example=["mscr >= -1"],
    )
    junit: str | None = option(
        "write the decisions as JUnit XML, one test case each",
        read=output_file(".xml"),
        metavar="FILE.xml",
        group=RESULTS,
        kept=False,
        example="study.xml",
    )
    markdown: str | None = option(
        "write the decisions as a Markdown table, for the summary of a pipeline",
        read=output_file(""),
        metavar="FILE",
        group=RESULTS,
        kept=False,
        example="study.md",
    )


@dataclass(frozen=True)
class MeasureOptions(RequirementOptions, PrintOptions):
    """What `evaluate` and `study` have in common."""

    dataset: DataOptions = contains(DataOptions)
    models: ModelOptions = contains(ModelOptions)
    corruptions: Corruptions = _corruptions_option("such as 'l2(1)'")
    suite: tuple[str, ...] = option(
        "named list of corruptions, such as pnorm or 'common-19(published=CIFAR-10-C)', or "
        "package.module:name for your own; see shaketable list suites",
        (),
        form=REPEATED,
        group=COMMON,
        example=["pnorm"],
    )
    grid: tuple[tuple[str, ...], ...] = option(
        "faults that follow one another: the levels of every factor, such as 'sp(0.1), sp(0.2)' "
        "'rotation(30)', in every order, or only as given if 'as given' is added; repeat it for "
        "several grids",
        (),
        form=GRIDS,
        metavar="LEVELS",
        group=_NOISE,
        example=["sp(0.1), sp(0.2)", "rotation(30)"],
    )
    k: int | tuple[int, ...] | Literal["auto"] | None = _copies_option()
    seed: int = seed_option("all random numbers")
    bounds: Any = bounds_option()
    record: Record | None = option(
        "answers: keep what models answered, per point and draw, for confusion, confidence and "
        "other metrics than accuracy, and measure again what a results file holds without them; "
        "hits: how many were right (default: answers, in studies hits)",
        read=one_of("record", ["answers", "hits"]),
        metavar="answers|hits",
        group=RESULTS,
        example="answers",
    )
    precision: tuple[float, str] | None = option(
        "take points at random, or runs of a study, until half the width of every interval is at "
        "most so many percentage points; of one metric, as in '0.5 of mscr' or '1 of "
        "accuracy[linf(0.1)]'. Intervals hold wherever it stops",
        read=parse_precision,
        metavar="POINTS[ of METRIC]",
        group=_STOPPING,
        rivals="stopping",
        write=lambda value: f"{value[0]:g} of {value[1]}" if value[1] else value[0],
        example=0.5,
    )
    stop_early: bool = switch(
        "take them until everything that --require asks for is decided",
        group=_STOPPING,
        rivals="stopping",
    )
    intervals: str = option(
        "own: shaketable's intervals; standard: Clopper-Pearson, Wilson, t and bootstrap (default: "
        "own)",
        "own",
        read=one_of("intervals", ["own", "standard"]),
        metavar="own|standard",
        group=RESULTS,
        kept=False,
    )
    cluster: str | None = cluster_option()
    store: str | Path | None = store_option("what it holds is not measured again")
    report: str | None = report_option("write a page with tables and figures")
    until: StoppingRule | None = field(default=None)
    """The rule that `precision` or `stop_early` stand for, or one that was given in Python."""

    def list_suites(self) -> list[Suite]:
        """Suites and grids that are named."""
        from shaketable.corruptions.suites.suite import suite

        return [*map(suite, self.suite), *map(make_grid, self.grid)]

    def split_copies(self: T) -> list[T]:
        """Return the options once for every number of noisy copies, each with one of them."""
        numbers = self.k if isinstance(self.k, tuple) else (self.k,)
        return [replace(self, k=k) for k in numbers]

    @property
    def copies(self) -> int | Literal["auto"] | None:
        """The number of noisy copies, where `split_copies` left one."""
        assert not isinstance(self.k, tuple)
        return self.k


@dataclass(frozen=True)
class EvaluateOptions(MeasureOptions):
    """Options of `evaluate`: fitted models under corruptions."""

    dataset: DataOptions = contains(
        DataOptions,
        data="file, folder or built-in set; where models are trained and there is no --test, 20 %% "
        "of the points are drawn as test points",
    )
    corruptions: Corruptions = _corruptions_option(
        "such as 'linf(0.1)', or 'package.module:name(…)' for your own (default: what --require "
        "needs, else 'linf(eps_min)', and 'swap(0.1)' 'missing(0.1)' for a table without numbers)",
    )
    k: int | tuple[int, ...] | Literal["auto"] | None = _copies_option(
        ", or auto with --precision or --stop-early: what needs the fewest answers"
    )
    held_out: bool = switch(
        "evaluate only the points that were held out when the models, files of networks (train "
        "-o), were trained on these data; the others are the training part",
        group="data",
    )
    by: tuple[str, ...] = option(
        "report every group of rows by the values of this column, also one that --column says to "
        "drop, as every class; it may be repeated",
        (),
        form=REPEATED,
        metavar="COLUMN",
        group="data",
    )
    model_id: str | None = option(
        "stable ID, so that --store recognises a function", group="models"
    )
    features: tuple[str, ...] | None = option(
        "noise in one column of a table at a time, which shows the most fragile feature (default: "
        "'jitter(0.5)' in numbers and dates, 'swap(0.1)' in text, categories and numbers of few "
        "values)",
        form=SOME,
        metavar="SPEC",
        group=_NOISE,
    )
    draws: Draws | None = option(
        "independent: noise is drawn for every size; ladder: it is drawn once per norm and scaled "
        "(default: ladder in suites, else independent)",
        read=one_of("draws", ["independent", "ladder"]),
        metavar="independent|ladder",
        group=_NOISE,
    )
    device_noise: bool = switch(
        "make noise on the device of torch modules where that is possible: faster for small "
        "networks, but noise of p-norms is then never paired with other models' results",
        group=_NOISE,
    )
    reference: str | None = option(
        "model that others are compared with on the mCV plot, and in accuracy if there are more "
        "than five (default: the only one whose name is clean or ends in (clean), else the first)",
        metavar="MODEL",
        group=RESULTS,
    )
    inputs: int | None = option(
        "show the N points per model and corruption that are wrong most often, clean and "
        "corrupted: images, or rows with changed cells marked; the page then holds them (default: "
        "5)",
        read=parse_count,
        form=WHOLE,
        metavar="N",
        group=RESULTS,
        kept=False,
        alone=5,
    )
    metric: str | None = option(
        "measure that results begin with in place of accuracy, such as balanced_accuracy, f1, "
        "'recall[CLASS]', matthews, auc or log_loss; see shaketable list metrics. Or a metric of "
        "your own, module:function, which gets a table",
        metavar="NAME",
        group=RESULTS,
        kept=False,
    )
    unscale: bool = field(default=False)
    """As in `as_classifier`: models come from files, which take features in their own units."""


@dataclass(frozen=True)
class StudyOptions(MeasureOptions):
    """Options of `study`: training noise against test noise, over many runs."""

    file: str | None = option(
        "flags as a file: train_eps = […] …; init writes a new one",
        metavar="STUDY.toml",
        is_argument=True,
        in_files=False,
    )
    new: str | None = option(
        "with init: file to write (default: study.toml)",
        metavar="FILE",
        is_argument=True,
        in_files=False,
    )
    dry_run: bool = switch(
        "print the number of trainings and cells, and estimates of time and size, and stop",
        group=COMMON,
        in_files=False,
    )
    models: ModelOptions = contains(
        ModelOptions,
        without=("preprocess", "fit", "restrict_classes"),
        model=f"{TRAINED}; repeat it",
    )
    networks: NetworkOptions = contains(NetworkOptions)
    norm: str | float = norm_option("inf")
    train_eps: Iterable[Epsilon] = option(
        "sizes of the train noise, such as 0,0.01,0.5*eps_min (default: 0,eps_min)",
        (0, "eps_min"),
        read=parse_epsilons,
        form=LIST,
        metavar="LIST",
        group=COMMON,
        rivals="training noise",
    )
    train: Iterable[str] | None = option(
        "training noise instead of --train-eps, such as clean, C1 or 'l2(1) | sp(0.1)', for "
        "networks also 'trivialaugment + C1' or 'pgd_at(0.03)'; it may be repeated",
        form=REPEATED,
        metavar="SPEC",
        group=COMMON,
        rivals="training noise",
        example=["clean", "linf(0.1)"],
    )
    test_eps: Iterable[Epsilon] | None = option(
        "sizes of the test noise, such as 0,0.01,0.5*eps_min (default: 0,eps_min)",
        read=parse_epsilons,
        form=LIST,
        metavar="LIST",
        group=COMMON,
    )
    corruptions: Corruptions = _corruptions_option(
        "test noise beside --test-eps, such as 'l2(1)'; without --test-eps instead of it",
    )
    runs: int | None = whole(
        f"how often everything is repeated (default: {RUNS}); with --precision or --stop-early at "
        f"most so often (default: {MAX_RUNS})",
        group=COMMON,
        example=10,
    )
    draws: Draws = option(
        "shared: the same k offsets for all points, only to reproduce the paper",
        "independent",
        metavar="independent|shared",
        group=_NOISE,
    )
    keep_models: str | Path | None = option(
        "folder for all trained models; those that are not there are trained again",
        read=parse_path,
        metavar="DIR",
        group=RUNNING,
        kept=False,
        example="models",
    )
    jobs: int | None = jobs_option()
    group: tuple[str, ...] = option(
        "what models are grouped by in the table of means and differences: their training noise, "
        "their network, or patterns of their names, such as noisy='*(C?)'; repeat it for every "
        "pattern (default: regime)",
        (),
        form=REPEATED,
        metavar="regime|network|NAME=PATTERN",
        group=RESULTS,
    )
    baseline: str | None = option(
        "training regime, or other group, that the others are compared with (default: clean, of "
        "other groups the first)",
        metavar="GROUP",
        group=RESULTS,
    )

    def __post_init__(self) -> None:
        if self.jobs == 0:
            raise InputError(
                f"{either('--jobs', 'n_jobs')} must not be 0; 1 is one process, -1 one for every "
                "core"
            )

    @property
    def most_runs(self) -> int:
        """Number of runs; with a stopping rule the most."""
        return self.runs if self.runs is not None else (RUNS if self.until is None else MAX_RUNS)


@dataclass(frozen=True)
class RerunOptions(PrintOptions):
    """The file, the new one, and which part is made again."""

    results: str = option(
        "results file of study or evaluate", "", metavar="STORE", is_argument=True, required=True
    )
    data: str | None = option(
        "where the data are now (default: where they were)", metavar="DATA", group=COMMON
    )
    out: str | None = option(
        "results file to write, which must not exist (default: none is kept)",
        read=parse_path,
        metavar="FILE",
        group=COMMON,
        flags=("-o", "--out"),
    )
    cells: int | None = whole(
        "make only N cells again, drawn at random; of a study the trainings that they belong to",
        metavar="N",
        group=COMMON,
    )
    show: bool = switch("print how the file was made, as a study file, and stop", group=COMMON)
    trust: bool = switch(
        "import modules that the file names, and load model files that may hold code: it runs",
        group=RUNNING,
    )
    jobs: int | None = jobs_option()
    device: str | None = device_option()


def make_grid(words: tuple[str, ...]) -> Suite:
    """Return the suite of a grid: the levels of every factor, and perhaps ``as given``."""
    from shaketable.core.options import split_specs
    from shaketable.corruptions.suites.grids import grid

    factors = [split_specs(word) for word in words if word != "as given"]
    if len(factors) < 2:
        raise InputError(
            "--grid must have levels of two factors or more, each in quotes, such as 'sp(0.1), "
            f"sp(0.2)' 'rotation(30)', got {len(factors)}; one factor is no grid"
        )
    return grid(*factors, orders="both" if len(factors) == len(words) else "given")
