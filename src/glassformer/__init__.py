"""Train, run and see through your own translation Transformer."""

__version__ = "0.1.0.dev0"
