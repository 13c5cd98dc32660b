"""The command line makes a short-list."""
