"""The 19 common corruptions against stored output of an independent implementation."""
