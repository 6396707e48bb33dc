"""One rule says where the channels of an image are; each caller admits its own shapes."""

from itertools import product

import numpy as np
import pytest

from shaketable.core.errors import InputError
from shaketable.core.image_layout import CHANNELS, find_channels
from shaketable.corruptions.images import find_layout
from shaketable.data.images import have_image_shape
from shaketable.models import onnx_models
from shaketable.views.images import to_uint8

SIDES = (1, 2, 3, 4, 5, 8)


def test_channels_are_found_where_their_number_is_admitted():
    for counts in (CHANNELS, frozenset({1, 3}), frozenset({5})):
        for shape in product(SIDES, repeat=3):
            ends = shape[0] in counts, shape[2] in counts
            expected = {(True, True): "either", (True, False): "first", (False, True): "last"}
            assert find_channels(shape, counts) == expected.get(ends, "unknown"), shape
    assert {find_channels(shape) for shape in product(SIDES, repeat=2)} == {"absent"}
    assert {find_channels(shape) for shape in [(), (3,), (3, 8, 8, 3)]} == {"unknown"}


@pytest.mark.parametrize(
    ("shape", "as_network_input", "height_width_channels", "can_be_displayed"),
    [
        ((8, 8), (8, 8), (8, 8, 1), True),
        ((8, 6, 3), (3, 8, 6), (8, 6, 3), True),
        ((3, 8, 6), (3, 8, 6), (8, 6, 3), True),
        ((8, 6, 4), (4, 8, 6), (8, 6, 4), False),
        ((4, 8, 6), (4, 8, 6), (8, 6, 4), False),
        ((3, 8, 1), (3, 8, 1), (3, 8, 1), True),
        ((1, 8, 3), (1, 8, 3), None, True),
        ((8, 6, 5), (8, 6, 5), (8, 6, 5), False),
        ((5, 8, 6), (5, 8, 6), None, False),
    ],
)
def test_callers_agree_on_shapes(shape, as_network_input, height_width_channels, can_be_displayed):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from shaketable.models import torch_modules

    x = np.arange(2 * np.prod(shape), dtype=np.uint8).reshape(2, *shape)
    moved = torch_modules.arrange_images(torch.from_numpy(x), torch.nn.Flatten())
    assert moved.shape[1:] == as_network_input
    declared = [0] * (1 + len(shape))
    np.testing.assert_array_equal(onnx_models.fit_shape(x, declared), moved)
    if height_width_channels is None:
        with pytest.raises(InputError, match="cannot tell the channels"):
            find_layout(shape, "fog")
    else:
        first = shape[0] == height_width_channels[2] != shape[-1]
        assert find_layout(shape, "fog") == (*height_width_channels, first)
    assert have_image_shape(x) == can_be_displayed
    if can_be_displayed:
        expected = np.moveaxis(x[0], 0, 2) if find_channels(shape) == "first" else x[0]
        np.testing.assert_array_equal(to_uint8(x[0]), expected)
