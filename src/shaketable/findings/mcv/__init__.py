"""mCV: mean accuracy over the sets of a suite, its variation, and the effects of the factors.

`boards` compares models over the sets of a suite: `stability` estimates mean and CV, `effects` what
each factor costs. `variation` and `score_files` do the same for tables of scores from any task.
"""
