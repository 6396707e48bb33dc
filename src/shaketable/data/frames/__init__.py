"""Tables whose columns are not all numbers: text, categories, booleans, dates, missing values.

A table is an array of numbers and a `schema.TableSchema`, which says what they stand for, turns
them into the very frame that a model was fitted on, and knows which columns may change.
"""
