"""What can be reproduced: names, what each needs, and what was last measured."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, TypeAlias, TypedDict

from shaketable.reproductions.registry import FormName, Reproduction, list_in_order
from shaketable.reproductions.result import TONES, ReproducedJson
from shaketable.views.blocks import Block, Column, Entry, Sentence, Table

_HINT = (
    "`shaketable reproduce NAME` makes one again: its first form, or that of --form. What was last "
    "measured came from the command that its page names."
)


class FormJson(TypedDict):
    """One way to carry out a reproduction."""

    about: str
    takes: Annotated[str, "Time, and on what."]
    needs: Annotated[str, "Data and hardware; empty for none."]
    claims: Annotated[list[str], "What must hold."]
    deviations: list[str]
    measured: Annotated[MeasuredJson | None, "What was last measured; null if nothing was."]


class MeasuredJson(TypedDict):
    """The last measurement."""

    verdict: str
    claims: Annotated[str, "How many hold."]
    date: str
    machine: str
    time: str


class ReproductionJson(TypedDict):
    """What can be reproduced."""

    source: Annotated[str, "Paper and place."]
    about: str
    errata: list[str]
    forms: Annotated[dict[str, FormJson], "By name; the first is the default."]


class ListingJson(TypedDict):
    """All names that can be reproduced."""

    reproductions: dict[str, ReproductionJson]


ReproduceJson: TypeAlias = Annotated[
    ReproducedJson | ListingJson, "Published numbers made again, or all that can be."
]


@cache
def load_measured() -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """Return the JSON of what was last measured, by name and form."""
    folder = files("shaketable.reproductions").joinpath("measured")
    texts = [f.read_text(encoding="utf-8") for f in folder.iterdir() if f.name[-5:] == ".json"]
    found = map(json.loads, texts)
    return {(each["name"], each["form"]): each for each in found}


def list_reproductions() -> dict[str, ReproductionJson]:
    """Return all names with what they need, for programs."""
    return {
        each.name: {
            "source": each.source,
            "about": each.about,
            "errata": [*each.errata],
            "forms": {form: _describe_form(each, form) for form in each.forms},
        }
        for each in list_in_order()
    }


def _describe_form(reproduction: Reproduction, name: FormName) -> FormJson:
    form = reproduction.forms[name]
    found = load_measured().get((reproduction.name, name))
    return {
        "about": form.about,
        "takes": form.takes,
        "needs": form.needs,
        "claims": [claim.text for claim in form.claims],
        "deviations": [*form.deviations],
        "measured": None if found is None else _summarise(found),
    }


def _summarise(found: Mapping[str, Any]) -> MeasuredJson:
    verdicts = [claim["verdict"] for claim in found["claims"]]
    settings = found["settings"]
    return {
        "verdict": found["verdict"],
        "claims": f"{verdicts.count('holds')} of {len(verdicts)} hold",
        "date": settings["Date"],
        "machine": settings["Machine"],
        "time": settings["Time"],
    }


def show_reproductions() -> list[Block]:
    """Return a table of names and forms for every paper."""
    rows: dict[str, list[tuple[Entry | str, ...]]] = {}
    for each, about in zip(list_in_order(), list_reproductions().values(), strict=True):
        for i, (form_name, form) in enumerate(about["forms"].items()):
            first = "" if i else each.name
            needs = form["needs"].replace(" by --data", "") or "nothing"
            takes = re.split("[,;]", form["takes"])[0].removesuffix(" on two cores")
            row = (first, form_name, needs, takes, _show_last(form["measured"]))
            rows.setdefault(each.paper, []).append(row)
    columns = tuple(map(Column, ("name", "form", "needs", "takes", "last measured")))
    tables = (Table(paper, columns, own, limit=len(own)) for paper, own in rows.items())
    return [*tables, Sentence(_HINT)]


def _show_last(found: MeasuredJson | None) -> Entry | str:
    if found is None:
        return "not yet"
    note = f"{found['claims'].removesuffix(' hold')}, {found['time']}"
    return Entry(found["verdict"], note, tone=TONES[found["verdict"]])
