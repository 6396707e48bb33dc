"""mscr."""
