"""The object graph: modules, their children, paths and structure, what is frozen."""
