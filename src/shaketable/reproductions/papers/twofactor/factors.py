"""Two faults in sequence: the sets and their levels (Table I), and the law of their noise.

What print says of the sets is compared with the names of the suite. What the sets hold is compared
with the law of the noise: for every set, the shares of black and of white values follow in closed
form from the images and from the name of the set alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from shaketable.core.keys import digest
from shaketable.core.spec import display_name, split_factors, split_name
from shaketable.core.types import Array, FloatArray
from shaketable.corruptions import parse
from shaketable.corruptions.camera_faults import CameraGaussian, Rotation, SaltPepper
from shaketable.corruptions.gallery import gallery
from shaketable.corruptions.suites.suite import suite
from shaketable.data.dataset import Dataset
from shaketable.data.files import load
from shaketable.evaluation.copies import corrupted
from shaketable.reproductions.claims import Claim, Close, Within
from shaketable.reproductions.numbers import Number, NumberTable, rescale
from shaketable.reproductions.published import Published, load_published
from shaketable.reproductions.registry import Asked, Form, Measured, declare
from shaketable.statistics import intervals

IMAGES = 400
"""Images of every set."""

VARIANCE = 0.01
"""Of imnoise's Gaussian noise, where one number is given."""

_FACTOR = re.compile(r"(SP|GA|RO|RL|RR)(-?[\d.]+)")
_SHOWN = ("SP0.2GA0", "SP0GA0.2", "SP0.1GA0.1", "GA0.1SP0.1", "SP0.1RO-30", "SP0.2RO60")

Factors = tuple[tuple[str, float], ...]
"""Names of factors and their levels, in order."""

_CLAIMS: Sequence[Claim] = (
    Close("every level is the printed one", "level: *"),
    Close("there are 69 test sets, 65 of them different, and nine training sets", "sets: *"),
    Within(
        "all sets are named as the authors name them, and do what their names say",
        "amiss: names *; amiss: sets *",
        -0.5,
        0.5,
    ),
    Within(
        "in every set, black values have the share of the law, to 0.3 points",
        "ends: * / black",
        -0.3,
        0.3,
    ),
    Within(
        "in every set, white values have the share of the law, to 0.3 points",
        "ends: * / white",
        -0.3,
        0.3,
    ),
    Close("the level of Gaussian noise is its mean", "noise: * / mean", tolerance=0.002),
    Within(
        "the variance of Gaussian noise is .01, within 2 %",
        "noise: * / variance",
        0.98 * VARIANCE,
        1.02 * VARIANCE,
    ),
    Within(
        "images turn clockwise, with black corners, as another rotation turns them",
        "amiss: values *",
        -0.5,
        0.5,
    ),
    Within("all values stay whole numbers from 0 to 255", "amiss: levels *", -0.5, 0.5),
)


@declare(
    "twofactor-table1",
    place="Table I",
    about="sequences of two faults and their levels, and what they do to images",
    forms={
        "full": Form(
            about=f"all sets of the suites, made of {IMAGES} built-in images, against the law of "
            "their noise",
            takes="ten seconds on one core",
            claims=_CLAIMS,
            deviations=[
                "The images are built-in drawings, as the law of the noise is known for any image. "
                "MATLAB is not asked: what imnoise and imrotate do is taken from their "
                "documentation.",
            ],
        ),
    },
    errata=["twofactor-sets", "twofactor-imnoise"],
)
def measure_sets(asked: Asked) -> Measured:
    """Compare names and levels of the sets with print, and their values with the law."""
    specs, data = suite("two-factor").names, load(f"shapes(n={IMAGES})")
    arrays, odd = {}, 0
    for spec in specs:
        values = _make_values(data, spec, asked.seed)
        # floats of 32 bits are whole numbers up to their rounding
        odd += int((abs(values - values.round()) > 1e-4).sum())
        arrays[display_name(spec)] = values.round().astype(np.uint8)
    return Measured(
        tables=[
            NumberTable("level", "Level", [*_list_levels(specs)], corner="factor"),
            NumberTable("sets", "Number of sets", [*_count_sets(specs, arrays)], digits=0),
            NumberTable(
                "amiss", "What is amiss", [*_list_amiss(specs, arrays, data, odd)], digits=0
            ),
            NumberTable(
                "ends",
                "Share of black and of white values, minus that of the law",
                [*_compare_ends(arrays, data)],
                unit="percentage points",
                corner="set",
            ),
            NumberTable(
                "noise",
                "Gaussian noise before it is clipped",
                [*_gauge(arrays, data)],
                digits=4,
                corner="set",
            ),
        ],
        blocks=gallery(
            data, [s for s in specs if display_name(s) in _SHOWN], rng=asked.seed
        ).blocks(),
        settings={"Images": data.name, "Sets": "suites two-factor and two-factor-train"},
    )


