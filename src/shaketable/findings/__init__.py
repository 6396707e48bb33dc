"""What records show: findings, each computed once and displayed in several ways.

A kind of finding is one folder with the same file names: numbers (its metrics), finding (the object
with its JSON), view (its tables, sentences and words) and charts. `results` gathers all findings of
some records, `page` writes them as one HTML file.
"""

from shaketable.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
