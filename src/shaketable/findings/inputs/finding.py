"""The finding: which inputs flip, of every fitted model under every corruption."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, TypedDict

import numpy as np

from shaketable.corruptions.suites.per_feature import METRIC, split_column
from shaketable.data.dataset import Dataset, LabelJson
from shaketable.findings.finding import FINDINGS, FindingKind
from shaketable.findings.groups import RecordGroups
from shaketable.findings.inputs.numbers import FlipLadder, Flips, flip_size, group_ladders
from shaketable.findings.inputs.redrawn import RedrawnInputs, redraw
from shaketable.findings.inputs.view import make_blocks
from shaketable.findings.risk.finding import is_bounded
from shaketable.findings.series import ConditionJson, ModelJson
from shaketable.findings.subjects import make_suite_labels
from shaketable.statistics.estimate import EstimateJson
from shaketable.views.blocks import Block
from shaketable.views.terminal import Displayed

SHOWN = 10
"""Points that are listed per model and corruption."""

ROWS = 100
"""Rows that JSON lists per feature."""

InputJson = TypedDict(
    "InputJson",
    {
        "row": Annotated[int, "Row of the data."],
        "class": LabelJson,
        "answer": Annotated[LabelJson | None, "Most frequent wrong answer; null if unknown."],
        "wrong": Annotated[float, "Share of wrong draws, in per cent."],
        "confidence": Annotated[float | None, "Mean confidence of wrong answers, in per cent."],
    },
)


class FlipsJson(ModelJson, ConditionJson):
    """The points of a fitted model under one corruption."""

    n: int
    right_when_clean: Annotated[int, "Points that are right when clean."]
    flipped: Annotated[int, "Of these, points that are wrong in more than half of their draws."]
    inputs: Annotated[list[InputJson], "Of points right when clean, those wrong most often."]
    all_inputs: Annotated[list[InputJson], "Of all points, those wrong most often."]
    least_affected_rows: list[int]
    least_affected_class: LabelJson


class FlipShareJson(TypedDict):
    """Points that flip at a size or a smaller one."""

    size: Annotated[float, "Size of noise, or severity."]
    share: EstimateJson


class FlipLadderJson(ModelJson):
    """Smallest sizes that flip the points of a fitted model."""

    ladder: Annotated[str, "What the sizes have in common, such as linf."]
    shares: list[FlipShareJson]
    quartiles: Annotated[
        list[float | None], "Of the smallest size that flips a point; null: not within the ladder."
    ]


class FeatureFlipsJson(ModelJson):
    """Points that flip under noise in one feature."""

    feature: str
    noise: Annotated[str, "Spec of the noise, without the column."]
    flipped: int
    rows: Annotated[list[int], "Rows that flip, 100 at most, those wrong most often first."]


class InputsJson(TypedDict):
    """The inputs that flip."""

    inputs: list[FlipsJson]
    flip_sizes: list[FlipLadderJson]
    feature_flips: list[FeatureFlipsJson]


@dataclass(frozen=True, eq=False)
class FeatureFlips:
    """Points of one fitted model that flip under noise in one feature."""

    label: str
    feature: str
    noise: str
    flips: Flips

    @property
    def rows(self) -> list[int]:
        """Rows that flip."""
        return self.flips.rows


@dataclass(frozen=True, eq=False)
class FlippedInputs(Displayed):
    """The inputs that flip, of all fitted models."""

    flips: tuple[tuple[str, Flips], ...]
    """By the model's label; that of size eps_min first, else the worst corruption first."""
    ladders: tuple[tuple[str, FlipLadder], ...]
    features: tuple[FeatureFlips, ...]
    redrawn: RedrawnInputs | None = None
    """The points themselves, where the data are given."""

    @property
    def labels(self) -> list[str]:
        """Models of which a point flips, or may."""
        labels = [label for label, _ in self.flips] + [each.label for each in self.features]
        return list(dict.fromkeys(labels))

    @property
    def chosen(self) -> dict[str, Flips]:
        """Of every model the first noise under which a point flips; its first one without any."""
        chosen: dict[str, Flips] = {}
        for label, flips in self.flips:
            if label not in chosen or (flips.rows and not chosen[label].rows):
                chosen[label] = flips
        return chosen

    def draw(self, data: Dataset, n: int) -> FlippedInputs:
        """Return the finding with the n points that are wrong most often, drawn again."""
        flips = [*self.flips, *((each.label, each.flips) for each in self.features)]
        return replace(self, redrawn=redraw(flips, data, n))

    def json(self) -> InputsJson:
        """Return the points of every model, shares in per cent."""
        return {
            "inputs": [_flips_json(label, flips) for label, flips in self.flips],
            "flip_sizes": [
                {
                    **_model_json(label, ladder.levels[0]),
                    "ladder": ladder.name,
                    "shares": [
                        {"size": size, "share": share.json()}
                        for size, share in ladder.shares.items()
                    ],
                    "quartiles": [ladder.find_quantile(q) for q in (0.25, 0.5, 0.75)],
                }
                for label, ladder in self.ladders
            ],
            "feature_flips": [
                {
                    **_model_json(each.label, each.flips),
                    "feature": each.feature,
                    "noise": each.noise,
                    "flipped": len(each.rows),
                    "rows": each.rows[:ROWS],
                }
                for each in self.features
            ],
        }

    def blocks(self) -> list[Block]:
        """Return the points that are wrong most often, and the smallest sizes that flip points."""
        return make_blocks(self)


