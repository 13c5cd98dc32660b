"""Publishing copies a model without its training, and describes it for the Hugging Face hub."""

VERBS = {
    "publish": ("Exchange", "export", "cli.publish.publish"),
    "info": ("Use", "score", "cli.info.info"),
    "board": ("Measure", "evaluate", "cli.board.board"),
}
