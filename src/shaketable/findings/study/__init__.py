"""Studies: accuracy and MSCR by training noise and test noise, over several runs."""
