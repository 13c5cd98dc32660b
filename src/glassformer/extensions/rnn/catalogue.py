"""The windows of recurrent networks, and what is derived from them: two files beside this one."""

from pathlib import Path

FILES = tuple(
    str(Path(__file__).with_name(name)) for name in ("catalogue_rnn.toml", "derived_rnn.toml")
)
