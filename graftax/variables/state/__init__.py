"""State: the buffers behind Variables, and the frames between reads, writes and these buffers."""
