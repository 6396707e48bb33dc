"""Features: the accuracy that is lost under noise in one column at a time."""
