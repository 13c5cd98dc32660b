"""A store of models: which are installed, and how others are fetched by name, or packed."""

VERBS = {"models": ("Exchange", "import", "cli.models.models")}
