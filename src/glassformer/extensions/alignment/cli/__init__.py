"""The command line aligns words."""
