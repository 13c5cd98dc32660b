"""Quotes, brackets, emphasis and tags around words, which a model hardly knows."""

ADDS = {"enclosures": "enclosures.Enclosures", "odd_quotes": "speech.pair_quotes"}
