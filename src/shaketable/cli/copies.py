"""Numbers of noisy copies in ``--k``: one, or several that are measured one after the other."""

from __future__ import annotations

import argparse


def parse_copies(text: str) -> list[int] | int | str:
    """Parse a whole number, several with commas between them, or ``auto``."""
    if text == "auto":
        return text
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise argparse.ArgumentTypeError(f"must be a whole number, several, or auto, got {text!r}")
    numbers = [int(word) for word in words]
    return numbers if len(numbers) > 1 else numbers[0]


def split_copies(args: argparse.Namespace) -> list[argparse.Namespace]:
    """Return the arguments once for every number of noisy copies, each with one of them."""
    numbers = args.k if isinstance(args.k, list) else [args.k]
    return [argparse.Namespace(**vars(args) | {"k": k}) for k in numbers]
