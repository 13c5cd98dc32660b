"""Honest evaluation: splits, near twins, distance from the training text, looks at a test text."""
