"""A tiny image-classification pipeline of Hugging Face, with random weights."""

import numpy as np
import pytest

from shaketable.core.errors import InputError
from shaketable.data.arrays import make_dataset
from shaketable.models.adapted import adapt
from shaketable.models.classifier import as_classifier
from shaketable.models.preprocess import Preprocess

pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
image_module = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # many, of transformers itself

NAMES = ["cat", "dog", "owl"]
RANDOM = np.random.default_rng(0).integers(0, 256, (30, 20, 24, 3))
IMAGES = (RANDOM * np.random.default_rng(1).uniform(size=(30, 1, 1, 3))).astype(np.uint8)
DATA = make_dataset(IMAGES, np.array(["dog", "owl", "cat"] * 10))


def make_pipeline(names=NAMES, **options):
    import torch

    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=16,
        patch_size=8,
        initializer_range=1.0,
        id2label=dict(enumerate(names)),
        label2id={name: i for i, name in enumerate(names)},
    )
    processor = transformers.ViTImageProcessor(size={"height": 16, "width": 16}, **options)
    model = transformers.ViTForImageClassification(config)
    return transformers.pipeline("image-classification", model=model, image_processor=processor)


@pytest.mark.parametrize(
    "options", [{}, {"resample": 3}, {"image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.4]}]
)
def test_the_network_answers_as_the_pipeline_does(options):
    pipeline = make_pipeline(**options)
    expected = [pipeline(image_module.fromarray(image))[0]["label"] for image in IMAGES]
    classifier = as_classifier(pipeline, DATA)
    assert np.array(DATA.classes)[classifier(IMAGES)].tolist() == expected
    assert len({*expected}) > 1, "a test that can fail"
    assert classifier.identity is not None
    assert str(classifier.device) == "cpu", "a module, so that it has gradients"


def test_classes_without_names_are_those_of_the_data():
    pipeline = make_pipeline(["LABEL_0", "LABEL_1", "LABEL_2"])
    named = as_classifier(make_pipeline(), DATA)
    assert as_classifier(pipeline, DATA)(IMAGES).tolist() == named(IMAGES).tolist()
    other = as_classifier(adapt(pipeline, classes=["owl", "dog", "cat"]), DATA)
    assert other(IMAGES).tolist() == (2 - named(IMAGES)).tolist()


def test_preprocessing_that_is_not_known_is_refused_unless_declared():
    pipeline = make_pipeline(resample=1)
    with pytest.raises(InputError, match="bilinear or bicubic, got size .* and resample 1"):
        as_classifier(pipeline, DATA)
    ready = adapt(make_pipeline(), preprocess=Preprocess(size=16))
    assert len(as_classifier(ready, DATA)(IMAGES)) == 30
