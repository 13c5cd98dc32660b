"""COMET, a score by a network that was trained on judgements of people; a package of its own."""

ADDS = {"load_comet": "scoring.load_comet", "score_comet": "scoring.score_comet"}
