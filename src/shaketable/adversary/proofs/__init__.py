"""Proofs: for models of known form, distances up to which no point is misclassified.

A *prover* is an `Attack` whose result also has `AttackResult.low`. It knows the form of a fitted
model, which it gets behind the steps of its pipeline (`unfolding`): `linear` models, `trees` and
their ensembles, 1-nearest-neighbour classifiers (`nearest`). `registry.find_provers` asks all of
them whether they know a model.
"""
