"""A text becomes its translation here."""
