"""Titles before names, which translations write as their language has them: Mme for Ms.

And names of several parts, such as Ludwig van Beethoven.
"""

ADDS = {
    "fit_articles": "titles.fit_articles",
    "full_names": "full_names.find_full_names",
    "titles": "titles.join_titles",
}
