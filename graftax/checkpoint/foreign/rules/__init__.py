"""One file a library: how its layers are called and laid out, in terms of ours."""
