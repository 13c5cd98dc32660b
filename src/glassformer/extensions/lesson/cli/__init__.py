"""The command line of the lesson."""
