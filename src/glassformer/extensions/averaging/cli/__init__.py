"""The command line averages models."""
