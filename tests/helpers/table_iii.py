"""Table III of Dai & Berleant (2022), as printed: 3 networks, each trained on 9 sets."""

from shaketable.findings.mcv.variation import Summary, VariationTable

# network, training set, CV, mean, clean, minimum, maximum of the accuracies in per cent
PRINTED = """
AlexNet clean 2.28 85.25 92.08 83.18 92.08
AlexNet GA0.1 1.50 89.60 90.9 87.22 91.7
AlexNet GA0.1SP0.1 1.33 89.75 90.82 87.62 91.42
AlexNet RL30 3.33 85.75 90.72 82.12 91.42
AlexNet RR30 3.07 86.33 90.74 82.64 91.7
AlexNet SP0.1 1.33 89.44 90.78 86.68 91.18
AlexNet SP0.1GA0.1 1.04 89.67 91.3 87.96 91.38
AlexNet SP0.1RL30 1.92 88.39 89.96 85.3 91.6
AlexNet SP0.1RR30 1.56 88.79 90.52 85.98 91.36
ResNet50 clean 2.56 88.56 91.18 85.46 91.5
ResNet50 GA0.1 0.22 81.98 82.4 81.68 82.4
ResNet50 GA0.1SP0.1 0.37 82.17 82.56 81.6 82.64
ResNet50 RL30 2.50 84.83 83.8 83.12 89.48
ResNet50 RR30 2.62 85.20 83.68 83.2 90
ResNet50 SP0.1 0.29 82.27 82.86 82 82.86
ResNet50 SP0.1GA0.1 0.12 81.97 81.9 81.72 82.18
ResNet50 SP0.1RL30 1.85 84.66 84.16 82.86 88.04
ResNet50 SP0.1RR30 2.62 83.54 82.34 81.68 88.22
VGG-19 clean 3.98 91.13 94.92 86.38 94.92
VGG-19 GA0.1 2.81 89.78 92.48 85.22 92.48
VGG-19 GA0.1SP0.1 1.83 91.18 92.82 88.94 92.94
VGG-19 RL30 1.51 89.94 90.32 87.26 92.9
VGG-19 RR30 1.36 89.34 90.04 86.96 91.6
VGG-19 SP0.1 1.37 90.72 92.28 88.96 92.36
VGG-19 SP0.1GA0.1 2.07 89.77 92.16 87.06 92.16
VGG-19 SP0.1RL30 1.04 90.08 90.48 87.78 91.92
VGG-19 SP0.1RR30 1.24 88.30 88.72 86.1 90.92
"""

SINGLE = ("SP0.1", "GA0.1", "RL30", "RR30")
NETWORKS = ("AlexNet", "ResNet50", "VGG-19")


def _row(line: str) -> tuple[str, str, Summary]:
    network, trained, *numbers = line.split()
    cv, mean, clean, least, most = map(float, numbers)
    return network, trained, Summary(f"{network}({trained})", mean, cv, least, most, clean)


ROWS = tuple(map(_row, PRINTED.strip().splitlines()))
"""Network, training set and numbers of every model."""
ALL = VariationTable([row for _, _, row in ROWS])
TABLES = {name: VariationTable([row for n, _, row in ROWS if n == name]) for name in NETWORKS}
"""Models by network; each table has its own reference."""


def trained_on(kind: str) -> list[Summary]:
    """Models trained on ``clean`` images, or on images with a ``single`` or ``two`` factors."""
    kinds = {"clean": "clean", **dict.fromkeys(SINGLE, "single")}
    return [row for _, trained, row in ROWS if kinds.get(trained, "two") == kind]
