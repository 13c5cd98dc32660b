"""The command line sends its parts to a cluster."""
