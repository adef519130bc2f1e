"""Variables: named, mutable arrays, and everything that makes them."""
