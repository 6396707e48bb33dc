"""The 19 common corruptions of images, five severities each (Hendrycks & Dietterich, ICLR 2019).

`corruption` holds the class `CommonCorruption`, `severities` the published numbers. One module per
family (`noises`, `blurs`, `weather`, `digital`, `jpeg`, `elastic`) has one function per corruption,
``(images, keys, parameters, side) -> images``, over a batch of uint8 images of shape
(n, height, width, channels); image i is corrupted by key i alone. Compiled loops stand beside
their family in ``*_kernels``; `filters` has those that several families share.
"""