def read_name(name: str) -> Factors:
    """Return what the name of a set says, without factors of level 0.

    >>> read_name("RO30SP0.1"), read_name("SP0.1RL30"), read_name("SP0GA0.2")
    ((('RO', 30.0), ('SP', 0.1)), (('SP', 0.1), ('RO', -30.0)), (('GA', 0.2),))
    """
    turned = {"RL": ("RO", -1), "RR": ("RO", 1)}
    found = []
    for kind, number in _FACTOR.findall(name):
        factor, sign = turned.get(kind, (kind, 1))
        found.append((factor, sign * float(number)))
    return tuple((factor, level) for factor, level in found if level)


def read_spec(spec: str) -> Factors:
    """Return what a set does.

    >>> read_spec("ga(mean=0.1, var=0.01) + sp(0.2)")
    (('GA', 0.1), ('SP', 0.2))
    """
    found: list[tuple[str, float]] = []
    for text in split_factors(spec):
        match parse(text):
            case SaltPepper(density=density):
                found.append(("SP", density))
            case CameraGaussian(mean=mean):
                found.append(("GA", mean))
            case Rotation(degrees=degrees):
                found.append(("RO", degrees))
            case other:
                found.append((other.spec, math.nan))
    return tuple(found)


def name_sets(published: Published) -> list[str]:
    """Return the names of all sets that Table I stands for: every level and 0, in both orders."""
    names = ["clean"]
    for first, second in dict.fromkeys(_split_row(row)[0] for row in published.rows):
        ways = [
            [
                f"{kind}{text}"
                for text in dict.fromkeys(("0", *_list_texts(published, (first, second), kind)))
            ]
            for kind in (first, second)
        ]
        names += [a + b for a, b in product(*ways)][1:]
    return names


def expect_ends(levels: Array, factors: Factors) -> tuple[float, float]:
    """Return the share of black and of white values that the law says.

    Salt & pepper of density D makes a value black or white with D / 2 each. Gaussian noise makes a
    value black if it falls below half a level, white if it rises above 254.5. A rotation moves
    values, and fills corners with black.

    >>> expect_ends(np.full((1, 2, 2, 1), 100), (("SP", 0.2),))
    (0.1, 0.1)
    """
    from scipy.special import ndtr

    black, white = (levels == 0).astype(float), (levels == 255).astype(float)
    scale = 255 * math.sqrt(VARIANCE)
    for kind, level in factors:
        if kind == "SP":
            black, white = (share * (1 - level) + level / 2 for share in (black, white))
        elif kind == "GA":
            old = np.arange(256) + 255 * level
            falls, rises = ndtr((0.5 - old) / scale), ndtr((old - 254.5) / scale)
            stay = 1 - black - white
            black, white = (
                black * law[0] + white * law[255] + stay * law[levels] for law in (falls, rises)
            )
        else:
            levels, black, white = (
                turn(values, level, corner)
                for values, corner in ((levels, 0), (black, 1), (white, 0))
            )
    return float(black.mean()), float(white.mean())


def turn(images: Array, degrees: float, corner: float = 0) -> Array:
    """Rotate images (n, h, w, c) clockwise about their centre, to the nearest pixel.

    >>> turn(np.array([[1, 2], [3, 4]]).reshape(1, 2, 2, 1), 90)[0, ..., 0].tolist()
    [[3, 1], [4, 2]]
    """
    height, width = images.shape[1:3]
    down, right = np.indices((height, width)) - np.array([height - 1, width - 1])[:, None, None] / 2
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    # on a screen, where down is positive: what turns clockwise came from the other side
    row = np.floor(down * cos - right * sin + height / 2).astype(int)
    column = np.floor(right * cos + down * sin + width / 2).astype(int)
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    out = np.full_like(images, corner)
    out[:, inside] = images[:, row[inside], column[inside]]
    return out


