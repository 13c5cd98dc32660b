"""Circuits: why a network writes a word, as edges that are cut, and the lines that taught it."""

VERBS = {"why": ("Use", "heads", "cli.why.why")}
ADDS = {"explain_word": "why.explain_trace"}
