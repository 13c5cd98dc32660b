"""A training decides these before its first update: settings, data, vocabulary, steps."""
