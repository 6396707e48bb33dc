"""``shaketable evaluate``: fitted models under noise and other corruptions.

Corrupts every test point, asks the models for their answers, and counts how many are right: on
clean points, under noise of size eps_min, or under the corruptions and suites that are named. It
prints accuracies, MSCR, bounds and comparisons of the models, with intervals.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from shaketable.cli.flags import add_options
from shaketable.cli.output import conclude

if TYPE_CHECKING:
    from shaketable.data.dataset import Dataset
    from shaketable.evaluation.evaluate_options import EvaluateOptions
    from shaketable.evaluation.records import Records

ABOUT = "measure models under noise and other corruptions"
EXAMPLES = """\
  shaketable evaluate --model rf --model 1nn --data bands --store r.sqlite --report r.html
  shaketable evaluate --model pipeline.joblib --trust --data people.csv --label risk --by sex
  shaketable evaluate --model net.onnx --data test.npz --suite common-19 --store r.sqlite
  shaketable evaluate --model new=a.skops --model old=b.skops --data test.csv --label y \\
      --corruptions 'jitter(0.2)' --require 'difference(new, old).accuracy >= -0.5'"""
SCHEMA = "shaketable.findings.schema:ReportJson"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, models, corruptions, and where results go."""
    from shaketable.evaluation.evaluate_options import EvaluateOptions

    add_options(parser, EvaluateOptions)


def run(args: argparse.Namespace) -> int:
    """Evaluate the models, and print the results."""
    from shaketable.activities.evaluate import measure, read_inputs
    from shaketable.activities.held_out import note_training_points
    from shaketable.activities.stopping import note_shortfall
    from shaketable.evaluation.evaluate import check_complete
    from shaketable.evaluation.records import Records, list_devices
    from shaketable.findings.results import find
    from shaketable.models.options import note_devices
    from shaketable.separations.pair import note_eps_min
    from shaketable.statistics.families import use_intervals

    options: EvaluateOptions = args.options
    inputs = read_inputs(options)
    data, notes = inputs.data, list[str]()
    records = sum((measure(each, inputs) for each in options.split_copies()), start=Records(()))
    if not options.models.fit:
        notes += inputs.notes + note_training_points(inputs.models, data)
    notes += note_shortfall(inputs.rule, records, "points")
    notes += note_devices(options.models.device, list_devices(records))
    if options.device_noise:
        notes += _note_noise_of_the_cpu(records, data)
    notes += note_eps_min(data, records.separations)
    with use_intervals(options.intervals):
        results = find(
            records, reference=options.reference or "", metric=options.metric or "", notes=notes
        )
        if options.inputs is not None:
            results = results.show_inputs(data, options.inputs)
        code = conclude(options, results, dataset=data)
    check_complete(records)
    return code


def _note_noise_of_the_cpu(records: Records, data: Dataset) -> list[str]:
    """Say which corruptions were made on the CPU though the flags ask for the device."""
    from shaketable.corruptions import parse
    from shaketable.views.text import join_distinct

    here = ("cpu",) if data.x.dtype == "uint8" else ("cpu", "any")
    made = dict.fromkeys(parse(r.corruption) for r in records if r.corruption != "clean")
    names = join_distinct(c.ladder for c in made if c.traits.made_on in here)
    return [f"made on the CPU in spite of --device-noise: {names}"] if names else []
