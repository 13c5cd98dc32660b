"""The server serves models, translations, recordings and trainings with these."""
