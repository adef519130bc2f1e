"""Branches, loops and maps whose parts may read and write Variables."""
