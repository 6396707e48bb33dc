"""Fixtures of all tests of adversaries."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _one_torch_thread():
    """Small networks are slower with several threads, above all where tests run in parallel."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
