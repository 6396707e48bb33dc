"""Correlations: whether two metrics, such as MSCR and mCE, order models alike."""
