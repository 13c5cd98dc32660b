"""The lab tries what a trained model knows: probes, pruning, contributions, portraits of heads."""

VERBS = {
    "prune": ("Train", "average", "cli.prune.prune"),
    "heads": ("Use", "align", "cli.heads.heads"),
    "calibrate": ("Train", "prune", "cli.calibrate.calibrate"),
    "probe": ("Measure", "evaluate", "cli.probe.probe"),
}
ADDS = {
    "evaluate_contrastive": "cli.contrast.evaluate_contrastive",
    "measure_robustness": "robustness.measure_robustness",
}
