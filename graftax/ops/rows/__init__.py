"""The rows of the table of ops, by what they are about; `graftax.ops.table` says how to read them."""
