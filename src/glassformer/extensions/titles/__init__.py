"""Titles before names, which translations write as their language has them: Mme for Ms."""

ADDS = {"titles": "titles.join_titles"}
