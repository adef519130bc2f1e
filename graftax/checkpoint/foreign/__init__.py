"""Weights that other libraries saved: readers of their files, rules for their layers, and the pairing of both sides."""
