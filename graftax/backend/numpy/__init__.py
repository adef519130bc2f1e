"""The reference backend: NumPy, eager, without gradients; needs no JAX."""
