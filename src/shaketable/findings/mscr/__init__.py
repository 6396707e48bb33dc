"""MSCR: accuracy of every model under every corruption, and what is lost at eps_min.

Also the probability of a wrong answer, and paired differences of models.
"""
