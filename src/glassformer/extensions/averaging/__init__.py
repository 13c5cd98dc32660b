"""The mean of several models of a run, as one model."""

VERBS = {"average": ("Train", "train", "cli.average.average")}
