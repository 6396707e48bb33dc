"""Published augmentations of batches of images, by key and on the device that holds the batch.

An augmentation is a frozen dataclass whose fields are its parameters. It is called with a batch
(N, C, H, W), on any device, and one key per image. Nothing else is random: no generator has to be
kept, a training that is resumed gets the same images, and an image gets the same result in any
batch. Values are in [0, 1]; uint8 counts as x/255. What comes back has the type that was given.
Training maps images of other ranges to [0, 1] before the first augmentation, and back after the
last one (`operations`).

*Drawing* happens on the host, from the keys (`plans`): which operation every image gets, and its
parameters, as small arrays. *Applying* happens on the device (`operations`): images are sorted by
operation, so that each operation is computed once, for all images that have drawn it and for no
other, and all parameters are moved in one transfer. Sizes are known on the host, so nothing waits
for the device. Convolutions and matrix products are avoided: they would lose digits under autocast
and TF32. On CUDA one kernel does all operations of a step instead (`kernels`): hundreds of small
ones take longer to start than to run. Its results differ by rounding, which also decides between
two pixels that are equally near.

`registry` holds the names and reads specs such as ``randaugment(n=2, m=9)``.
"""
