"""Show what AugMix as the authors released it changes against the original, with C2 after it.

    python benchmarks/papers/released_augmix.py cifar10.npz -o reproduced

Siedel et al. (2024) used AugMix of torchvision, where the original has 9 operations that no test
corruption repeats. Prints, for a network that two cores can train, each metric of the released one
minus the original's, paired by run, with its interval. The same call goes on with what is there.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import shaketable as st
from shaketable.reproductions.numbers import mean_over_runs
from shaketable.reproductions.papers.pnorm.regime_tables import METRICS
from shaketable.reproductions.papers.pnorm.regimes import PLANS, carry_out
from shaketable.reproductions.registry import Asked
from shaketable.reproductions.reproduce import describe_machine

PLAN = replace(PLANS["fast"].training[0], network="resnet9(width=8)", epochs=12, runs=6)
RELEASED, ORIGINAL = "AM+C2", "augmix+C2"


def main() -> None:
    """Train, evaluate, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("images", type=Path)
    parser.add_argument("-o", "--out", type=Path, default=Path("reproduced"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    asked = Asked(folder=args.out, quiet=False)
    study, _, settings = carry_out(
        asked, st.load(args.images), [PLAN], [ORIGINAL, RELEASED], "released-augmix"
    )
    assert study is not None, "without a limit of time, all runs are done"
    print(f"{settings['Network']}; {settings['Images']}; {settings['Runs']} runs")
    print(describe_machine())
    print("| metric | original, % | released, % | released minus original, points |")
    print("|---|---|---|---|")
    for metric in METRICS:
        first, second = (study.average(regime, metric) for regime in (ORIGINAL, RELEASED))
        gap = mean_over_runs(second - first)
        print(
            f"| {metric} | {first.mean():.2f} | {second.mean():.2f} | "
            f"{gap.value:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}] |"
        )


if __name__ == "__main__":
    main()
