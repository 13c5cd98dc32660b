"""The version of glassformer. Only the last digit changes as long as older models still load."""

__version__ = "0.1.0.dev0"
