"""A training runs here: the loop, its updates, validation, checkpoints."""
