"""Two faults in sequence: the sets, the accuracies, and what follows from them."""
