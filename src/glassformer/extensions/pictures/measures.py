"""Measures of vectors as expressions over a recording; `a` and `b` are cells with the index d."""

from __future__ import annotations


def length(a: str) -> str:
    """Return the expression of the length of a vector."""
    return f"sqrt(sum[d] {a} {a})"


def cosine(a: str, b: str) -> str:
    """Return the expression of the cosine of two vectors."""
    return f"(sum[d] {a} {b}) / ({length(a)} * {length(b)})"


def mean(a: str, size: int) -> str:
    """Return the expression of the mean of a vector of so many numbers."""
    return f"(sum[d] {a}) / {size}"


def deviation(a: str, size: int) -> str:
    """Return the expression of the standard deviation of a vector of so many numbers."""
    squares = f"(sum[d] {a} {a}) / {size}"
    return f"sqrt({squares} - ({mean(a, size)}) ** 2)"
