"""The command line trains through a night."""
