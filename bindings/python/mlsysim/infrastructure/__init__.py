"""Grids, facilities and prices."""
