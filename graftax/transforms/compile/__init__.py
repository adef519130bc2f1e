"""Compiling functions that read and write Variables."""
