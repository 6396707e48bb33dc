"""Captions of the charts of the worst case."""

WORST_CASE = (
    "One line per measure, bars are 95 % intervals. A standard measure may have to fall from "
    "eps_min on, the dashed line; a genuine one need not."
)
MAP = (
    "Colours are the model's labels, dots the points in the colour of their own labels, grey lines "
    "the borders of Voronoi cells. Each cross is a misclassified point, joined to the point it was "
    "found for."
)
