"""Models of others, in and out: one file a format, each with an equality test."""
