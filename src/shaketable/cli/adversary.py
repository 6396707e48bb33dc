"""The commands about adversaries: adversarial accuracy along epsilon, and agreement with 1-NN."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import redirect_stdout
from itertools import combinations
from typing import TYPE_CHECKING, Any

from shaketable.cli.values import bounds_from, data_from
from shaketable.core.errors import InputError
from shaketable.views.numbers import format_entry
from shaketable.views.terminal import print_notes, print_table, showing

if TYPE_CHECKING:
    from shaketable.adversary.accuracy import AdversarialAccuracy
    from shaketable.adversary.worst_case import WorstCase


def adversary(args: argparse.Namespace) -> int:
    """Find out what the worst point around every test point does to a model."""
    from shaketable.adversary.attacks.parse import parse_attack
    from shaketable.adversary.worst_case import worst_case
    from shaketable.models.classifier import load_model

    attacks = [parse_attack(spec) for spec in args.attack] or None
    constraints = args.constraint or ["none"]
    data = data_from(args)
    if args.map is not None and (data.d != 2 or len(args.model) > 1 or len(constraints) > 1):
        raise InputError("--map draws one model and one constraint on points of two features")
    models = {name: load_model(name) for name in args.model}
    split = not args.own and (args.fit or any(unfitted for _, unfitted in models.values()))
    parts = []
    for name, (model, unfitted) in models.items():
        with redirect_stdout(sys.stderr):  # whatever models print must not end up in results
            parts.append(
                worst_case(
                    model, data, args.eps, norm=args.norm, constraints=constraints,
                    attacks=attacks, random=args.random, bounds=bounds_from(args, data),
                    seed=args.seed, name=name, refit=unfitted or args.fit, own=args.own,
                    split=split, unscale=True, points=args.points, progress=not args.quiet,
                )
            )  # fmt: skip
    found = parts[0]
    for part in parts[1:]:
        found += part
    notes = data.notes()
    with showing():
        if args.json:
            print(json.dumps(found.json() | {"notes": notes}, indent=2))
        else:
            _print(found)
            print_notes(notes)
    _write(args, found, notes)
    return 0


def agreement(args: argparse.Namespace) -> int:
    """Tell which of two models labels more like 1-NN where they differ."""
    import numpy as np

    from shaketable.adversary.agreement import agreement
    from shaketable.adversary.target import Target
    from shaketable.core.norms import norm_title
    from shaketable.models.classifier import load_model
    from shaketable.separations.one_nn import one_nn

    if len(names := dict.fromkeys(args.model)) < 2:
        raise InputError("--model must name two models or more; say it again for the second")
    data = data_from(args)
    nearest = one_nn(data, norm=args.norm, seed=args.seed, progress=not args.quiet)
    classes = np.array([*data.classes, "none"], dtype=object)  # code -1 is the last
    labels: dict[str, Any] = {}
    for name in names:
        model, unfitted = load_model(name)
        with redirect_stdout(sys.stderr):
            fitted = Target.of(
                model, data, seed=args.seed, name=name, refit=unfitted or args.fit, unscale=True
            ).classifier
            labels[name] = classes[fitted(data.rows(nearest.test))]
    pairs = [
        agreement(labels[a], labels[b], nearest, ties=args.ties, names=(a, b))
        for a, b in combinations(labels, 2)
    ]
    low, high = nearest.accuracy if args.ties == "neither" else nearest.majority_accuracy
    truth = classes[nearest.y]
    accuracy = {name: float(np.mean(given == truth)) for name, given in labels.items()}
    with showing():
        if args.json:
            shown = {
                "data": data.name, "norm": args.norm, "n": len(truth),
                "one_nn": {"low": 100 * low, "high": 100 * high},
                "accuracy": {name: 100 * value for name, value in accuracy.items()},
                "pairs": [pair.json() for pair in pairs],
            }  # fmt: skip
            print(json.dumps(shown, indent=2))
            return 0
        told = f"{100 * low:.2f}" if low == high else f"{100 * low:.2f} to {100 * high:.2f}"
        print(f"{data.name}: {len(truth)} test points; {norm_title(nearest.p)} 1-NN has {told} %")
        for name, value in accuracy.items():
            print(f"{name} has {100 * value:.2f} %")
        for pair in pairs:
            print(f"\n{pair}" + (f"\n{pair.words}" if pair.differing else ""))
        print_notes(data.notes())
    return 0


def _print(found: WorstCase) -> None:
    half = "0: classes touch" if found.eps_min is None else f"{found.eps_min:.6g}"
    known = f"; {found.norm} eps_min = {half}"
    print(f"{found.data.name}: {len(found.curves[0].target.rows)} points{known}")
    for model in found.models:
        curves, noisy = found.of(model), found.random.get(model, {})
        rows = []
        for at in zip(*curves, strict=True):
            random = noisy.get(at[0].epsilon)
            rows.append([f"{at[0].epsilon:g}", *map(_told, at)])
            rows[-1] += [] if not noisy else ["" if random is None else format_entry(random)]
        header = ["epsilon", *(curve.name for curve in curves)]
        header += ["random noise"] if noisy else []
        clean = f"clean accuracy {100 * curves[0].clean:.2f} %"
        print_table(f"{model}: accuracy in %, {found.norm}; {clean}", header, rows)
        for curve in curves:
            area = f"area {curve.area:.4g} up to epsilon {curve.accuracies[-1].epsilon:g}"
            print(f"{curve.name}: {area}; {curve.bound}")
        for note in dict.fromkeys(note for curve in curves for note in curve.accuracies[-1].notes):
            print(note)
        for sentence in found.sentences(model):
            print(sentence)
    largest = max(a.epsilon for a in found.curves[0])
    rows = [
        [a.name, d.first, d.second, format_entry(d.value, signed=True), d.words]
        for a, d in found.differences()
        if a.epsilon == largest
    ]
    if rows:
        header = ["measure", "first", "second", "difference", "in words"]
        print_table(
            f"Which withstands more at epsilon {largest:g}? In percentage points", header, rows
        )


def _told(a: AdversarialAccuracy) -> str:
    """An accuracy, and of how many points where not of all."""
    if not a.n:
        return "no point has room"
    found = "" if a.remains_exactly else " found"
    return format_entry(a.estimate) + ("" if a.remains.all() else f" of {a.n}{found}")


def _write(args: argparse.Namespace, found: WorstCase, notes: list[str]) -> None:
    from shaketable.adversary.charts import curves_chart, map_chart
    from shaketable.views.drawing import save

    if args.out is not None:
        print(f"chart: {save(curves_chart(found), args.out)}", file=sys.stderr)
    curve = found.curves[0]
    if args.map is not None:
        print(f"map: {save(map_chart(curve, curve.accuracies[-1]), args.map)}", file=sys.stderr)
    if args.examples is not None:
        print(f"examples: {found.save_examples(args.examples)}", file=sys.stderr)
    if args.report is not None:
        from shaketable.adversary.page import write_worst_case

        page = write_worst_case(args.report, found, notes=notes)
        print(f"page: {page}", file=sys.stderr)
