"""Speed beside hand-written JAX and the peers that are installed: ``make bench``."""
