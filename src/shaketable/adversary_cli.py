"""The command about adversaries: standard and genuine adversarial accuracy along epsilon."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from shaketable.errors import InputError, UndefinedError
from shaketable.settings import bounds_from, data_from
from shaketable.terminal import print_notes, print_table, showing

if TYPE_CHECKING:
    from shaketable.adversary.curves import Curve
    from shaketable.data import Dataset


def adversary(args: argparse.Namespace) -> int:
    """Find out what the worst point around every test point does to a model."""
    from shaketable.adversary.curves import adversarial_curve
    from shaketable.adversary.parse import parse_attack
    from shaketable.models import load_model

    args.constraint = args.constraint or ["none"]
    attacks = [parse_attack(spec) for spec in args.attack] or None
    data = data_from(args)
    if args.map is not None and (data.d != 2 or len(args.model) > 1 or len(args.constraint) > 1):
        raise InputError("--map draws one model and one constraint on points of two features")
    eps_min = _eps_min(args, data)
    ladder = [_size(e, eps_min) for e in args.eps]
    curves: list[Curve] = []
    for name in args.model:
        model, unfitted = load_model(name)
        for constraint in args.constraint:
            with redirect_stdout(sys.stderr):  # whatever models print must not end up in results
                curves.append(
                    adversarial_curve(
                        model, data, ladder, norm=args.norm, constraint=constraint, attacks=attacks,
                        bounds=bounds_from(args, data), seed=args.seed, name=name,
                        refit=unfitted or args.fit, own=args.own,
                        unscale=True, points=args.points,
                        progress=not args.quiet,
                    )
                )  # fmt: skip
    random = _random(args, data, ladder) if args.random else {}
    with showing():
        if args.json:
            found: dict[str, Any] = {"eps_min": eps_min, "curves": [c.json() for c in curves]}
            print(json.dumps(found | {"random": random}, indent=2))
        else:
            _print(curves, eps_min, random)
    print_notes(data.notes())
    _write(args, data, curves, eps_min, random)
    return 0


def _print(curves: list[Curve], eps_min: float | None, random: dict[str, Any]) -> None:
    from shaketable.norms import norm_title

    first = curves[0].accuracies[0]
    known = "" if eps_min is None else f"; {norm_title(first.p)} eps_min = {eps_min:.6g}"
    print(f"{curves[0].data}: {len(first.remains)} points{known}")
    for curve in curves:
        rows = []
        for a in curve:
            found = a.estimate.percent() if a.n else "no point has room"
            share = f"{100 * a.share:.1f}{'' if a.remains_exactly else ' found'}"
            rows.append([f"{a.epsilon:g}", found, share, str(len(a.examples)), f"{a.queries:,}"])
        header = ["epsilon", "accuracy, %", "points with room, %", "examples", "queries"]
        clean = f"clean accuracy {100 * curve.clean:.2f} %"
        title = f"{curve.model}: {curve.title}, {norm_title(first.p)}; {clean}"
        print_table(title, header, rows)
        print(f"area under it: {curve.area:.4g}; {curve.accuracies[-1].bound}")
        for note in curve.accuracies[-1].notes:
            print(note)
    for model, points in random.items():
        rows = [[f"{e:g}", f"{100 * v:.2f} [{100 * lo:.2f}, {100 * hi:.2f}]"]
                for e, (v, lo, hi) in points]  # fmt: skip
        print_table(f"{model}: accuracy under random noise", ["epsilon", "accuracy, %"], rows)


def _write(
    args: argparse.Namespace, data: Dataset, curves: list[Curve], eps_min: float | None, random: Any
) -> None:
    if args.out is not None:
        from shaketable.adversary_charts import curves_chart
        from shaketable.drawing import save

        chart = curves_chart(curves, eps_min=eps_min, random=random)
        print(f"chart: {save(chart, args.out)}", file=sys.stderr)
    if args.map is not None:
        from shaketable.adversary_charts import map_chart
        from shaketable.drawing import save

        chart = map_chart(*curves[0].plane, curves[0].accuracies[-1], curves[0].rows)
        print(f"map: {save(chart, args.map)}", file=sys.stderr)
    if args.examples is not None:
        import numpy as np

        last = curves[0].accuracies[-1].examples
        classes = np.array([*map(str, data.classes), "none"])
        try:
            with open(args.examples, "wb") as file:
                np.savez_compressed(
                    file, rows=last.rows, x=last.moved, predicted=classes[last.codes],
                    label=classes[data.y[last.rows]],
                )  # fmt: skip
        except OSError as error:
            raise InputError(f"--examples cannot be written: {error.strerror}") from error
        print(f"{len(last)} examples: {args.examples}", file=sys.stderr)


def _size(given: float | str, eps_min: float | None) -> float:
    if given != "eps_min":
        return float(given)
    if eps_min is None:
        raise UndefinedError("eps_min is 0 on these data: classes touch; give numbers for --eps")
    return eps_min


def _eps_min(args: argparse.Namespace, data: Dataset) -> float | None:
    """Half the separation of the data; None where classes touch."""
    from shaketable.separations import separation

    try:
        return separation(data, norm=args.norm, points=False).epsilon_min
    except UndefinedError:
        return None


def _random(args: argparse.Namespace, data: Dataset, ladder: list[float]) -> dict[str, Any]:
    """Accuracy of every model under random noise of the same sizes."""
    from shaketable import metrics
    from shaketable.evaluation import evaluate
    from shaketable.models import load_model
    from shaketable.norms import as_p, norm_name
    from shaketable.spec import format_value

    norm, found = norm_name(as_p(args.norm)), {}
    specs = [f"{norm}({format_value(e)})" for e in ladder if e > 0]
    for name in args.model:
        model, unfitted = load_model(name)
        with redirect_stdout(sys.stderr):
            records = evaluate(
                model, data, specs, k=args.random, seed=args.seed, name=name,
                bounds=bounds_from(args, data), refit=unfitted or args.fit, unscale=True,
                draws="ladder", progress=not args.quiet,
            )  # fmt: skip
        values = [metrics.accuracy(records, corruption=spec) for spec in specs]
        found[name] = [
            (e, (v.value, v.low, v.high))
            for e, v in zip([e for e in ladder if e > 0], values, strict=True)
        ]
    return found
