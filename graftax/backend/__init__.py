"""Backends: what computes. See `graftax.backend.protocol` for what one must offer."""
