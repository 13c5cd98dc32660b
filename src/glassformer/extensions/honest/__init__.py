"""Honest evaluation: splits, near twins, distance from the training text, looks at a test text."""

VERBS = {"doctor": ("Use", "info", "cli.doctor.doctor")}
ADDS = {
    "examine_honesty": "evaluation.examine_honesty",
    "open_test_text": "held_out.open_test_text",
}
