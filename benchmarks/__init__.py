"""Speed beside hand-written JAX and the peers that are installed: ``python -m benchmarks [NAME ...]``."""
