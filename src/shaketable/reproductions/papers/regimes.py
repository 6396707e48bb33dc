"""Networks on images: training with noise and augmentations, five metrics, and what follows.

All tables and figures but the learning curves read one study per form, of regimes as print names
them: ``Standard``, ``l2(1)``, ``C1``, ``AM+C2``. `regime_tables` makes their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from shaketable.reproductions.claims import Claim, Close, Order, Within
from shaketable.reproductions.numbers import Number, NumberTable
from shaketable.reproductions.papers.images import TrainingPlan, load_images, name_set
from shaketable.reproductions.papers.pieces import run_pieces
from shaketable.reproductions.papers.regime_tables import (
    ADDED,
    Study,
    follow_arrows,
    follow_noise,
    follow_slip,
    name_network,
    spell,
    tabulate_deltas,
    tabulate_leads,
    tabulate_metrics,
    tabulate_pairs,
    tabulate_transfer,
)
from shaketable.reproductions.published import load_published
from shaketable.reproductions.registry import Asked, Form, FormName, Measured, declare

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
    from shaketable.views.drawing import Chart

STANDARD = "Standard"
SETS = ("C1", "C2", "C3")
"""Sets of p-norm noise."""


@dataclass(frozen=True, kw_only=True)
class RegimePlan:
    """Networks and regimes of a study."""

    training: Sequence[TrainingPlan]
    """One per network."""
    regimes: Sequence[str] = ()
    """Beside the single norms and sets of Table 4."""
    all_singles: bool = False
    """Whether both sizes of every norm are trained with, as in Table 3."""

    def list_regimes(self, image_set: str) -> list[str]:
        """Return all regimes for an image set; single norms of Tiny ImageNet have own sizes."""
        prefix = "TIN " if image_set == "TinyImageNet" else "CIFAR "
        rows = load_published("pnorm-table4").rows
        named = [row.removeprefix(prefix) for row in rows if row.startswith(prefix)]
        if self.all_singles and prefix == "CIFAR ":
            named = load_published("pnorm-table3").rows
        return [*dict.fromkeys([STANDARD, *named, *self.regimes])]


_SMALL_NETWORK = TrainingPlan(
    recipe="fast",
    network="resnet9(width=4)",
    epochs=3,
    batch=64,
    rate=0.15,
    training_images=10_000,
    test_images=250,
    runs=5,
)
_RESNET = TrainingPlan(recipe="fast", epochs=10, test_images=5_000, runs=5)
_PUBLISHED = [
    TrainingPlan(recipe=f"pnorm-{name}", runs=1) for name in ("wrn", "densenet", "resnext")
]
_WITH_SETS = [f"{first}+{second}" for first in ("MU", "AM", "TA") for second in SETS]

PLANS: Mapping[FormName, RegimePlan] = {
    "fast": RegimePlan(training=[_SMALL_NETWORK], regimes=["AM", "AM+C2", "TA"]),
    "gpu": RegimePlan(
        training=[_RESNET],
        regimes=["RA", "MU", "AM", "TA", "MU+C1", "AM+C2", "TA+C1"],
        all_singles=True,
    ),
    "full": RegimePlan(
        training=_PUBLISHED, regimes=["RA", "MU", "AM", "TA", *_WITH_SETS], all_singles=True
    ),
}

RECIPE_ROWS = ("RA", "AM+C2", "TA")
"""Rows of Table 5 that are trained by the full recipe on one GPU."""
RECIPE_PLAN = TrainingPlan(recipe="pnorm-wrn", runs=3)

CURVES = (STANDARD, "C1", "TA", "TA+C1")
"""Regimes of Fig. 6."""
CURVE_PLANS: Mapping[FormName, TrainingPlan] = {
    "fast": replace(_SMALL_NETWORK, epochs=5, training_images=5_000, test_images=1_000),
    "gpu": TrainingPlan(recipe="fast", epochs=30, runs=5),
    "full": TrainingPlan(recipe="pnorm-wrn", runs=1),
}

_CIFAR = "CIFAR-10 or CIFAR-100 by --data, such as an .npz with x_train, y_train, x_test, y_test"
_TINY = f"{_CIFAR}, or a folder of Tiny ImageNet"
_SHARED = "the study that all names of this paper share"
_FAST_ABOUT = f"ResNet-9 of width 4, 3 epochs of 10 000 images, 11 regimes, 5 runs: {_SHARED}"
_GPU_ABOUT = f"ResNet-9, 10 epochs, 23 regimes, 5 runs: {_SHARED}"
_FULL_ABOUT = f"WRN-28-4, DenseNet-201-12 and ResNeXt-29-32x4d, 150 epochs, 29 regimes: {_SHARED}"
_FAST_TAKES = "8 minutes on two cores; seconds after another name of this paper"
_GPU_TAKES = "25 minutes on an H200, in pieces; seconds after another name of this paper"
_FULL_TAKES = "two days on an H200, in pieces of ten minutes"
_SMALL = (
    "The network is small, and sees 10 000 images three times: more than half of its answers are "
    "wrong, in print 5 % on CIFAR-10. So signs and orders are claimed, and no values.",
    "Networks are tested on 250 images, the same in every run.",
    "So small a network loses more clean accuracy by noise and augmentation than it gains under "
    "corruptions, but for p-norm noise. So what corruptions add to the clean error is claimed, not "
    "mCE itself.",
)
_SHORT = (
    "ResNet-9 and 10 epochs in place of three networks and 150 epochs: augmentations cost clean "
    "accuracy that they gain in print, and noise harms plain training less, so that differences "
    "are smaller. Signs and orders are claimed, and few values.",
)
_OWN_NOISE = "Every image has its own noise; in print eight share one draw of magnitudes."
_ONE_SET = (
    "Print averages over three networks and both CIFAR sets. Ours is of the data that are given: "
    "one set, {networks}."
)
_OTHER_NETWORK = "Print has DenseNet-201-12 on CIFAR-100. Beside it stands ours of the same data."


def measure_study(asked: Asked) -> tuple[Study | None, str, dict[str, Any]]:
    """Train with all regimes, as far as time allows; names of this paper share the study."""
    plan = PLANS[asked.form]
    whole = load_images(asked, "CIFAR-10")
    regimes = plan.list_regimes(name_set(whole))
    return carry_out(asked, whole, plan.training, regimes, f"pnorm-regimes-{asked.form}")


def carry_out(
    asked: Asked,
    whole: Dataset,
    plans: Sequence[TrainingPlan],
    regimes: Sequence[str],
    name: str,
) -> tuple[Study | None, str, dict[str, Any]]:
    """Train networks with regimes and evaluate them under the three suites of the paper."""
    import shaketable as st

    data, runs = plans[0].take_images(whole), plans[0].count_runs(asked)
    networks = [plan.make_network(asked) for plan in plans]
    named = [networks[0].name_noise(spell(regime), data, data.bounds) for regime in regimes]
    trained = dict(zip(regimes, named, strict=True))
    tiny = "tiny" if data.shape[0] == 64 else "cifar"
    suites = [st.suite(suite) for suite in ("common-19", f"pnorm-{tiny}", f"ice-{tiny}")]
    records, left = run_pieces(
        asked.share(name),
        networks,
        data,
        runs=runs,
        options={"train": [*trained.values()], "corruptions": suites},
    )
    settings = plans[0].describe(networks[0], data, runs)
    settings["Network"] = "; ".join(
        plan.describe(network, data, runs)["Network"]
        for plan, network in zip(plans, networks, strict=True)
    )
    settings["Regimes"] = ", ".join(
        name if spec == name else f"{name} = {spec}" for name, spec in trained.items()
    )
    if not len(records):
        return None, left, settings
    return Study(records, trained, name_set(whole)), left, settings


def _name_all(metric: str, regimes: Sequence[str], table: str = "delta") -> str:
    return "; ".join(f"{table}: {regime} / {metric}" for regime in regimes)


def _fall(text: str, metric: str, regimes: Sequence[str], table: str = "delta") -> Claim:
    return Within(text, _name_all(metric, regimes, table), high=0)


_NOISE_IN_RANGE = Within(
    "the errors under the four noises that follow from print lie between 0 and 100 %",
    "noise: *",
    low=0,
    high=100,
)
_SINGLES = ("l0(0.01)", "l0.5(75000)", "l2(1)", "linf(0.02)")
"""Single norms of Table 4 on CIFAR."""

_SMALL_GAINS: list[Claim] = [
    _fall("C1, C2 and C3 lower mCE_Lp", "mCE_Lp", SETS),
    _fall("C1, C2 and C3 lower what p-norm noise adds to the clean error", f"mCE_Lp{ADDED}", SETS),
    _fall(
        "C1, C2 and C3 lower what the 19 corruptions add to the clean error", f"mCE{ADDED}", SETS
    ),
    _fall(
        "C2 leaves p-norm noise less to add than L0.5, L2 or L-inf alone",
        f"mCE_Lp{ADDED}",
        [f"C2 and {single}" for single in _SINGLES[1:]],
        "lead",
    ),
    Within("C1 and C2 cost clean accuracy", _name_all("E_clean", SETS[:2]), low=0),
]
_GAINS: list[Claim] = [
    _fall("C1, C2 and C3 lower mCE_Lp", "mCE_Lp", SETS),
    _fall("C1, C2 and C3 lower mCE", "mCE", SETS),
    _fall(
        "C2 lowers mCE_Lp more than noise of L0.5, L2 or L-inf alone",
        "mCE_Lp",
        [f"C2 and {single}" for single in _SINGLES[1:]],
        "lead",
    ),
]
_LONGER: list[Claim] = [
    *_GAINS,
    _fall("C1, C2 and C3 lower mCE_xN", "mCE_xN", SETS),
    _fall("noise of every single norm lowers mCE_Lp", "mCE_Lp", _SINGLES),
    Within("C1 and C2 cost clean accuracy", _name_all("E_clean", SETS[:2]), low=0),
]


def _state_table(
    name: str, about: str, errata: Sequence[str], claims: Mapping[FormName, Sequence[Claim]]
) -> dict[str, Any]:
    """Return what is declared of a name, of which each form has own claims."""
    deviations: Mapping[FormName, list[str]] = {
        "fast": [*_SMALL, _OWN_NOISE],
        "gpu": [*_SHORT, _OWN_NOISE],
        "full": [_OWN_NOISE],
    }
    texts: Mapping[FormName, tuple[str, str, str]] = {
        "fast": (_FAST_ABOUT, _FAST_TAKES, _CIFAR),
        "gpu": (_GPU_ABOUT, _GPU_TAKES, f"{_CIFAR}; a GPU"),
        "full": (_FULL_ABOUT, _FULL_TAKES, f"{_TINY}; a GPU"),
    }
    forms: dict[FormName, Form] = {}
    for form, own in claims.items():
        what, takes, needs = texts[form]
        extra = list(deviations[form])
        if name == "pnorm-table4":
            networks = "the mean of the three" if form == "full" else "one network"
            extra.append(_ONE_SET.format(networks=networks))
        if name == "pnorm-table3":
            extra.append(_OTHER_NETWORK)
        forms[form] = Form(about=what, takes=takes, needs=needs, claims=own, deviations=extra)
    return {"about": about, "forms": forms, "errata": errata}


def _finish(
    study: Study | None,
    left: str,
    settings: Mapping[str, Any],
    exact: Sequence[NumberTable],
    tables: Sequence[NumberTable] = (),
    **more: Any,
) -> Measured:
    """Return what was measured; on other images than those of CIFAR, nothing is claimed of it."""
    keys = {table.key for table in exact}
    claims: list[Claim] | None = None
    if study is not None and not study.image_set.startswith("CIFAR"):
        claims = [claim for claim in _EXACT if claim.numbers.partition(":")[0] in keys]
    return Measured(
        tables=[*tables, *exact],
        settings=settings,
        unfinished=left,
        claims=claims,
        notes=[] if study is None else study.notes,
        **more,
    )


_SAME_ROW = Close("the standard network of Table 3 is that of Table 5", "same: *", tolerance=0.05)
_SLIP = Within(
    "three values of mCE_Lp on Tiny ImageNet nearly repeat the mCE_xN beside them",
    "slip: densenet TA; slip: wrn TA; slip: resnext TA",
    low=-0.05,
    high=0.05,
)
_NO_SLIP = Within(
    "no other network has such an mCE_Lp: all others are at least 15 points below",
    "slip: least of all others",
    low=15,
)
_ARROWS = Within(
    "in print, p-norm noise after TrivialAugment lowers both errors on Tiny ImageNet",
    "print: densenet TA to *; print: resnext TA to *",
    high=0,
)
_EXACT: list[Any] = [_NOISE_IN_RANGE, _SAME_ROW, _SLIP, _NO_SLIP, _ARROWS]


@declare(
    "pnorm-table3",
    place="Table 3",
    **_state_table(
        "pnorm-table3",
        "five metrics of networks trained with single p-norms and with sets of them",
        ["pnorm-ice-brackets", "pnorm-shared-pattern"],
        {
            "fast": [_NOISE_IN_RANGE, _SAME_ROW, *_SMALL_GAINS],
            "gpu": [
                _NOISE_IN_RANGE,
                _SAME_ROW,
                *_LONGER,
                Within(
                    "imperceptible noise harms plain training", "metrics: Standard / iCE", low=0
                ),
            ],
            "full": [
                _NOISE_IN_RANGE,
                _SAME_ROW,
                *_LONGER,
                Close("clean errors are within 2.5 points of print", "metrics: * / E_clean", 2.5),
                Close("all mCE are within 5 points of print", "metrics: * / mCE*", 5),
            ],
        },
    ),
)
def measure_table3(asked: Asked) -> Measured:
    """Measure the metrics of Table 3."""
    study, left, settings = measure_study(asked)
    exact = [follow_noise("pnorm-table3"), _repeat_standard()]
    if study is None:
        return _finish(study, left, settings, exact)
    of_print = study.image_set == "CIFAR-100"

    def find_place(network: str, regime: str, metric: str) -> tuple[str, str] | None:
        same = of_print and name_network(network) in ("densenet", "")
        return (regime, metric) if same else None

    tables = [
        tabulate_metrics(study, "pnorm-table3", study.norms, find_place=find_place),
        tabulate_deltas(study, None, regimes=study.norms),
        tabulate_leads(study),
    ]
    return _finish(study, left, settings, exact, tables)


def _repeat_standard() -> NumberTable:
    """Compare the row of the standard network, which is printed twice."""
    first, second = load_published("pnorm-table3"), load_published("pnorm-table5")
    numbers = [
        Number(metric, first[STANDARD, metric].value,
               second[f"densenet {STANDARD}", f"CIFAR-100 {metric}"])
        for metric in first.columns
    ]  # fmt: skip
    return NumberTable("same", "Table 3 beside Table 5, row Standard", numbers, unit="%")


@declare(
    "pnorm-table4",
    place="Table 4",
    **_state_table(
        "pnorm-table4",
        "what training with p-norm noise changes, against plain training",
        ["pnorm-shared-pattern"],
        {
            "fast": [*_SMALL_GAINS],
            "gpu": [
                *_LONGER,
                Close(
                    "C1, C2 and C3 change mCE_xN and E_clean as in print, to 2.5 points",
                    _name_all("mCE_xN", SETS) + "; " + _name_all("E_clean", SETS),
                    tolerance=2.5,
                ),
            ],
            "full": [
                *_LONGER,
                Close(
                    "C1, C2 and C3 change E_clean, mCE and mCE_xN as in print, to 5 points",
                    "; ".join(_name_all(m, SETS) for m in ("E_clean", "mCE", "mCE_xN")),
                    tolerance=5,
                ),
            ],
        },
    ),
)
def measure_table4(asked: Asked) -> Measured:
    """Measure the differences of Table 4."""
    study, left, settings = measure_study(asked)
    if study is None:
        return _finish(study, left, settings, [])
    prefix = "TIN " if study.image_set == "TinyImageNet" else "CIFAR "
    table = tabulate_deltas(study, prefix, regimes=study.norms)
    return _finish(study, left, settings, [], [table, tabulate_leads(study)])


_SMALL_AUGMIX: list[Claim] = [
    _fall(
        "AugMix and TrivialAugment lower what corruptions other than noise add to the clean error",
        f"mCE_xN{ADDED}",
        ["AM", "TA"],
    ),
    _fall(
        "C2 after AugMix lowers what p-norm noise adds to the clean error",
        f"mCE_Lp{ADDED}",
        ["AM+C2 and AM"],
        "lead",
    ),
]
_AUGMIX: list[Claim] = [
    _fall("AugMix lowers mCE", "mCE", ["AM"]),
    _fall("AugMix lowers mCE_xN", "mCE_xN", ["AM"]),
    _fall("AugMix + C2 has a lower mCE_Lp than AugMix", "mCE_Lp", ["AM+C2 and AM"], "lead"),
]
_RECIPE_CLAIMS: list[Claim] = [
    Close("E_clean is within a point of print", "metrics: wrn * / E_clean", 1.0),
    Close("mCE is within 3 points of print", "metrics: wrn * / mCE", 3.0),
    Close("mCE_xN is within 3 points of print", "metrics: wrn * / mCE_xN", 3.0),
    Close("mCE_Lp is within 3 points of print", "metrics: wrn * / mCE_Lp", 3.0),
    Close("iCE is within 6 points of print", "metrics: wrn * / iCE", 6.0),
    Order(
        "mCE_Lp falls from RandAugment to TrivialAugment to AugMix + C2",
        [f"metrics: wrn {row} / mCE_Lp" for row in ("AM+C2", "TA", "RA")],
    ),
    Order(
        "mCE falls from RandAugment to TrivialAugment to AugMix + C2",
        [f"metrics: wrn {row} / mCE" for row in ("AM+C2", "TA", "RA")],
    ),
]
_FROM_PRINT = [_NOISE_IN_RANGE, _SLIP, _NO_SLIP]
_TABLE5 = _state_table(
    "pnorm-table5",
    "five metrics of networks trained with augmentations, and with p-norm noise after them",
    ["pnorm-table5", "pnorm-augmentations", "pnorm-ice-brackets", "pnorm-shared-pattern"],
    {
        "fast": [*_FROM_PRINT, *_SMALL_AUGMIX],
        "full": [*_FROM_PRINT, *_AUGMIX, *_RECIPE_CLAIMS],
    },
)
_TABLE5["forms"]["gpu"] = Form(
    about="WRN-28-4 by the full recipe of 150 epochs, rows RA, AM+C2 and TA of print, 3 runs",
    takes="50 minutes on an H200, in pieces of ten minutes (4.5 minutes a training)",
    needs=f"{_TINY}; a GPU",
    claims=[*_FROM_PRINT, *_RECIPE_CLAIMS],
    deviations=[
        _OWN_NOISE,
        "Print has one training of every row; ours are three, with intervals over them.",
    ],
)


@declare("pnorm-table5", place="Table 5", **_TABLE5)
def measure_table5(asked: Asked) -> Measured:
    """Measure the metrics of Table 5; on one GPU, three rows by the full recipe."""
    if asked.form == "gpu":
        whole = load_images(asked, "CIFAR-10")
        found = carry_out(asked, whole, [RECIPE_PLAN], RECIPE_ROWS, "pnorm-recipe-gpu")
    else:
        found = measure_study(asked)
    study, left, settings = found
    exact = [follow_noise("pnorm-table5"), follow_slip()]
    if study is None:
        return _finish(study, left, settings, exact)
    image_set = study.image_set

    def find_place(network: str, regime: str, metric: str) -> tuple[str, str]:
        return f"{name_network(network)} {regime}", f"{image_set} {metric}"

    tables = [tabulate_metrics(study, "pnorm-table5", study.augmented, find_place=find_place)]
    if STANDARD in study.specs:
        tables += [tabulate_deltas(study, None, regimes=study.augmented), tabulate_leads(study)]
    return _finish(study, left, settings, exact, tables)


@declare(
    "pnorm-fig3",
    place="Fig. 3",
    **_state_table(
        "pnorm-fig3",
        "how robustness against noise of one norm transfers to others",
        ["pnorm-shared-pattern"],
        {
            form: [
                *(
                    Order(
                        f"against L0 noise, training with L0 is better than with {other}",
                        [f"transfer: {other} / L0", "transfer: L0 / L0"],
                    )
                    for other in ("L2", "L-inf")
                ),
                Order(
                    "training with L0.5 is better than with L-inf, over all tests",
                    ["transfer: L-inf / mean", "transfer: L0.5 / mean"],
                ),
            ]
            for form in ("fast", "gpu", "full")
        },
    ),
)
def measure_transfer(asked: Asked) -> Measured:
    """Measure the accuracies of Fig. 3."""
    from shaketable.findings.figures.norms import draw_transfer

    study, left, settings = measure_study(asked)
    if study is None:
        return _finish(study, left, settings, [])
    return _finish(
        study,
        left,
        settings,
        [],
        [tabulate_transfer(study)],
        figure=lambda: draw_transfer(study.records),
    )


PAIRS = ((STANDARD, "C1"), (STANDARD, "C2"), ("AM", "AM+C2"), ("TA", "TA+C1"))
"""Arrows of Fig. 4, as far as a form trains both ends."""


@declare(
    "pnorm-fig4",
    place="Fig. 4",
    **_state_table(
        "pnorm-fig4",
        "clean error against mCE, with arrows to networks that are also trained with noise",
        ["pnorm-shared-pattern"],
        {
            form: [
                _ARROWS,
                Within(
                    f"every arrow lowers {what}",
                    "; ".join(f"arrow: {start} to {end} / {metric}" for start, end in pairs),
                    high=0,
                ),
            ]
            for form, metric, what, pairs in (
                ("fast", f"mCE{ADDED}", "what corruptions add to the clean error", PAIRS[:3]),
                ("gpu", "mCE", "mCE", PAIRS),
                ("full", "mCE", "mCE", PAIRS),
            )
        },
    ),
)  # fmt: skip
def measure_errors(asked: Asked) -> Measured:
    """Measure the arrows of Fig. 4."""
    study, left, settings = measure_study(asked)
    exact = [follow_arrows()]
    if study is None:
        return _finish(study, left, settings, exact)
    pairs = [pair for pair in PAIRS if set(pair) <= set(study.specs)]
    return _finish(
        study,
        left,
        settings,
        exact,
        [tabulate_pairs(study, pairs)],
        figure=lambda: _draw_arrows(study, pairs),
    )


def _draw_arrows(study: Study, pairs: Sequence[tuple[str, str]]) -> Chart:
    from shaketable.findings.figures.models import draw_errors

    chosen = {regime for pair in pairs for regime in pair}
    records = study.choose([regime for regime in study.specs if regime in chosen])
    return draw_errors(records, metric="mce")


_FLATTER: list[Claim] = [
    Order(
        "the curve of TrivialAugment ends lowest on training points, that of plain training "
        "highest, and that of C1 between them",
        [f"last: {regime} / training" for regime in ("TA", "C1", STANDARD)],
    ),
    Order(
        "C1 after TrivialAugment makes its curve flatter still",
        ["last: TA+C1 / training", "last: TA / training"],
    ),
    Within(
        "TrivialAugment regularises: training points are right less often than with plain "
        "training, held-out points no less than 15 points less",
        "loss: TA / held out",
        high=15,
    ),
]


@declare(
    "pnorm-fig6",
    place="Fig. 6",
    about="learning curves: what augmentation and noise do to the training",
    forms={
        "fast": Form(
            about="ResNet-9 of width 4, 5 epochs of 5 000 images, 4 regimes, 5 runs",
            takes="2 minutes on two cores",
            needs=_CIFAR,
            claims=_FLATTER[:2],
            deviations=[
                "The network is small and sees 5 000 images five times, in print all of them 150 "
                "times. So only the order on training points is claimed.",
                _OWN_NOISE,
            ],
        ),
        "gpu": Form(
            about="ResNet-9, 30 epochs, 4 regimes, 5 runs",
            takes="6 minutes on an H200",
            needs=f"{_CIFAR}; a GPU",
            claims=_FLATTER,
            deviations=["ResNet-9 and 30 epochs in place of 150.", _OWN_NOISE],
        ),
        "full": Form(
            about="WRN-28-4 by the full recipe of 150 epochs, 4 regimes, one run as in print",
            takes="20 minutes on an H200, in pieces of ten minutes",
            needs=f"{_CIFAR}; a GPU",
            claims=[],
            deviations=[
                "One run shows no spread, so nothing is claimed; --runs 3 shows more.",
                _OWN_NOISE,
            ],
        ),
    },
    errata=["pnorm-shared-pattern"],
)
def measure_curves(asked: Asked) -> Measured:
    """Measure the learning curves of Fig. 6."""
    from shaketable.findings.figures.learning import draw_learning

    plan = CURVE_PLANS[asked.form]
    data, runs = plan.take_images(load_images(asked, "CIFAR-10")), plan.count_runs(asked)
    network = plan.make_network(asked, validate=True)
    names = {network.name_noise(spell(each), data, data.bounds): each for each in CURVES}
    own = asked.share(f"pnorm-curves-{asked.form}")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) if own.store is None else own.store.with_suffix(".networks")
        _, left = run_pieces(
            own,
            network,
            data,
            runs=runs,
            options={
                "train": [*names],
                "corruptions": ["clean"],
                "keep_models": folder,
            },
        )
        trained = load_networks(folder) if not left else []
    settings = plan.describe(network, data, runs)
    if not trained:
        return Measured(tables=[], settings=settings, unfinished=left)
    return Measured(
        tables=tabulate_curves(trained, names),
        figure=lambda: draw_learning(*trained),
        settings=settings,
        unfinished=left,
    )


def load_networks(folder: Path) -> list[Any]:
    """Return the networks of a folder, with their curves."""
    from shaketable.models.networks.files import load_network

    return [load_network(path) for path in sorted(folder.glob("*.pt"))]


def tabulate_curves(trained: Sequence[Any], names: Mapping[str, str]) -> list[NumberTable]:
    """Return accuracies of the last epoch, one value per training; `names` are regimes by spec."""
    ends: dict[str, list[tuple[float, float]]] = {regime: [] for regime in CURVES}
    for network in trained:
        last = network.info["curve"][-1]
        regime = names[network.info["noise"]]
        ends[regime].append((100 * last["accuracy"], 100 * last["held_out"]))
    values = {regime: np.array(found) for regime, found in ends.items()}
    last_ones = [
        Number(regime, found[:, column], column=part)
        for regime, found in values.items()
        for column, part in enumerate(("training", "held out"))
    ]
    plain = values[STANDARD]
    loss = [
        Number(regime, plain[:, column] - found[:, column], column=part)
        for regime, found in values.items()
        if regime != STANDARD
        for column, part in enumerate(("training", "held out"))
    ]
    return [
        NumberTable("last", "Accuracy in the last epoch", last_ones, unit="%", corner="regime"),
        NumberTable(
            "loss", "Plain training minus the regime", loss, unit="points", corner="regime"
        ),
    ]
