"""Numbers of things, in words."""


def tell_count(count: int, noun: str) -> str:
    """Return a number with its noun: "1 pair", "1,000 pairs"."""
    return f"{count:,} {noun}" + "s" * (count != 1)
