"""The command line publishes a model."""
