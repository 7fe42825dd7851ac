"""Nodes, fabrics and fleets."""
