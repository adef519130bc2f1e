"""The tape: what a block of eager code computed, recorded and differentiated."""
