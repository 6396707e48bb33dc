"""Networks on images: training with noise and augmentations, five metrics, and what follows."""
