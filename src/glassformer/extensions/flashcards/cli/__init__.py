"""The command line of the flashcards."""
