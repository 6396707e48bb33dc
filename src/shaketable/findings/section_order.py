"""The order of all sections, on pages and in the terminal: the one place where it is decided."""

PLACES = (
    "summary", "verdict", "requirements", "changes", "regimes", "comparison", "suite", "sets",
    "worst-case", "maps", "smoothing", "...", "rare", "risk", "features", "groups", "measures",
    "confusion", "confidence", "inputs", "accuracy", "study", "differences", "correlation",
    "stopping", "data", "closest", "duplicates", "classes", "nearest", "one-nn", "missing", "notes",
    "errata", "method",
)  # fmt: skip
"""Names of sections in their order; ``...`` stands for those of other packages."""
