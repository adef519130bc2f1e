"""L-BFGS: its line search, its memory, and the optimizer made of both."""