def find(groups: RecordGroups) -> FlippedInputs | None:
    """Take the finding from records; None without a fitted model under a corruption."""
    single = {spec for s in groups.records.suites if s.metric == METRIC for spec in s.specs}
    noisy = [c for c in groups.conditions if not c.is_clean]
    noisy.sort(key=lambda c: (not c.at_eps_min, c.mean_accuracy))
    flips = tuple(
        (label, Flips(series, condition.noise))
        for condition in noisy
        if condition.first.corruption not in single
        for label, series in condition.series.items()
        if is_bounded(series) and series.clean
    )
    labels = {id(s): label for c in noisy for label, s in c.series.items()}
    ladders = tuple(
        (labels[id(each.levels[0].series)], each)
        for each in group_ladders(s for c in noisy for s in c.series.values())
    )
    results = [
        r
        for r in groups.suite_results
        if r.suite.metric == METRIC and all(map(is_bounded, r.series))
    ]
    features = [
        FeatureFlips(label, *split_column(s.first.corruption), Flips(s, s.first.corruption))
        for label, result in zip(make_suite_labels(results), results, strict=True)
        for s in result.series
    ]
    features.sort(key=lambda each: -int(each.flips.flipped.sum()))
    if not flips and not features:
        return None
    return FlippedInputs(flips, ladders, tuple(features))


def _model_json(label: str, flips: Flips) -> ModelJson:
    return {"model": flips.cell.model, "label": label, "data": flips.cell.data}


def _flips_json(label: str, flips: Flips) -> FlipsJson:
    cell = flips.cell
    return {
        **_model_json(label, flips),
        **flips.series.condition_json(),
        "n": cell.n,
        "right_when_clean": int(flips.right_clean.sum()),
        "flipped": int(flips.flipped.sum()),
        "inputs": [_input_json(flips, i) for i in flips.rank(SHOWN)],
        "all_inputs": [_input_json(flips, i) for i in flips.rank(SHOWN, all_points=True)],
        "least_affected_rows": [int(cell.points.rows[i]) for i in flips.rank_least(SHOWN)],
        "least_affected_class": _plain(flips.least_affected_class),
    }


def _input_json(flips: Flips, i: int) -> InputJson:
    points, confidence = flips.cell.points, flips.wrong_confidence
    answers = flips.cell.answers
    answer = None
    if answers is not None:
        answer = _plain(answers.name(int(flips.wrong_answers[i]), points.classes))
    return {
        "row": int(points.rows[i]),
        "class": _plain(points.classes[points.y[i]]),
        "answer": answer,
        "wrong": 100 * float(flips.wrong[i]),
        "confidence": None if confidence is None else 100 * float(confidence[i]),
    }


def _plain(label: LabelJson) -> LabelJson:
    return label.item() if isinstance(label, np.generic) else label


FINDINGS.add("inputs", FindingKind(find, json=InputsJson, metrics={"flip_size": flip_size}))
