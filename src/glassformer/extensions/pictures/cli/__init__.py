"""The command line draws pictures."""
