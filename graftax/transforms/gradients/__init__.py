"""Gradients of functions: reverse, forward, whole Jacobians, and functions that tell their own."""
