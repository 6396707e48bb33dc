"""Data sets: points with classes, from arrays, files, folders of images and built-in names.

`files.load` and `files.as_dataset` choose the reader; `arrays.make_dataset` checks what is read and
builds the `dataset.Dataset` that every other package takes.

Arrays keep their own units. A uint8 `Dataset`, such as a file of images, stands for x/255.
"""
