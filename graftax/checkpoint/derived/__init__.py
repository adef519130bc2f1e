"""Checkpoints derived from checkpoints, without the program that saved them: the commands of ``graftax ckpt``."""
