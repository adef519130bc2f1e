"""Checkpoints: any part of a program out to disk, any part of a checkpoint in; ``checkpoint.py`` has the class."""
