"""The command line makes pairs from text in one language."""
