"""Loading weights of other libraries: readers of their files, rules for their layers, and the pairing of both sides."""
