"""Whole models as files: describing, rebuilding, saving and loading them."""
