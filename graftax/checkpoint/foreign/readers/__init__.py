"""One file a format: what is in a file of another library, without running anything that the file says."""
