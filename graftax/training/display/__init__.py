"""Displays of a model and its training: tables, progress bars, drawings."""
