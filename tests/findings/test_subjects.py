"""Models in several settings."""

from dataclasses import replace
from typing import Any

from helpers.findings import find_subjects
from shaketable.evaluation.records import Records


def test_labels_of_subjects_are_unique(noise_records: Records) -> None:
    def renamed(records: Records, **changes: Any) -> Records:
        return replace(records, cells=tuple(replace(c, **changes) for c in records))

    same_name = [s.label for s in find_subjects(renamed(noise_records, model="net"))]
    assert len(set(same_name)) == 2
    assert all(label.startswith("net #") for label in same_name)
    other_k = tuple(
        replace(c, setting=replace(c.setting, k=20), key=c.key + "k")
        if c.corruption != "clean"
        else c
        for c in noise_records
    )
    both = replace(noise_records, cells=(*noise_records, *(c for c in other_k if c.k == 20)))
    assert [s.label for s in find_subjects(both)] == [
        "svm, k = 10", "1nn, k = 10", "svm, k = 20", "1nn, k = 20",
    ]  # fmt: skip
