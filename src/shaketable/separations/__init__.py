"""How far apart the classes of a data set are, and what to check before eps_min is trusted.

`separation` measures the distance between classes, `one_nn` the 1-nearest-neighbour classifier;
`audit` gathers what eps_min depends on; a `SeparationRecord` is the part of a separation that is
stored with results. `view` and `charts` show them. The exact search for nearest points of other
classes is in `search`.
"""

from shaketable.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
