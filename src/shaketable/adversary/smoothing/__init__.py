"""Certificates by randomised smoothing, for any model (Cohen, Rosenfeld & Kolter, ICML 2019).

`model` makes the smoothed model, `certify` draws noise and counts, `numbers` has the certificates
and what follows from the counts, `refuting` attacks the smoothed model itself, and `view` and
`charts` display all of it. What is proven holds for the smoothed model, never for the one inside.
"""
