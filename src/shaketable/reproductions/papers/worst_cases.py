"""The worst case: standard and genuine adversarial accuracy of closed-form examples."""
