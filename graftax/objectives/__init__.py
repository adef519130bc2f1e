"""What losses and metrics share: targets made ready, hidden elements replaced, formulas."""
