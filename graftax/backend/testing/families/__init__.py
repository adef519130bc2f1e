"""What the tests know of each family of ops; `graftax.backend.testing.families.every` says how a family is written."""
