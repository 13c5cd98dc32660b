"""The needs of the settings of an objective: files, and networks with which they work."""

from ...config import Config

# What a weight needs beside it on the command line.
NEEDS = {"alignment_weight": "--alignments FILE", "prior_weight": "--lm-prior MODEL"}


def check_objective(config: Config, *, has_parent: bool, **fields: object) -> None:
    """Raise ValueError if the settings of an objective lack something, or do not fit the network.

    `fields` are what NEEDS names, by the names of their weights.
    """
    train, network = config.train, config.model.network
    for name, option in NEEDS.items():
        if getattr(train, name) and not fields[name]:
            raise ValueError(f"train.{name} needs {option}")
        if fields[name] and not getattr(train, name):
            raise ValueError(f"{option} has no effect without a weight: set train.{name}")
    if train.risk_weight and not has_parent:
        raise ValueError("train.risk_weight needs a model that translates already: --from MODEL")
    weights = [name for name in ("risk_weight", *NEEDS) if getattr(train, name)]
    if weights and config.model.is_language_model:
        raise ValueError(f"train.{weights[0]} has no effect with network={network}")
    if train.alignment_weight and network != "transformer":
        raise ValueError(f"train.alignment_weight needs network=transformer, not {network}")
