"""Transforms of functions that read and write Variables."""
