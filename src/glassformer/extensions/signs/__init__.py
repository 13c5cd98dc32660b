"""Signs that a network never met, which it reads as words: & as "and"."""

ADDS = {"signs": "signs.Signs"}
