"""Image-classification pipelines of Hugging Face: their network, classes and preprocessing."""

from __future__ import annotations

from typing import Any

from shaketable.core.errors import InputError
from shaketable.models.adapted import Adapted, adapt
from shaketable.models.preprocess import Preprocess

_RESAMPLE = {2: "bilinear", 3: "bicubic"}


def wrap(pipeline: Any) -> Adapted | None:
    """Return the network of a pipeline behind its preprocessing; None for other objects.

    Images stay floats in [0, 1], so that noise is not rounded to 256 levels. The classes are those
    that the network names; ``LABEL_0``, … stand for the classes of the data in their order.
    """
    if getattr(pipeline, "task", None) != "image-classification":
        return None
    names = [pipeline.model.config.id2label[i] for i in range(pipeline.model.config.num_labels)]
    unnamed = all(name == f"LABEL_{i}" for i, name in enumerate(names))
    preprocess = read_processor(pipeline.image_processor)
    return adapt(pipeline.model, classes=None if unnamed else names, preprocess=preprocess)


def read_processor(processor: Any) -> Preprocess:
    """Return what an image processor does to images in [0, 1]."""
    options: dict[str, Any] = {}
    if getattr(processor, "do_resize", False):
        size, resample = dict(processor.size), getattr(processor, "resample", 2)
        if "height" not in size or int(resample) not in _RESAMPLE:
            raise InputError(
                "preprocessing of the pipeline must resize to a height and width, bilinear or "
                f"bicubic, got size {size} and resample {int(resample)}; declare what comes near "
                "with adapt(pipeline, preprocess=Preprocess(…))"
            )
        options |= {"size": [size["height"], size["width"]], "resample": _RESAMPLE[int(resample)]}
    if getattr(processor, "do_center_crop", False):
        crop = dict(processor.crop_size)
        options["crop"] = [crop["height"], crop["width"]]
    if getattr(processor, "do_rescale", False):
        options["scale"] = 255 * processor.rescale_factor
    else:
        options["scale"] = 255
    if getattr(processor, "do_normalize", False):
        options |= {"mean": list(processor.image_mean), "std": list(processor.image_std)}
    return Preprocess(**options)
