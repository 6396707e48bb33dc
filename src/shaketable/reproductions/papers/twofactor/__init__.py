"""Dai & Berleant (2022): two faults in sequence."""
