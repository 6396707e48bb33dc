"""Functions that tests of several packages use."""
