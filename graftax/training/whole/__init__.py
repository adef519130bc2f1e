"""Whole models as files: how they are described, rebuilt, saved and loaded."""
