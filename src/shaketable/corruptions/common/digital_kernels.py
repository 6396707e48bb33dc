"""Compiled loops of brightness, saturate, contrast and pixelate, over batches of images."""
# numba compiles these functions from the types of a call, so they carry no annotations
# mypy: ignore-errors
# ruff: noqa: PLR0917

import numba
import numpy as np

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
_BLOCK = 256  # pixels whose colours are computed at a time
_BITS = 22  # after the point, of Pillow's weights
_HALF = np.int32(1 << (_BITS - 1))


@_compiled
def shift_hsv(images, out, factor, offset, brighten):
    """Replace V by V + brighten and S by S * factor + offset, both clipped to [0, 1]."""
    pixels, shifted = images.reshape(-1, 3), out.reshape(-1, 3)
    r, g, b = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for start in range(0, len(pixels), _BLOCK):
        size = min(_BLOCK, len(pixels) - start)
        block = pixels[start : start + size]
        for i in range(size):
            r[i] = block[i, 0] / 255.0
            g[i] = block[i, 1] / 255.0
            b[i] = block[i, 2] / 255.0
        _shift(r[:size], g[:size], b[:size], factor, offset, brighten)
        block = shifted[start : start + size]
        for i in range(size):
            block[i, 0] = np.int32(r[i])
            block[i, 1] = np.int32(g[i])
            block[i, 2] = np.int32(b[i])


@_compiled
def _shift(red, green, blue, factor, offset, brighten):
    """Shift colours in [0, 1], and scale them to [0, 255], in the order of scikit-image.

    There are selections but no branches, so that the loop is vectorised.
    """
    for i in range(len(red)):
        r, g, b = red[i], green[i], blue[i]
        v = max(r, g, b)
        delta = v - min(r, g, b)
        is_grey, is_blue, is_red = delta == 0.0, b == v, g != v
        more = r if is_blue else (g if is_red else b)
        less = g if is_blue else (b if is_red else r)
        start = 4.0 if is_blue else (0.0 if is_red else 2.0)
        h = (start + (more - less) / delta) / 6.0
        h += 1.0 if h < 0.0 else 0.0
        h *= 6.0
        h = 0.0 if is_grey else h
        s = delta / v
        s = 0.0 if is_grey else s

        s = min(max(s * factor + offset, 0.0), 1.0)
        v = min(max(v + brighten, 0.0), 1.0)

        sector = np.float64(np.int32(h))
        f = h - sector
        p = v * (1.0 - s) * 255.0
        q = v * (1.0 - f * s) * 255.0
        t = v * (1.0 - (1.0 - f) * s) * 255.0
        v *= 255.0
        odd = (sector == 1.0) | (sector == 3.0) | (sector == 5.0)
        early, middle = sector < 2.0, sector < 4.0
        first = q if odd else v
        second = v if odd else t
        red[i] = first if early else (p if middle else second)
        green[i] = second if early else (first if middle else p)
        blue[i] = p if early else (second if middle else first)


@_compiled
def flatten(images, out, factor):
    """Move every value towards its channel's mean in the image, by a table of the 256 levels."""
    n, height, width, channels = images.shape
    size = height * width
    levels = np.arange(256) / 255.0
    table = np.empty((channels, 256), np.uint8)
    for row in range(n):
        pixels, flat = images[row].reshape(size, channels), out[row].reshape(size, channels)
        for c in range(channels):
            total = 0.0
            for i in range(size):
                total += levels[pixels[i, c]]
            mean = total / size
            for level in range(256):
                x = (levels[level] - mean) * factor + mean
                table[c, level] = np.int32(min(max(x, 0.0), 1.0) * 255.0)
            for i in range(size):
                flat[i, c] = table[c, pixels[i, c]]


@_compiled
def enlarge_pixels(images, out, left, across, wide, top, down, high):
    """Write the mean of the pixels in every box to the pixels that are nearest to the box.

    For the values of a row, `left` holds the first value of every box, `across` the weights from
    there on, and `wide` the box of every value of the result; `top`, `down` and `high` are the
    same for rows.
    """
    n, height, width, channels = images.shape
    size = len(left)
    narrow = np.empty((height, size), np.uint8)
    small = np.empty((len(top), size), np.uint8)
    total = np.empty(size, np.int32)
    for row in range(n):
        for y in range(height):
            line = images[row, y].reshape(-1)
            total[:] = _HALF
            for k in range(len(across)):
                for i in range(size):
                    total[i] += across[k, i] * np.int32(line[left[i] + k * channels])
            for i in range(size):
                narrow[y, i] = total[i] >> _BITS
        for y in range(len(top)):
            total[:] = _HALF
            for k in range(down.shape[1]):
                weight, line = down[y, k], narrow[top[y] + k]
                for i in range(size):
                    total[i] += weight * np.int32(line[i])
            for i in range(size):
                small[y, i] = total[i] >> _BITS
        for y in range(height):
            line, target = small[high[y]], out[row, y].reshape(-1)
            for i in range(width * channels):
                target[i] = line[wide[i]]
