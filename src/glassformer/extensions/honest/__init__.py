"""Honest evaluation: splits, near twins, distance from the training text, looks at a test text."""

ADDS = {
    "examine_honesty": "evaluation.examine_honesty",
    "examine_training": "diagnostics.examine_training",
}
