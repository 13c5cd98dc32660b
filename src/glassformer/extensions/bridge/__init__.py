"""Import and export of models in other formats; tests compare each with our own model."""

VERBS = {
    "import": ("Exchange", "", "cli.import_model.import_"),
    "export": ("Exchange", "import", "cli.export.export"),
}
ADDS = {
    "explain_folder": "other_folders.recognise",
    "export.ctranslate2": "writers.write_ctranslate2",
    "export.onnx": "writers.write_onnx",
    "export.argos": "writers.write_argos",
    "export.transformers": "writers.write_transformers",
    "export.marian": "writers.write_marian",
    "export.marian-bin": "writers.write_marian_bin",
}
