"""Adversaries: the worst point in the ball around every data point, or in its Voronoi cell."""
