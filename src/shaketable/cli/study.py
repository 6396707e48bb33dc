"""``shaketable study``: training noise against test noise, over many runs.

Trains every model with every training noise, tests it with every test noise, and repeats this with
new splits and new noise. Estimates are means over runs, with intervals. Flags may stand in a study
file, of which init writes a commented one. With --store, an interrupted study goes on.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from typing import TYPE_CHECKING

from shaketable.cli.flags import add_options
from shaketable.cli.output import conclude, print_result, read_group
from shaketable.cli.study_file import INIT, NEW_FILE, write_study_file
from shaketable.core.errors import InputError
from shaketable.core.options import write_settings
from shaketable.views.terminal import print_lines

if TYPE_CHECKING:
    from shaketable.activities.study import Inputs
    from shaketable.evaluation.evaluate_options import StudyOptions

ABOUT = "train with noise, test with noise, over many runs"
EXAMPLES = """\
  shaketable study --data bands --model rf --train-eps 0,eps_min \\
      --test-eps eps_min,0.02 --runs 20 --store s.sqlite
  shaketable study init study.toml --data mydata.csv --label y --model rf
  shaketable study --data cifar10.npz --network resnet9 --train clean --train C1 \\
      --suite pnorm-cifar --runs 3 --dry-run"""
SCHEMA = "shaketable.findings.schema:ReportJson"
DRY_RUN_SCHEMA = "shaketable.evaluation.dry_run:DryRunJson"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Data, models, sizes of noise, runs, and where results go; or a file that says it."""
    from shaketable.evaluation.evaluate_options import StudyOptions

    add_options(parser, StudyOptions)


def run(args: argparse.Namespace) -> int:
    """Carry out the study, and print it; or write a study file, or say what it would take."""
    from shaketable.models.options import note_devices

    options: StudyOptions = args.options
    if options.file == INIT:
        return _write_file(options)
    if options.new is not None:
        raise InputError(f"unexpected argument {options.new!r}; see shaketable study --help")
    group = read_group(options.group)
    from shaketable.activities.stopping import note_shortfall
    from shaketable.activities.study import measure, read_inputs
    from shaketable.evaluation.evaluate import check_complete
    from shaketable.evaluation.records import Records, list_devices
    from shaketable.findings.results import find
    from shaketable.separations.pair import note_eps_min
    from shaketable.statistics.families import use_intervals

    inputs = read_inputs(options)
    if options.dry_run:
        return _print_dry_run(options, inputs)
    data = inputs.data
    records = sum((measure(each, inputs) for each in options.split_copies()), start=Records(()))
    notes = note_shortfall(inputs.options.until, records, "runs")
    notes += note_devices(options.models.device, list_devices(records))
    notes += note_eps_min(data, records.separations)
    with use_intervals(options.intervals):
        try:
            results = find(records, baseline=options.baseline or "", group=group, notes=notes)
        except InputError:  # the flags do not fit the results, which must not be lost
            conclude(options, find(records, notes=notes), dataset=data)
            raise
        code = conclude(options, results, dataset=data)
    check_complete(records)
    return code


def _write_file(options: StudyOptions) -> int:
    """Write a study file with the settings that were given, or with those of an example."""
    path = options.new or NEW_FILE
    write_study_file(path, write_settings(options, everything=True))
    print_lines(f"{path} is written; what it would take: shaketable study {path} --dry-run")
    return 0


def _print_dry_run(options: StudyOptions, inputs: Inputs) -> int:
    """Print what the study would take."""
    from shaketable.evaluation.dry_run import dry_run

    with redirect_stdout(sys.stderr):
        first, *others = (
            dry_run(inputs.data, inputs.models, replace(inputs.options, k=each.k))
            for each in options.split_copies()
        )
    print_result(sum(others, start=first), json=options.json)
    return 0
