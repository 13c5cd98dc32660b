"""The command line of the course."""
