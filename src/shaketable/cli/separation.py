"""``shaketable separation``: distances between classes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from shaketable.cli.flags import add_options
from shaketable.cli.output import print_json
from shaketable.views.terminal import print_lines

if TYPE_CHECKING:
    from shaketable.separations.options import SeparationOptions

ABOUT = "how far apart the classes are, and eps_min"
EXAMPLES = """\
  shaketable separation mydata.csv --label COLUMN --report separation.html"""
SCHEMA = "shaketable.separations.audit:AuditJson"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The data, the norm, and what else is computed."""
    from shaketable.separations.options import SeparationOptions

    add_options(parser, SeparationOptions)


def run(args: argparse.Namespace) -> int:
    """Measure the separation, and print it."""
    from shaketable.core.workers.tasks import use_cluster
    from shaketable.evaluation.store import Store
    from shaketable.separations.audit import audit
    from shaketable.separations.one_nn import one_nn
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
        if not options.minimum:  # evaluate needs no other separation then
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
    if options.json:
        print_json(found.json())
    else:
        found.print()
    if options.report is not None:
        print_lines(f"page: {found.report(options.report)}", to_stderr=True)
    return 0
