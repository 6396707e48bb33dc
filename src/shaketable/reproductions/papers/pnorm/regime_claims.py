"""What must hold of networks that are trained with regimes, and what differs from the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shaketable.reproductions.claims import Claim, Close, Order, Within
from shaketable.reproductions.papers.pnorm.regime_tables import STANDARD
from shaketable.reproductions.registry import Form, FormName

SETS = ("C1", "C2", "C3")
"""Sets of p-norm noise."""

CIFAR = "CIFAR-10 or -100 by --data; torch"
TINY = "CIFAR or Tiny ImageNet by --data; torch"
SHARED = "the study that all names of this paper share"
FAST_ABOUT = f"ResNet-9 of width 4, 6 epochs of 20 000 images, 11 regimes, 5 runs: {SHARED}"
GPU_ABOUT = f"ResNet-9, 10 epochs, 23 regimes, 5 runs: {SHARED}"
FULL_ABOUT = f"WRN-28-4, DenseNet-201-12 and ResNeXt-29-32x4d, 150 epochs, 29 regimes: {SHARED}"
FAST_TAKES = "20 minutes on two cores; seconds after another of them"
GPU_TAKES = "25 minutes on an H200, in pieces; seconds after another of them"
FULL_TAKES = "a day or more on an H200, in pieces"
SMALL = (
    "The network is small, and sees 20 000 images six times: a third of its answers are wrong, in "
    "print 5 % on CIFAR-10. So signs and orders are claimed, and no values.",
    "Networks are tested on 500 images, the same in every run: intervals are over trainings, for "
    "these images.",
)
SHORT = (
    "ResNet-9 and 10 epochs in place of three networks and 150 epochs: augmentations cost clean "
    "accuracy that they gain in print, and noise harms plain training less, so that differences "
    "are smaller. Signs and orders are claimed, and few values.",
)
OWN_NOISE = "Every image has its own noise; in print eight share one draw of magnitudes."
ONE_RUN = (
    "One training of every regime, as in print, shows no spread: what is claimed of networks is "
    "inconclusive; --runs 5 decides."
)
ONE_SET = (
    "Print averages over three networks and both CIFAR sets. Ours is of the data that are given: "
    "one set, {networks}."
)
OTHER_NETWORK = "Print has DenseNet-201-12 on CIFAR-100. Beside it stands ours of the same data."


def name_all(metric: str, regimes: Sequence[str], table: str = "delta") -> str:
    """Return the names of a metric's numbers."""
    return "; ".join(f"{table}: {regime} / {metric}" for regime in regimes)


def claim_fall(text: str, metric: str, regimes: Sequence[str], table: str = "delta") -> Claim:
    """Return the claim that numbers are below 0."""
    return Within(text, name_all(metric, regimes, table), high=0)


NOISE_IN_RANGE = Within(
    "the errors under the four noises that follow from print lie between 0 and 100 %",
    "noise: *",
    low=0,
    high=100,
)
SINGLES = ("l0(0.01)", "l0.5(75000)", "l2(1)", "linf(0.02)")
"""Single norms of Table 4 on CIFAR."""

GAINS: list[Claim] = [
    claim_fall("C1, C2 and C3 lower mCE_Lp", "mCE_Lp", SETS),
    claim_fall("C1, C2 and C3 lower mCE", "mCE", SETS),
    claim_fall("C1, C2 and C3 lower mCE_xN", "mCE_xN", SETS),
    claim_fall(
        "C2 lowers mCE_Lp more than noise of L0.5, L2 or L-inf alone",
        "mCE_Lp",
        [f"C2 and {single}" for single in SINGLES[1:]],
        "lead",
    ),
    claim_fall("noise of every single norm lowers mCE_Lp", "mCE_Lp", SINGLES),
    Within("C1 and C2 cost clean accuracy", name_all("E_clean", SETS[:2]), low=0),
]


