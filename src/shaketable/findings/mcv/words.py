"""Captions of the charts of mean accuracy and its variation over corrupted sets."""

MCV = (
    "One point per model: up is more accurate on average, left is steadier. Bars reach from its "
    "lowest to its highest accuracy on any set, rings are its accuracy on clean points, thin lines "
    "95 % intervals of the CV. Dashed lines through the reference separate the groups I (above and "
    "left: better and steadier), II (above and right), III (below and left) and IV."
)
FACTORS = (
    "Accuracy of the sets with a factor minus that of the same sets without it, with 95 % "
    "intervals; left of zero the factor costs accuracy."
)
