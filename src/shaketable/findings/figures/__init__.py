"""Figures for papers and reports: one function each, as charts that can be saved.

Each is drawn from findings, records or a results file, says in its title what it shows, and draws
intervals where there are any. ``save`` writes PNG, SVG, PDF, HTML or JSON::

    import shaketable as st
    st.figures.save(st.figures.draw_tradeoff("study.sqlite"), "tradeoff.pdf")

To add a figure, copy another one; a new file is named in `registry`.
"""

from shaketable.findings.figures.learning import draw_learning
from shaketable.findings.figures.models import draw_errors, draw_models, draw_tradeoff
from shaketable.findings.figures.norms import draw_transfer
from shaketable.findings.figures.plane import draw_plane
from shaketable.findings.figures.registry import draw
from shaketable.findings.figures.studies import draw_convergence, draw_copies, draw_optima
from shaketable.views.drawing import save_chart

__all__ = [
    "draw",
    "draw_convergence",
    "draw_copies",
    "draw_errors",
    "draw_learning",
    "draw_models",
    "draw_optima",
    "draw_plane",
    "draw_tradeoff",
    "draw_transfer",
    "save",
]

save = save_chart
