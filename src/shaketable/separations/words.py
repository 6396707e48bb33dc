"""Captions of the charts of distances between classes."""

NEAREST = (
    "Bars count points, the line is their running total. Both begin at the separation 2r, which "
    "one pair of points decides."
)
LEFT_OUT = (
    "Each step to the right leaves out one more of the closest pairs. A high first step means that "
    "eps_min depends on a few points; a flat line, that it does not."
)
POINTS = "The rings and the line between them mark the pair of points that decides 2r."
