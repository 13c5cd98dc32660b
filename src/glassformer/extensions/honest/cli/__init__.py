"""The command line examines a machine, a model or its training."""
