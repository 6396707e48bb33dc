"""mCV: mean accuracy over the sets of a suite, its variation, and the effects of the factors.

`numbers` estimates mean and CV of a model over the sets of a suite, `effects` what each factor
costs; `finding` compares models. `variation` and `score_files` do the same for tables of scores
from any task.
"""