def _make_values(data: Dataset, spec: str, seed: int) -> FloatArray:
    """Return the images under a set, on a scale from 0 to 255; the noise is that of `evaluate`."""
    x = data.rows(slice(None)) if spec == "clean" else corrupted(data, spec, seed=seed).x
    return 255 * np.asarray(x, dtype=np.float64)


def _split_row(row: str) -> tuple[tuple[str, str], str]:
    """Return the sequence and the factor of a row of Table I, such as ``SP then GA: GA``."""
    sequence, _, kind = row.partition(": ")
    first, _, second = sequence.partition(" then ")
    return (first, second), kind


def _list_texts(published: Published, sequence: tuple[str, str], kind: str) -> list[str]:
    return [n.text for n in published if _split_row(n.row) == (sequence, kind)]


def _list_levels(specs: Sequence[str]) -> Iterator[Number]:
    """Compare the levels of the sets of every sequence with Table I."""
    published = load_published("twofactor-table1")
    for row in published.rows:
        sequence, kind = _split_row(row)
        printed = [n for n in published if n.row == row]
        found = {math.inf}  # where a sequence is lacking
        for spec in specs:
            name = split_name(spec)[1]
            if tuple(k for k, _ in _FACTOR.findall(name)) == sequence:
                found.add(dict(read_spec(spec)).get(kind, 0.0))
        for number in printed:
            # the nearest level, which is another one where the sets lack the printed one
            level = min((abs(each - number.printed.value), each) for each in found)[1]
            yield Number(row, level, number.printed, column=number.column)


def _count_sets(specs: Sequence[str], arrays: Mapping[str, Array]) -> Iterator[Number]:
    published = load_published("twofactor-sets")
    counts = {
        "test sets": len(specs),
        "different test sets": len({digest(a.tobytes()) for a in arrays.values()}),
        "training sets": len(suite("two-factor-train").names),
    }
    for row, count in counts.items():
        yield Number(row, count, published[row, "number"])


def _list_amiss(
    specs: Sequence[str], arrays: Mapping[str, Array], data: Dataset, odd: int
) -> Iterator[Number]:
    """Count names, sets and values that are not what they must be."""
    printed = name_sets(load_published("twofactor-table1"))
    both = [*specs, *suite("two-factor-train").names]
    wrong = [s for s in both if read_name(display_name(s)) != read_spec(s)]
    yield Number("names that print lacks, or has besides", float(len({*arrays} ^ {*printed})))
    yield Number("sets that are not what their names say", float(len(wrong)))
    differ = 0
    for name, array in arrays.items():
        factors = read_name(name)
        if [kind for kind, _ in factors] == ["RO"]:
            differ += int((array != turn(data.x, factors[0][1])).sum())
    yield Number("values of rotated images that differ from another rotation", float(differ))
    yield Number("levels that are not whole", float(odd))


def _compare_ends(arrays: Mapping[str, Array], data: Dataset) -> Iterator[Number]:
    """Compare the shares of black and white values in every set with the law."""
    for name, array in arrays.items():
        expected = expect_ends(np.asarray(data.x), read_name(name))
        counts = (array == 0).sum(), (array == 255).sum()
        for column, count, share in zip(("black", "white"), counts, expected, strict=True):
            ours = intervals.proportion(int(count), array.size)
            yield Number(name, rescale(ours.subtract_from(share).subtract_from(0)), column=column)


def _gauge(arrays: Mapping[str, Array], data: Dataset) -> Iterator[Number]:
    """Take mean and variance of the noise where it is not clipped: mid-grey after the shift."""
    published = load_published("twofactor-table1")
    old = np.asarray(data.x, dtype=np.float64)
    for number in published:
        sequence, kind = _split_row(number.row)
        if kind != "GA":
            continue
        name = f"SP0GA{number.text}" if sequence[0] == "SP" else f"GA{number.text}SP0"
        free = abs(old + 255 * number.printed.value - 127.5) < 30
        noise = (arrays[name] - old)[free] / 255
        mean = intervals.mean_of_values(noise, low=-1, high=1)
        squares = intervals.mean_of_values((noise - number.printed.value) ** 2, low=0, high=1)
        yield Number(name, mean, number.printed, column="mean")
        yield Number(name, squares, column="variance")
