"""Readers of files of other libraries, one module for each format. They never run code of a file."""
