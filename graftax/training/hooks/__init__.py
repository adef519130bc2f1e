"""What callbacks are: their hooks, the list of them that a loop calls, the history, and their state in checkpoints."""
