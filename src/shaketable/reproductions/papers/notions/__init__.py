"""What holds in general: the notions of the four papers on the same models and data."""
