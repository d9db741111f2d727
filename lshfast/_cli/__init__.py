"""The command line; it has no logic of its own."""
