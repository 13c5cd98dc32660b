"""Which glassformer this is. The last digit grows while models still load."""

__version__ = "0.1.0.dev0"
