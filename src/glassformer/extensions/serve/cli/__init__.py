"""The command line starts the server."""
