"""What is shown of a separation: eps_min, the pairs that set it, duplicates, classes, points."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shaketable.core.norms import norm_title
from shaketable.data.facts import describe_data
from shaketable.data.images import are_images
from shaketable.separations.pair import (
    describe_deviations,
    describe_gaps,
    list_gaps,
)
from shaketable.separations.separation import Separation, SeparationRecord, rank_class_pairs
from shaketable.views.blocks import (
    Block,
    Card,
    Cards,
    Cell,
    Chart,
    Column,
    Definition,
    Entry,
    Facts,
    Heading,
    Picture,
    Sentence,
    Table,
)
from shaketable.views.images import to_data_uri
from shaketable.views.numbers import format_distance

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
    from shaketable.separations.audit import Audit, ClosePair
    from shaketable.separations.one_nn import OneNN
    from shaketable.views import drawing

LEAD = (
    "Noise of at most half the distance between two points of different classes cannot carry one "
    "of them past the middle. So the two closest points of different classes set eps_min for all "
    "points: the strongest noise under which no accuracy has to be lost. Check these two points "
    "before you trust it."
)
EMBEDDED_LEAD = (
    "Distances are those of the embedded points. The two closest points of different classes set "
    "eps_min, in the units of the embedding. It says how far apart the classes are there, and "
    "nothing about the size of noise on the points themselves."
)
_CLOSEST = (
    "Are these labels right? A wrong label or a corrupted point makes eps_min too small: correct "
    "or remove it and measure again. The last column is the value of eps_min if a pair and all "
    "above it were left out; it is not known where no farther pair is listed"
)
_CLASSES = (
    "Classes with a small distance are the hardest to distinguish under noise. The distance would "
    "set eps_min if there were only these two classes. The more colour, the closer they are"
)
_NEAREST = (
    "Bars count points; the line is their cumulative share. Both begin at the separation 2r, "
    "which a single pair of points sets."
)
_LEFT_OUT = (
    "Each step to the right leaves out one more of the closest pairs. A steep first step means "
    "that eps_min depends on a few points; a flat line, that it does not."
)
_POINTS = "The rings and the line between them mark the pair of points that sets 2r."
_MAX_IMAGES = 100  # pairs that are shown as images
_MAX_CLASSES = 20  # classes whose minima are a matrix; of more, a list of pairs


def make_blocks(found: Audit) -> list[Block]:
    """Return eps_min, closest pairs, duplicates, classes, distances of points and settings."""
    return [*show_audit(found), *_show_method(found)]


def show_audit(found: Audit) -> list[Block]:
    """Return eps_min, closest pairs, duplicates, classes and distances of points."""
    shown = replace(found.separation, embedding="")  # in an embedding, too, here to be shown alone
    record = SeparationRecord.of(shown, found.data.fingerprint)
    classes = [*_show_classes(record), *_show_parts(record)]
    if classes:
        several = [Sentence(_CLASSES, level="detail")] if len(record.classes) > 2 else []
        classes = [Heading("Between classes", "classes", "Classes"), *several, *classes]
    return [
        *_show_size(found),
        *_show_closest(found),
        *_show_duplicates(found),
        *classes,
        *_show_nearest(found),
        *_show_one_nn(found),
    ]


def show_record(s: SeparationRecord, data: Dataset | None = None, *, name: str = "") -> list[Block]:
    """Return what a page of results says about a separation; `data` are its data, if known.

    `name` is that of the data, where there are several.
    """
    rows = s.pair if data is None else tuple(map(data.source_row, s.pair))
    sentence = (
        f"in the {norm_title(s.norm)} norm the closest points of different classes, rows {rows[0]} "
        f"and {rows[1]}, are 2r = {format_distance(s.two_r)} apart. {_name_half(s.norm)}, eps_min "
        f"= {format_distance(s.epsilon_min)}, is the strongest noise under which no accuracy has "
        "to be lost"
    )
    differing = "" if data is None else describe_gaps(list_gaps(data, s.pair, s.norm))
    return [
        Sentence(sentence, name),
        *([Sentence(differing, "the two points")] if differing else []),
        *_list_closest(s, name),
        *_show_parts(s),
        *_show_classes(s),
        *_draw_nearest(s),
        *([] if data is None else _draw_points(s, data)),
    ]


def _list_closest(s: SeparationRecord, name: str) -> list[Block]:
    """The closest pairs by their rows, where the data are not given."""
    if s.closest_distance is None:
        return []
    return [
        Table(
            f"closest pairs of different classes in the {norm_title(s.norm)} norm"
            f"{f', {name}' if name else ''}; with the data, a page shows the points",
            (Column("row", "count"), Column("and row", "count"), Column("2r", "distance")),
            [(*pair, float(d)) for pair, d in zip(s.closest, s.closest_distance, strict=True)],
            level="detail",
            what="pairs",
        )
    ]


def list_exact_values(s: SeparationRecord, data: Dataset | None = None) -> list[tuple[str, str]]:
    """Return 2r and eps_min with all their digits, by name."""
    norm = norm_title(s.norm)
    i, j = s.pair if data is None else tuple(map(data.source_row, s.pair))
    return [
        (f"{norm} separation 2r", f"{s.two_r} (data {s.fingerprint}, rows {i} and {j})"),
        (f"{norm} eps_min", f"{s.epsilon_min}"),
    ]


def _show_size(found: Audit) -> list[Block]:
    """2r and eps_min with all their digits, and as cards."""
    s, data = found.separation, found.data
    places = " and ".join(f"row {data.source_row(row)} ({s.classes[s.y[row]]!r})" for row in s.pair)
    counted = "rows counted from 0" + (", training part first" if data.n_train is not None else "")
    differing, size = describe_gaps(found.gaps), describe_deviations(found.deviations)
    where = f", embedded by {s.embedding}" if s.embedding else ""
    return [
        Heading("", "eps-min", "eps_min"),
        Sentence(f"{data.n} points, {len(data.classes)} classes{where}", data.name),
        Sentence(f"{found.norm} separation 2r = {s.two_r!r} between {places}, {counted}"),
        *([Sentence(differing, "the two points")] if differing else []),
        Sentence(f"{found.norm} eps_min = {s.epsilon_min!r}{f', that is {size}' if size else ''}"),
        Cards(_make_cards(found), level="detail"),
    ]


def _make_cards(found: Audit) -> list[Card]:
    s, duplicates = found.separation, found.duplicates
    eps_min = Card(
        "eps_min",
        s.epsilon_min,
        f"{found.norm} norm",
        "distance",
        [
            "the strongest noise under which a perfect classifier loses no accuracy"
            if not s.embedding
            else f"half the separation, in the units of {s.embedding}"
        ],
    )
    separation = Card(
        "Separation 2r",
        s.two_r,
        f"rows {found.pairs[0].rows[0]} and {found.pairs[0].rows[1]}",
        "distance",
        [
            "the distance between the two closest points of different classes. "
            f"{_name_half(s.p)} is eps_min"
        ],
    )
    clashes = [] if found.clashes else ["none coincides with a point of another class"]
    groups = f"{duplicates.groups} group{'' if duplicates.groups == 1 else 's'}"
    coinciding = Card(
        "Duplicates",
        duplicates.points,
        f"points in {groups}" if duplicates.groups else "coinciding points",
        "count",
        ["points that coincide with another point of the same class", *clashes],
    )
    return [eps_min, separation, *_make_without_card(found), coinciding]


def _make_without_card(found: Audit) -> list[Card]:
    """eps_min without as many pairs as possible."""
    known = [pair.epsilon_min_without for pair in found.pairs]
    known = known[: known.index(None)] if None in known else known
    if not known:
        return []
    last, m = known[-1] or 0.0, len(known)
    change = f"{100 * (last / found.separation.epsilon_min - 1):+.1f} %"
    which = "closest pair" if m == 1 else f"{m} closest pairs"
    sentence = (
        f"the value of eps_min if the {which} were left out. If it is much larger, eps_min depends "
        "on a few points"
    )
    return [Card(f"eps_min without the {which}", last, change, "distance", [sentence])]


def _show_closest(found: Audit) -> list[Block]:
    s, data = found.separation, found.data

    def draw() -> drawing.Chart:
        from shaketable.separations.charts import left_out_chart  # slow to import

        return left_out_chart(s)

    has_images = are_images(data)
    rows: list[list[Cell]] = [
        [
            rank,
            *(_show_point(data, pair, side, has_images and rank <= _MAX_IMAGES) for side in (0, 1)),
            pair.distance,
            "not known" if pair.epsilon_min_without is None else pair.epsilon_min_without,
        ]
        for rank, pair in enumerate(found.pairs, start=1)
    ]
    columns = (
        Column("rank", "count"),
        Column("point"),
        Column("and point"),
        Column("2r", "distance"),
        Column("eps_min without", "distance"),
    )
    title = f"closest pairs of different classes in the {found.norm} norm"
    return [
        Heading("The closest pairs of different classes", "closest", "Closest pairs"),
        Sentence(_CLOSEST, level="detail"),
        Table(title, columns, rows, limit=len(rows)),
        *(Sentence(text, tone="alert") for text in found.outliers),
        *([Chart(draw, _LEFT_OUT)] if len(s.closest) > 1 else []),
        *_draw_points(s, data),
    ]


def _show_point(data: Dataset, pair: ClosePair, side: int, drawn: bool) -> Cell:
    """Class and row of one of two points, as an image if it is one."""
    label, row = f"class {pair.classes[side]}", f"row {pair.rows[side]}"
    if not drawn:
        return Entry(label, row)
    address = to_data_uri(data.x[pair.points[side]])
    return Entry(Picture(address, f"The point in {row}, {label}", label), row)


def _show_duplicates(found: Audit) -> list[Block]:
    about = []
    if found.duplicates.groups:
        about.append(
            "duplicates do not change eps_min, but they repeat pairs in the list of closest pairs"
        )
    if found.duplicates.across:
        about.append(
            "test points that are also in the training part make the test accuracy look better "
            "than it is"
        )
    clashes = f"{found.left_out}. With them eps_min would be 0"
    return [
        Heading("Duplicates", "duplicates", "Duplicates"),
        Sentence(str(found.duplicates)),
        *(Sentence(text, level="detail") for text in about),
        *([Sentence(clashes, tone="alert")] if found.left_out else []),
    ]


def _show_parts(s: SeparationRecord) -> list[Block]:
    if not s.by_part:
        return []
    return [
        Table(
            f"smallest {norm_title(s.norm)} distance between points of different classes, by part",
            (Column("parts"), Column("distance", "distance")),
            [
                [part, "no pair of classes" if value is None else value]
                for part, value in s.by_part.items()
            ],
        )
    ]


def _show_classes(s: SeparationRecord) -> list[Block]:
    """Smallest distances between classes; of many classes, those of the closest pairs."""
    n, title = len(s.classes), f"smallest {norm_title(s.norm)} distance between two classes"
    if s.by_class is None:
        return [Sentence(f"the minimum of every two classes is not kept for {n} classes")]
    if n <= 2:
        return []
    pairs = rank_class_pairs(s.classes, s.by_class)
    if n > _MAX_CLASSES:
        return [
            Table(
                f"{title}, the closest first",
                (Column("class"), Column("other class"), Column("distance", "number")),
                [(str(a), str(b), value) for a, b, value in pairs],
                what="pairs of classes, which lie farther apart,",
            )
        ]
    least, span = pairs[0][2], pairs[-1][2] - pairs[0][2]

    def enter(value: float | None) -> Cell:
        if value is None:
            return None
        return Entry(value, shown=value == least, heat=1 - (value - least) / (span or 1.0))

    labels = [*map(str, s.classes)]
    return [
        Table(
            title,
            (Column("class"), *(Column(label, "number", quantity="distance") for label in labels)),
            [[label, *map(enter, row)] for label, row in zip(labels, s.by_class, strict=True)],
            shown="the closest two classes",
        )
    ]


def _show_nearest(found: Audit) -> list[Block]:
    heading = Heading("Every point’s nearest opponent", "nearest", "Every point")
    if found.nearest is None:
        return [heading, Sentence("not measured: only the minimum was asked for", level="detail")]
    median, two_r = found.nearest["median"], found.separation.two_r
    sentence = (
        "the separation is the worst case. Most points are farther from other classes: half of "
        f"them at least {format_distance(median)}, {median / two_r:.1f} times 2r"
    )
    table = Table(
        f"{found.norm} distance of a point to the nearest point of another class",
        [Column(name.replace("_", " "), "distance") for name in found.nearest],
        [[*found.nearest.values()]],
    )
    return [heading, Sentence(sentence, level="detail"), table, *_draw_nearest(found.separation)]


def _draw_nearest(s: Separation | SeparationRecord) -> list[Block]:
    def draw() -> drawing.Chart:
        from shaketable.separations.charts import nearest_chart  # slow to import

        return nearest_chart(s)

    return [] if s.nearest is None else [Chart(draw, _NEAREST)]


def _draw_points(s: Separation | SeparationRecord, data: Dataset) -> list[Block]:
    """Scatter of the points, if they have two features, both plain numbers."""

    def draw() -> drawing.Chart:
        from shaketable.separations.charts import points_chart  # slow to import

        return points_chart(s, data)

    return [Chart(draw, _POINTS)] if data.d == 2 and data.table is None else []


def _show_one_nn(found: Audit) -> list[Block]:
    if found.one_nn is None:
        return []
    about = "this is how well distances in this norm alone predict the labels"
    return [
        Heading("The nearest neighbour as a classifier", "one-nn", "Nearest neighbour"),
        Sentence(describe_one_nn(found.one_nn), "1-NN"),
        Sentence(about, level="detail"),
    ]


def _show_method(found: Audit) -> list[Block]:
    of = " of embedded points" if found.separation.embedding else ""
    return [
        Heading("How it was made", "method", "How it was made"),
        Definition(
            f"2r = min ‖x_{{i}} − x_{{j}}‖{of} over all points with y_{{i}} ≠ y_{{j}}, training "
            "and test points together; eps_min = r",
            "Siedel et al. (2022), Eq. 1. The minimum is exact: it is taken over all pairs of "
            "points.",
        ),
        Facts([*describe_data(found.data).items()], "Settings"),
    ]


def _name_half(p: float) -> str:
    """Which fraction of 2r eps_min is, as the beginning of a sentence."""
    return "Half of it" if p >= 1 else "The 2^(1/p)-th part of it"


def describe_one_nn(result: OneNN) -> str:
    """How often the nearest training point has the test point's label, as a sentence."""
    accuracy, by_majority = _format_range(result.accuracy), _format_range(result.majority_accuracy)
    sentence = (
        f"{accuracy} of {len(result.test)} test points get the right label from the nearest "
        f"training point ({norm_title(result.p)})"
    )
    if result.accuracy == result.majority_accuracy:
        return sentence
    return (
        f"{sentence}, counting ties as wrong or as right; {by_majority} if the majority of the "
        "equally near points decides"
    )


def _format_range(limits: tuple[float, float]) -> str:
    """Share, or its range, in per cent."""
    low, high = limits
    return f"{low:.2%}" if low == high else f"{low:.2%} to {high:.2%}"
