"""Data sets: points with classes, from arrays, files, folders of images and built-in names.

`files.load` and `files.as_dataset` choose the reader; `arrays.make_dataset` checks what is read and
builds the `dataset.Dataset` that every other package takes.

uint8 images count as x/255, wherever they come from; everything else keeps its own units.
"""

from shaketable.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
