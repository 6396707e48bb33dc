"""Labels: unique names of models in different settings; which model is the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from shaketable.evaluation.records import Record
from shaketable.findings.suite_results import SuiteResult
from shaketable.views.text import to_one_line


def distinguish(names: Sequence[str], facts: Sequence[Mapping[str, str]]) -> list[str]:
    """Append to every name those of its facts that differ; number names that are still equal.

    >>> distinguish(["net", "net", "rf"], [{"k": "k = 1"}, {"k": "k = 1"}, {"k": "k = 3"}])
    ['net, k = 1 #1', 'net, k = 1 #2', 'rf, k = 3']
    """
    known: dict[str, set[str]] = {}
    for fact, text in (item for f in facts for item in f.items()):
        known.setdefault(fact, set()).add(text)
    differing = [fact for fact, texts in known.items() if len(texts) > 1]
    labels = [
        to_one_line(", ".join([name, *(f[fact] for fact in differing if fact in f)]))
        for name, f in zip(names, facts, strict=True)
    ]
    number = {label: count(1) for label in labels}
    return [
        f"{label} #{next(number[label])}" if labels.count(label) > 1 else label for label in labels
    ]


def list_noise_facts(cell: Record) -> dict[str, str]:
    """Return the noise settings of a cell as texts, for `distinguish`."""
    setting = cell.setting
    return {
        "k": f"k = {setting.k}",
        "seed": f"seed {setting.seed}",
        "bounds": f"bounds {setting.bounds}",
        "draws": f"{setting.draws} draws",
        "noise": f"noise made on the {setting.noise}",
    }


def list_training_facts(cell: Record, training: str) -> dict[str, str]:
    """Return the training noise of a cell as a text, unless the model is named after it."""
    return {} if cell.names_training else {"train": f"training noise {training}"}


def make_suite_labels(results: Sequence[SuiteResult]) -> list[str]:
    """Return a unique label per result: the model's name and the settings that differ."""
    cells = [result.first for result in results]
    facts = [{**list_training_facts(c, c.train), **list_noise_facts(c)} for c in cells]
    return distinguish([c.model for c in cells], facts)


def choose_reference(labels: Sequence[str], reference: str = "") -> tuple[str, str]:
    """Return the label of the model that others are compared with, and why it is that one.

    >>> choose_reference(["net", "net(clean)"])
    ('net(clean)', 'the only model whose name says it was trained on clean data')
    """
    named = [label for label in labels if label == "clean" or label.endswith("(clean)")]
    if reference:
        return reference, "as chosen"
    if len(named) == 1:
        return named[0], "the only model whose name says it was trained on clean data"
    return labels[0], "the first of the table"


def choose_references(labels: Sequence[str], reference: str = "") -> tuple[dict[str, str], str]:
    """Return which model each one is compared with, and why.

    Without a choice, several networks have one reference each, if every network has a model that
    was trained on clean data; else all models are compared with one.

    >>> choose_references(["a(clean)", "a(C1)", "b(C1)", "b(clean)"])[0]
    {'a(clean)': 'a(clean)', 'a(C1)': 'a(clean)', 'b(C1)': 'b(clean)', 'b(clean)': 'b(clean)'}
    """
    networks = [label.removesuffix("clean)") for label in labels if label.endswith("(clean)")]
    if not reference and len(networks) > 1:
        own = {
            label: f"{max((n for n in networks if label.startswith(n)), key=len, default='')}clean)"
            for label in labels
        }
        if all(chosen in own for chosen in own.values()):
            return own, "of each network the model trained on clean data"
    chosen, why = choose_reference(labels, reference)
    return dict.fromkeys(labels, chosen), why
