"""JSON Schema from types: it holds for what the types describe, and for nothing else."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from jsonschema import Draft202012Validator

from shaketable.core.schemas import make_schema
from shaketable.statistics.estimate import EstimateJson


class Part(TypedDict):
    """A part.

    Of more than one line.
    """

    value: float
    parts: NotRequired[list["Part"]]


Whole = TypedDict(
    "Whole",
    {
        "of": Annotated[Part | None, "What it is."],
        "name": Literal["a", "b"],
        "pair": tuple[int, int],
        "any": dict[str, Any],
        "by_*": str | None,
    },
)


def test_types_become_a_schema():
    schema = make_schema("whole", Annotated[Whole, "A whole."])
    Draft202012Validator.check_schema(schema)
    assert schema["title"] == "A whole"
    assert schema["properties"]["of"]["description"] == "What it is."
    assert schema["$defs"]["Part"]["description"] == "A part. Of more than one line."
    validator = Draft202012Validator(schema)
    part = {"value": 1.5, "parts": [{"value": 2}]}
    right = {"schema_version": 1, "of": part, "name": "a", "pair": [1, 2], "any": {"x": []}}
    assert validator.is_valid(right)
    assert validator.is_valid({**right, "of": None, "by_sex": "f", "by_age": None})
    for wrong in (
        {"of": {"value": "1"}},
        {"of": {"parts": []}},
        {"of": {"value": 1, "parts": [{}]}},
        {"name": "c"},
        {"pair": [1]},
        {"pair": [1, 2, 3]},
        {"pair": [1, 2.5]},
        {"any": []},
        {"by_sex": 1},
        {"other": 1},
    ):
        assert not validator.is_valid({**right, **wrong}), wrong
    for key in right:
        assert not validator.is_valid({k: v for k, v in right.items() if k != key}), key


Theirs = TypedDict("EstimateJson", {"in": int})


class Both(TypedDict):
    """Both."""

    ours: EstimateJson
    theirs: Theirs


def test_classes_of_the_same_name_are_told_apart():
    validator = Draft202012Validator(make_schema("both", Both))
    ours = {"mean": 1, "low": 0, "high": 2}
    assert validator.is_valid({"schema_version": 1, "ours": ours, "theirs": {"in": 1}})
    assert not validator.is_valid({"schema_version": 1, "ours": ours, "theirs": ours})


def test_what_json_does_not_have_is_refused():
    with pytest.raises(TypeError, match="no JSON Schema describes"):
        make_schema("set", TypedDict("Sets", {"x": set[int]}))
