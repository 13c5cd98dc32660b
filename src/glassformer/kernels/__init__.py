"""Faster versions of some operations; each has a plain twin, which defines what it computes."""
