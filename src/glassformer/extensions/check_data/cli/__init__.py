"""The command line checks a parallel corpus."""
