"""What people see of a model and its training: tables, bars, pictures."""
