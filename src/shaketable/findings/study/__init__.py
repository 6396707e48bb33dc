"""Studies: accuracy and MSCR by noise in training and noise in test, over several runs."""
