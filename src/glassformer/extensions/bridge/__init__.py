"""Import and export of models in other formats; tests compare each with our own model."""

VERBS = {
    "import": ("Exchange", "", "cli.import_model.import_"),
    "export": ("Exchange", "import", "cli.export.export"),
}
ADDS = {"explain_folder": "other_folders.recognise"}
