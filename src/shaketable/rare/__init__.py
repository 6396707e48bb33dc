"""Rare failures: the probability of a wrong answer under noise, down to one in a billion.

`latent` writes noise as a function of normal numbers, `margin` says how far a model is from a wrong
answer, and `splitting` estimates the probability at one point from both. `measuring` asks the model
for many points at once and keeps what is done; `risk` is the public function. What is found is a
record (`evaluation.rare_record`), which `findings.rare` shows.
"""