def state(
    name: str, about: str, errata: Sequence[str], claims: Mapping[FormName, Sequence[Claim]]
) -> dict[str, Any]:
    """Return what is declared of a name, of which each form has own claims."""
    deviations: Mapping[FormName, list[str]] = {
        "fast": [*SMALL, OWN_NOISE],
        "gpu": [*SHORT, OWN_NOISE],
        "full": [OWN_NOISE, ONE_RUN],
    }
    texts: Mapping[FormName, tuple[str, str, str]] = {
        "fast": (FAST_ABOUT, FAST_TAKES, CIFAR),
        "gpu": (GPU_ABOUT, GPU_TAKES, f"{CIFAR}; a GPU"),
        "full": (FULL_ABOUT, FULL_TAKES, f"{TINY}; a GPU"),
    }
    forms: dict[FormName, Form] = {}
    for form, own in claims.items():
        what, takes, needs = texts[form]
        extra = list(deviations[form])
        if name == "pnorm-table4":
            networks = "the mean of the three" if form == "full" else "one network"
            extra.append(ONE_SET.format(networks=networks))
        if name == "pnorm-table3":
            extra.append(OTHER_NETWORK)
        forms[form] = Form(about=what, takes=takes, needs=needs, claims=own, deviations=extra)
    return {"about": about, "forms": forms, "errata": errata}


SAME_ROW = Close("the standard network of Table 3 is that of Table 5", "same: *", tolerance=0.05)
SLIP = Within(
    "three values of mCE_Lp on Tiny ImageNet nearly repeat the mCE_xN beside them",
    "slip: densenet TA; slip: wrn TA; slip: resnext TA",
    low=-0.05,
    high=0.05,
)
NO_SLIP = Within(
    "no other network has such an mCE_Lp: all others are at least 15 points below",
    "slip: least of all others",
    low=15,
)
ARROWS = Within(
    "in print, p-norm noise after TrivialAugment lowers both errors on Tiny ImageNet",
    "print: densenet TA to *; print: resnext TA to *",
    high=0,
)
EXACT: list[Any] = [NOISE_IN_RANGE, SAME_ROW, SLIP, NO_SLIP, ARROWS]


AUGMIX: list[Claim] = [
    claim_fall("AugMix lowers mCE", "mCE", ["AM"]),
    claim_fall("AugMix lowers mCE_xN", "mCE_xN", ["AM"]),
    claim_fall("AugMix + C2 has a lower mCE_Lp than AugMix", "mCE_Lp", ["AM+C2 and AM"], "lead"),
]
RECIPE_CLAIMS: list[Claim] = [
    Close("E_clean is within a point of print", "metrics: wrn * / E_clean", 1.0),
    Close("mCE is within 3 points of print", "metrics: wrn * / mCE", 3.0),
    Close("mCE_xN is within 3 points of print", "metrics: wrn * / mCE_xN", 3.0),
    Close("mCE_Lp is within 3 points of print", "metrics: wrn * / mCE_Lp", 3.0),
    Close("iCE is within 3 points of print", "metrics: wrn * / iCE", 3.0),
    Order(
        "mCE_Lp falls from RandAugment to TrivialAugment to AugMix + C2",
        [f"metrics: wrn {row} / mCE_Lp" for row in ("AM+C2", "TA", "RA")],
    ),
    Order(
        "mCE falls from RandAugment to TrivialAugment to AugMix + C2",
        [f"metrics: wrn {row} / mCE" for row in ("AM+C2", "TA", "RA")],
    ),
]
FROM_PRINT = [NOISE_IN_RANGE, SLIP, NO_SLIP]
FLAT: list[Claim] = [
    Order(
        "TrivialAugment makes the curve on training points flatter than C1 does",
        [f"last: {regime} / training" for regime in ("TA", "C1")],
    ),
    Order(
        "C1 after TrivialAugment makes it flatter still",
        ["last: TA+C1 / training", "last: TA / training"],
    ),
    Order(
        "TrivialAugment costs more on training points than on held-out ones: it regularises",
        ["loss: TA / held out", "loss: TA / training"],
    ),
]
FLATTER: list[Claim] = [
    *FLAT,
    Order(
        "C1 alone makes it flatter than plain training, slightly",
        [f"last: {regime} / training" for regime in ("C1", STANDARD)],
    ),
]

TRANSFERS: list[Claim] = [
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

PAIRS = ((STANDARD, "C1"), (STANDARD, "C2"), ("AM", "AM+C2"), ("TA", "TA+C1"))
"""Arrows of Fig. 4, as far as a form trains both ends."""


def claim_arrows(pairs: Sequence[tuple[str, str]]) -> Claim:
    """Return the claim that all arrows lower mCE."""
    names = (f"arrow: {start} to {end} / mCE" for start, end in pairs)
    return Within("every arrow lowers mCE", "; ".join(names), high=0)
