"""How good a translation is: scores and their signatures, significance, references from files."""
