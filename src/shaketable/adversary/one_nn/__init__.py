"""1-nearest-neighbour classifiers, for which robustness can be proven or computed exactly.

`fitted` recognises them and applies Theorem 2; `exact` computes the nearest misclassified point in
L2 by quadratic programs.
"""
