"""The default backend: JAX, compiled by XLA for CPU, GPU and TPU."""
