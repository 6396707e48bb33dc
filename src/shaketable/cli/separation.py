"""``shaketable separation``: distances between classes.

Finds the two closest points of different classes, exactly and in any p-norm. Half their distance
is eps_min, the largest noise under which no accuracy has to be lost. It also shows what eps_min
depends on: the closest pairs, duplicates, and the distances within and between the parts.
"""

from __future__ import annotations

import argparse

from shaketable.cli.flags import add_options
from shaketable.cli.output import print_json, read_results
from shaketable.views.terminal import print_lines, print_notes

ABOUT = "how far apart the classes are, and eps_min"
EXAMPLES = """\
  shaketable separation mydata.csv --label COLUMN
  shaketable separation cifar10.npz --norm 2 --report page.html
  shaketable separation train.npz --test test.npz --one-nn --json"""
SCHEMA = "shaketable.separations.audit:AuditJson"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The data, the norm, and what else is computed."""
    from shaketable.separations.options import SeparationOptions

    add_options(parser, SeparationOptions)


def run(args: argparse.Namespace) -> int:
    """Measure the separation, and print it."""
    from shaketable.core.options import write_settings, write_words
    from shaketable.core.workers.tasks import use_cluster
    from shaketable.evaluation.command_records import make_command_record
    from shaketable.evaluation.data_record import DataRecord
    from shaketable.evaluation.store import Store
    from shaketable.findings.errata.errata import (
        list_touching,
        name_data,
        name_errata,
        name_one_nn,
        note_errata,
    )
    from shaketable.findings.results import find
    from shaketable.separations.audit import audit
    from shaketable.separations.one_nn import one_nn
    from shaketable.separations.options import SeparationOptions
    from shaketable.separations.separation import SeparationRecord, separation

    options: SeparationOptions = args.options
    before = options.dataset.load(seed=options.seed, drop_clashes=False, scale=False)
    data = before.drop_clashes() if options.dataset.drop_clashes else before
    data = data.scaled() if options.dataset.scale else data
    progress = not options.quiet
    neighbours = None
    with Store(options.store) as store, use_cluster(options.cluster):
        keep = None if store.in_memory else store
        result = separation(
            data,
            norm=options.norm,
            points=not options.minimum,
            progress=progress,
            device=options.device,
            keep=keep,
            closest=options.closest + 1,  # the last pair shown has an eps_min without it too
        )
        settings = write_settings(options)
        command = make_command_record(
            "separation",
            settings,
            {},
            write_words(SeparationOptions, settings),
            fingerprint=data.fingerprint,
            models={},
            recipes=(),
            seed=options.seed,
        )
        store.add_data(DataRecord.of(data))
        store.add_command(command)
        # the file may have more than the minimum already
        if not options.minimum or store.separation(data.fingerprint, result.p) is None:
            store.add_separation(SeparationRecord.of(result, data.fingerprint))
        if options.one_nn:
            neighbours = one_nn(
                data,
                norm=options.norm,
                seed=options.seed,
                progress=progress,
                device=options.device,
                keep=keep,
            )
    found = audit(
        result,
        data,
        closest=options.closest,
        before=before if options.dataset.drop_clashes else None,
        one_nn=neighbours,
    )
    subjects = {name_data(data.name), *([] if neighbours is None else [name_one_nn(neighbours.p)])}
    errata = list_touching(subjects)
    if options.json:
        print_json({**found.json(), **name_errata(errata)})
    else:
        found.print()
    print_notes(note_errata(errata))
    if options.report is not None:
        from shaketable.findings.page import record_audit, write_report  # loads the charts

        if options.store is None:
            results = find(record_audit(found, command))
        else:
            results = read_results(options.store)
        page = write_report(options.report, results, dataset=data, audits=[found])
        print_lines(f"page: {page}", to_stderr=True)
    return 0
