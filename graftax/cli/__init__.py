"""The command ``graftax``; it imports what a subcommand needs when that subcommand runs."""
