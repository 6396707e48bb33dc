"""The prover of 1-nearest-neighbour classifiers: exact distances in L2."""

from __future__ import annotations

from typing import Any

from shaketable.adversary.attacks.one_nn_exact import OneNNExact
from shaketable.adversary.one_nn import extract_one_nn
from shaketable.adversary.proofs.registry import PROVERS, Prover
from shaketable.data.dataset import Dataset


def _recognise(model: Any, data: Dataset, unscale: bool) -> Prover | None:
    if data.table is not None or (unscale and data.scaling is not None):
        return None
    one_nn = extract_one_nn(model, features=data.features)
    return None if one_nn is None else OneNNExact(one_nn)


PROVERS.add("1nn", _recognise)
