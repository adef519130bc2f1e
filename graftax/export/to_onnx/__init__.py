"""ONNX files of programs: every equation becomes a few nodes, without a library to write them."""
