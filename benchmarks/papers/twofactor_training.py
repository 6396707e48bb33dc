"""Two-factor training: a small residual network, trained on nine sets and evaluated on all 69.

The design of Dai & Berleant (2022), Table III, with a recent network. The training sets are those
of the suite ``two-factor-train``, drawn once before training: clean images, single faults, two
faults in sequence. All networks of a run are trained alike and evaluated under the same noise of
the suite ``two-factor``, so that comparisons are paired. It goes on where it stopped.

    python benchmarks/papers/twofactor_training.py cifar10.npz --store two.sqlite --runs 3 \
        --minutes 9
    shaketable report two.sqlite

The command for any data and network is ``shaketable study --recipe twofactor-resnet9`` with
``--train`` for every training set and ``--suite two-factor``. Prints a Markdown table: mean and CV
over the 69 sets, in every run. Results: results/twofactor_training.md.
"""

import argparse

import shaketable as st
from pieces import add_piece_flags, make_network, run_pieces
from shaketable import metrics
from shaketable.core.spec import display_name


def main() -> None:
    """Run the study, as far as time allows, and print one row per training set."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    add_piece_flags(parser, runs=3)
    args = parser.parse_args()
    records = run_pieces(
        args,
        make_network(args, "twofactor-resnet9"),
        train=st.suite("two-factor-train").names,
        corruptions=st.suite("two-factor"),
    )
    print("Every run, in per cent:\n")
    print("| training set | CV | mean | clean | lowest |")
    print("|---|---|---|---|---|")
    for name in dict.fromkeys(cell.train for cell in records):
        own = records.select(train=name)
        found = [metrics.mcv(own.select(run=run)) for run in dict.fromkeys(c.run for c in own)]
        columns = (
            [each.cv.value for each in found],
            [each.mean.value for each in found],
            [each.clean.value for each in found],
            [each.shares.mean(axis=1).min() for each in found],
        )
        cells = (", ".join(f"{100 * v:.2f}" for v in column) for column in columns)
        print(f"| {display_name(name)} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
