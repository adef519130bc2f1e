"""What the arguments of optimizers and schedules may be, how they are shown, and what other names for them mean."""
