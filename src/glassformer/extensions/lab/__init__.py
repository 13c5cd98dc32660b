"""The lab tries what a trained model knows: probes, pruning, contributions, portraits of heads."""
