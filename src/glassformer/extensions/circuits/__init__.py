"""Circuits: why a network writes a word, as edges that are cut, and the lines that taught it."""

VERBS = {
    "why": ("Use", "heads", "cli.why.why"),
    "taught": ("Use", "why", "cli.taught.taught"),
    "forget": ("Use", "taught", "cli.forget.forget"),
}
ADDS = {"explain_word": "why.explain_trace", "forget_training": "forget.forget_training"}
