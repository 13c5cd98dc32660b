"""Checks of translations and of the texts that are to be translated."""
