"""Checkpoints made of checkpoints, without the program that saved them: what the command line does to them."""
