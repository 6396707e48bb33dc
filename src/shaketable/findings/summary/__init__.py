"""Summary: a verdict on every model, the ranking of models, and the largest problems."""
