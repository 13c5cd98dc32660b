"""The foundation knows nothing of translation: files, messages, settings, machines."""
