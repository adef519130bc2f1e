"""Lifting: state that functions read becomes an input, what they write an output."""
