"""Training: models, the loop behind fit, data, callbacks."""
