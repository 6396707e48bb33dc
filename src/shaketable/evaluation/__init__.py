"""From models, data and corruptions to records: what was measured, as counts per point.

`resolve` turns specs and suites into corruptions that are ready for the data. `noise` says which
random numbers a point gets, and `cells` applies corruptions and counts correct answers: one cell is
one model under one corruption. `evaluate` does so for fitted models, `study` trains them first.
`records` holds the results, `store` keeps them in a file with the commands that they were made by
(`command_records`), `rerun` compares them with those made again, `dry_run` says what a study would
take, `copies` writes corrupted data.
"""

from shaketable.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
