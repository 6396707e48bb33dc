"""All findings together: what is printed, keys of JSON, the order of sections."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from helpers.findings import find_once, find_subjects, print_results, score_boards
from helpers.pages import read_page
from shaketable import load, make_dataset, study
from shaketable.core.errors import InputError
from shaketable.corruptions.suites.suite import suite
from shaketable.data.dataset import Dataset
from shaketable.evaluation.evaluate import evaluate
from shaketable.evaluation.records import Records
from shaketable.evaluation.store import Store
from shaketable.findings.page import write_report
from shaketable.findings.results import Results, find
from shaketable.separations.separation import SeparationRecord
from shaketable.views.blocks import Block, Cards, Heading, Sentence


def test_corruptions_outside_suites_are_printed_as_without_suites(
    capsys: pytest.CaptureFixture[str], tiles: Dataset
) -> None:
    def model(x: Any) -> Any:
        return x.mean(axis=(1, 2)) > 0.5

    specs = ["linf(eps_min)", "l2(0.3)"]
    records = evaluate(model, tiles, [suite("pnorm"), *specs], name="net", model_id="net")
    plain = evaluate(model, tiles, specs, name="net", model_id="net")
    out, alone = print_results(capsys, records), print_results(capsys, plain)
    verdicts, expected = (
        next(b for b in find(r).blocks() if isinstance(b, Cards)) for r in (records, plain)
    )
    assert verdicts == expected
    assert "verdict by suite pnorm" in out
    assert "verdict by suite" not in alone
    assert out.count("MSCR is not known") == 1, "of the L2 noise"


def test_noise_of_size_eps_min_in_a_suite_is_also_listed_alone(
    capsys: pytest.CaptureFixture[str], suite_records: Records
) -> None:
    known = SeparationRecord(
        suite_records.cells[0].fingerprint, math.inf, 0.08, (0, 1), (0, 1), None, {}, None
    )
    records = replace(suite_records, separations=(known,))
    subjects = find_subjects(records)
    assert [[s.first.corruption for s in subject.noisy] for subject in subjects] == [
        ["linf(0.04)"]
    ] * 2
    out = print_results(capsys, records)
    assert out.count("linf(eps_min)  ") == 2
    assert [len(b.scores[0].result.series) for b in score_boards(records)] == [89, 6]


def test_unfinished_suites_are_listed_cell_by_cell(
    capsys: pytest.CaptureFixture[str], suite_records: Records
) -> None:
    first = suite_records.select(model="half")
    part = replace(first, cells=tuple(c for c in first if c.corruption != "linf(0.15)"))
    pnorm = replace(part, suites=part.suites[:1])
    assert score_boards(pnorm) == []
    assert "linf(0.12)" in print_results(capsys, pnorm)
    assert not any(s.left_to_suites for s in find_subjects(pnorm))


def test_suites_of_other_calls_are_not_reported_as_unfinished(
    tmp_path: Path, tiles: Dataset
) -> None:
    def model(x: Any) -> Any:
        return x[:, 0, 0] > 0.5

    file = tmp_path / "r.sqlite"
    asked = evaluate(model, tiles, suite("ice"), model_id="a", store=file)
    specs = asked.suites[0].specs
    single = evaluate(model, tiles, specs[0], model_id="b", store=file)
    assert find(single).json()["notes"] == []
    assert ["have errata" in note for note in find(asked).json()["notes"]] == [True]
    listed = evaluate(model, tiles, specs, model_id="c", store=file)
    assert listed.suites == asked.suites, "these cells cover it"


def test_a_results_file_gives_the_same_results(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tiles: Dataset
) -> None:
    file = tmp_path / "r.sqlite"
    now = evaluate(lambda x: x[:, 0, 0] > 0.5, tiles, suite("ice"), name="pixel", store=file)
    with Store(file) as store:
        later = store.records()
    out = print_results(capsys, now)
    assert "pixel: iCE" in out
    assert print_results(capsys, later) == out
    assert find(later).json() == find(now).json()


@dataclass(frozen=True)
class OtherFinding:
    """A finding as another package may declare it."""

    def json(self) -> dict[str, Any]:
        return {"models": []}

    def blocks(self) -> list[Block]:
        return [
            Sentence("first of all", level="headline"),
            Heading("Other", "other", "Other"),
            Sentence("other finding"),
        ]


def add_finding(records: Records, finding: OtherFinding) -> Results:
    """All findings of the records and another one."""
    results = find_once(records)
    return replace(results, findings={**results.findings, "other": finding})


def test_two_findings_must_not_use_the_same_json_key(noise_records: Records) -> None:
    results = add_finding(noise_records, OtherFinding())
    with pytest.raises(InputError, match="finding 'other' must not use the JSON key 'models'"):
        results.json()


def list_sections(results: Results) -> list[str]:
    """Places of all sections."""
    return [b.place for b in results.blocks() if isinstance(b, Heading) and b.place]


def test_terminal_and_page_have_sections_in_the_order_of_places(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, mixed_records: Records, data: Dataset
) -> None:
    results = add_finding(mixed_records, OtherFinding())
    ids = list_sections(results)
    after = ["risk", "groups", "measures", "confusion", "confidence", "inputs", "accuracy"]
    first = ["summary", "verdict", "regimes", "comparison", "other"]
    assert ids == [*first, *after, "study", "differences"]
    results.print()
    out = capsys.readouterr().out
    texts = (
        "first of all",
        "accuracy of the first",
        "other finding",
        "accuracy and its change",
        "test \\",
    )
    places = [out.index(text) for text in texts]
    assert places == sorted(places)
    page = read_page(write_report(tmp_path / "r.html", results, dataset=data))
    sections = [attrs["id"] for tag, attrs in page.elements if tag == "section"]
    distances = ["data", "closest", "duplicates", "classes", "nearest"]
    others = [place for place in distances if place in sections]
    assert sections == [*ids, *others, "missing", *(["notes"] * ("notes" in sections)), "method"]
    assert "closest" in sections
    links = [str(attrs["href"])[1:] for tag, attrs in page.elements if tag == "a"]
    skip, contents, others = links[0], links[1 : len(sections) + 1], links[len(sections) + 1 :]
    assert (skip, contents) == ("results", sections)
    assert set(others) <= {*ids}, "of the summary"


def test_sections_of_suites_follow_the_verdict(ice_records: Records, tiles: Dataset) -> None:
    more = evaluate(lambda x: x[:, 0, 0] > 0.5, tiles, ["linf(eps_min)"], name="dot")
    ids = list_sections(find(ice_records + more))
    assert ids[:4] == ["summary", "verdict", "comparison", "suite"]


def test_records_without_a_cell_are_refused() -> None:
    with pytest.raises(InputError, match="at least one cell"):
        find(Records(()))


@pytest.mark.parametrize(
    ("n_train", "runs", "noted"), [(40, 2, True), (None, 2, False), (40, 1, 0)]
)
def test_a_fixed_test_part_is_told_from_the_records(
    tmp_path: Path, n_train: int | None, runs: int, noted: bool
) -> None:
    bands = load("bands(n=60)")
    data = make_dataset(bands.x, bands.labels, name="mine", n_train=n_train)
    study(data, "1nn", runs=runs, k=1, n_jobs=1, store=tmp_path / "s.sqlite")
    with Store(tmp_path / "s.sqlite") as store:
        results = find(store.everything())
    notes = [note for note in results.json()["notes"] if note.startswith("mine has a fixed test p")]
    assert len(notes) == noted
    page = read_page(write_report(tmp_path / "p.html", results))
    assert ("fixed test part" in page.text) == bool(noted)


def test_a_fixed_test_part_is_told_beside_other_data_of_that_name(tmp_path: Path) -> None:
    bands = load("bands(n=60)")
    for n_train in (40, None):
        data = make_dataset(bands.x, bands.labels, name="mine", n_train=n_train)
        study(data, "1nn", runs=2, k=1, n_jobs=1, store=tmp_path / "s.sqlite")
    with Store(tmp_path / "s.sqlite") as store:
        notes = find(store.everything()).json()["notes"]
    assert len([note for note in notes if note.startswith("mine has a fixed test part")]) == 1
