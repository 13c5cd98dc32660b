"""A night: a model for a language with few pairs, by every step that pays, within given minutes."""

VERBS = {"night": ("Train", "train", "cli.night.night")}
ADDS = {"find_training": "state.find_training"}
