"""Alignment of the words of two texts: by the heads of a model, or without one by eflomal."""

VERBS = {"align": ("Use", "score", "cli.align.align")}
ADDS = {"align_texts": "aligner.align_texts"}
