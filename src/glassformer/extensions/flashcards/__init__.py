"""Questions about the Transformer to recall: the app asks them, and Anki reads them."""

VERBS = {"flashcards": ("Use", "lesson", "cli.flashcards.flashcards")}
