"""mCV: mean accuracy over the sets of a suite, its variation, and what every factor costs.

Also the same for any table of scores, of any task.
"""
