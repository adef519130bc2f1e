"""Numbers, histograms, pictures and texts of a run, in event files that TensorBoard shows."""
