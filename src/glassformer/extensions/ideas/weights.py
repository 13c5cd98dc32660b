"""The checks that the weights of ideas have in common."""

from glassformer.config import Config


def check_network(name: str, config: Config) -> None:
    """Raise ValueError if the weight of this name has no effect on the network."""
    if config.model.is_language_model:
        raise ValueError(f"train.{name} has no effect with network={config.model.network}")


def check_company(name: str, option: str, value: object, config: Config) -> None:
    """Raise ValueError unless the weight of this name and the option it needs come together."""
    if getattr(config.train, name) and not value:
        raise ValueError(f"train.{name} needs {option}")
    if value and not getattr(config.train, name):
        raise ValueError(f"{option} has no effect without a weight: set train.{name}")
    check_network(name, config)
