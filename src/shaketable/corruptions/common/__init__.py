"""The 19 common corruptions of images, five severities each (Hendrycks & Dietterich, ICLR 2019).

`corruption` holds the class `CommonCorruption`, `severities` the published numbers. One module per
family (`noises`, `blurs`, `weather`, `spatter`, `digital`, `jpeg`, `elastic`) has one function per
corruption, ``(images, keys, parameters, side) -> images``, over a batch of uint8 images of shape
(n, height, width, channels), and below it the compiled loops. All randomness of image i comes from
the words of key i, so neither the batch nor the number of threads changes a result.

`filters` has the compiled loops that several families share, `textures` the ice of frost. What
depends on severity and size alone is a table that is computed once: the transition matrix of a
noise as an alias table, the taps of a blur, the operator of an elastic field.

Steps, their order and their precision are those of the original generators, down to truncation; the
tests hold independent, slow versions of each. No OpenCV, ImageMagick or Pillow is needed, except
Pillow to read textures for frost from a folder.
"""
