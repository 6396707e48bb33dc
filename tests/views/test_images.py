"""Images in pages: bytes, sizes and colours."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from helpers.pages import decode_png
from shaketable.views.images import encode_png, to_data_uri, to_uint8


def test_floats_of_an_image_are_rounded() -> None:
    uri = to_data_uri(np.array([[0.0, 0.999], [0.3, 1.0]]))
    assert decode_png(uri).ravel().tolist() == [0, 255, 76, 255]


def test_large_images_are_thinned_out() -> None:
    uri = to_data_uri(np.zeros((400, 50), np.uint8))
    assert decode_png(uri).shape == (134, 17, 1)


@pytest.mark.parametrize("shape", [(6, 5), (6, 5, 1), (6, 5, 3), (3, 6, 5), (1, 6, 5)])
def test_pillow_reads_the_files(shape: tuple[int, ...]) -> None:
    image = to_uint8(np.random.default_rng(0).random(shape))
    decoded = np.asarray(Image.open(BytesIO(encode_png(image))))
    np.testing.assert_array_equal(decoded, image[..., 0] if image.shape[2:] == (1,) else image)
    np.testing.assert_array_equal(decode_png(to_data_uri(image)).squeeze(), image.squeeze())
