"""The note on a document without text, on the command line and from the server."""

NOTHING_TO_TRANSLATE = (
    "nothing to translate: the document has no text with a letter or digit that lacks a translation"
)
