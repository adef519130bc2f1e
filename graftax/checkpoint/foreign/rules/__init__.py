"""Rules for the layers of other libraries, one module for each: names and layouts of their weights."""
