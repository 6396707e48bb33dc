"""``shaketable adversary``: adversarial accuracy along epsilon."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shaketable.cli.flags import CHART_ENDINGS, add_options
from shaketable.cli.output import print_result
from shaketable.core.errors import InputError
from shaketable.core.options import (
    COMMON,
    LIST,
    REPEATED,
    RESULTS,
    WHOLE,
    cluster_option,
    contains,
    norm_option,
    one_of,
    option,
    out_option,
    output_file,
    parse_epsilons,
    parse_path,
    report_option,
    seed_option,
    store_option,
    switch,
)
from shaketable.data.options import DataOptions, bounds_option
from shaketable.models.options import ModelOptions, note_devices, run_model
from shaketable.views.options import PrintOptions
from shaketable.views.terminal import print_lines, print_notes

if TYPE_CHECKING:
    from shaketable.adversary.worst_case import WorstCase

ABOUT = "accuracy at the worst point around every test point"
EXAMPLES = """\
  shaketable adversary --model rf --data bands --eps eps_min,0.02 --report worst.html"""
SCHEMA = "adversary/schema.json"

_ATTACKS = "region and attacks"
_CONSTRAINTS = ("none", "genuine-max", "genuine-exact")


@dataclass(frozen=True)
class AdversaryOptions(PrintOptions):
    """Data, models, region, attacks, and what to write."""

    dataset: DataOptions = contains(
        DataOptions,
        data="file, folder or built-in set; where models are trained and there is no --test, 20 %% "
        "of the points are drawn as test points",
        points="attack only N of the test points, drawn with --seed",
    )
    models: ModelOptions = contains(ModelOptions)
    own: bool = switch("train on all points, and attack the same points", group="models")
    norm: str = norm_option("2")
    eps: tuple[float | str, ...] = option(
        "how far the adversary may go: numbers, eps_min or 0.5*eps_min, with commas",
        (),
        read=parse_epsilons,
        form=LIST,
        required=True,
        metavar="LIST",
        group=COMMON,
    )
    constraint: tuple[str, ...] = option(
        "none: the whole ball; genuine: only what is closer to the point than to any other test "
        "point, at most (max) or exactly epsilon away; repeat it to compare (default: none)",
        (),
        read=one_of("constraint", _CONSTRAINTS),
        form=REPEATED,
        metavar="|".join(_CONSTRAINTS),
        group=_ATTACKS,
    )
    attack: tuple[str, ...] = option(
        "such as 'pgd(steps=20)', 'apgd(loss=ce)', 'random(queries=1000)', 'rays', 'cover', or "
        "'package.module:name(…)' for your own; repeat it for several (default: what suits the "
        "model)",
        (),
        form=REPEATED,
        metavar="SPEC",
        group=COMMON,
    )
    random: int = option(
        "also accuracy under random noise of the same sizes, K copies of every point",
        0,
        read=int,
        form=WHOLE,
        metavar="K",
        group=_ATTACKS,
    )
    bounds: Any = bounds_option()
    seed: int = seed_option("random starts")
    out: str | None = out_option("chart to write", *CHART_ENDINGS)
    map: str | None = option(
        "chart of points of two features, for one model and one constraint: decision regions, "
        "Voronoi cells, and where the adversary went",
        read=parse_path,
        metavar="FILE",
        group=RESULTS,
    )
    examples: str | None = option(
        "adversarial examples found at the largest epsilon: rows, points, labels",
        read=output_file(".npz"),
        metavar="FILE.npz",
        group=RESULTS,
    )
    report: str | None = report_option("write a page with tables, figures and examples")
    store: str | None = store_option("it keeps the results of attacks, which are not run again")
    cluster: str | None = cluster_option()


OPTIONS = AdversaryOptions


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, models, region, attacks, and what to write."""
    add_options(parser, OPTIONS)


def run(args: argparse.Namespace) -> int:
    """Attack every model, and print its accuracies."""
    from shaketable.adversary.attacks.registry import parse_attack
    from shaketable.adversary.worst_case import worst_case
    from shaketable.core.workers.tasks import use_cluster
    from shaketable.models.devices import find_device

    options: AdversaryOptions = args.options
    sources = options.models.named()
    attacks = [parse_attack(spec) for spec in options.attack] or None
    constraints: Any = options.constraint or ("none",)
    data = options.dataset.load(seed=options.seed, points=None)  # eps_min is that of all
    plain = data.d == 2 and data.table is None
    if options.map is not None and (not plain or len(sources) > 1 or len(constraints) > 1):
        raise InputError("--map draws one model and one constraint on points of two features")
    device, fit = options.models.device, options.models.fit
    place = options.cluster is None or device is not None  # devices of a cluster are not known
    models = {}
    for name, source in sources.items():
        with run_model(name):
            models[name] = options.models.load(source, data, place=place)
    split = not options.own and (fit or any(unfitted for _, unfitted in models.values()))
    parts = []
    with use_cluster(options.cluster):
        for name, (model, unfitted) in models.items():
            with run_model(name):
                part = worst_case(
                    model,
                    data,
                    options.eps,
                    norm=options.norm,
                    constraints=constraints,
                    attacks=attacks,
                    random=options.random,
                    bounds=options.bounds,
                    seed=options.seed,
                    name=name,
                    refit=unfitted or fit,
                    own=options.own,
                    split=split,
                    unscale=True,
                    points=options.dataset.points,
                    store=options.store,
                    progress=not options.quiet,
                )
            parts.append(part)
    worst = parts[0]
    for part in parts[1:]:
        worst += part
    print_result(worst, json=options.json)
    devices = {name: find_device(model) for name, (model, _) in models.items()}
    print_notes(note_devices(device, devices))
    _write(options, worst)
    return 0


def _write(options: AdversaryOptions, worst: WorstCase) -> None:
    """Write the charts, the examples and the page that are named."""
    if options.out is not None or options.map is not None:
        from shaketable.adversary.charts import curves_chart, map_chart  # altair is slow to import
        from shaketable.views.drawing import save_chart

        if options.out is not None:
            print_lines(f"chart: {save_chart(curves_chart(worst), options.out)}", to_stderr=True)
        if options.map is not None:
            curve = worst.curves[0]
            path = save_chart(map_chart(curve, curve.accuracies[-1]), options.map)
            print_lines(f"map: {path}", to_stderr=True)
    if options.examples is not None:
        print_lines(f"examples: {worst.save_examples(options.examples)}", to_stderr=True)
    if options.report is not None:
        print_lines(f"page: {worst.report(options.report)}", to_stderr=True)
