"""What `evaluate` and `study` do with their options, whoever gives them, and how it is made again.

Options name data, models, corruptions and requirements; here they become objects, which are then
measured. Commands read options from flags and files, `rerun` from a results file.
"""
