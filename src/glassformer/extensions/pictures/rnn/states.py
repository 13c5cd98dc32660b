"""The hidden states of a recurrent network by name, as all its pictures show them."""

from __future__ import annotations

from typing import Any

from ..parts import grammar as g
from ..parts import style

STATE_HEIGHT = 13.0


def find_encoder_states(trace: Any) -> str:
    """Return the name of the hidden states of the topmost encoder layer."""
    return f"encoder.{trace.settings.encoder_layers - 1}.output"


def find_decoder_states(trace: Any) -> str:
    """Return the name of the hidden states of the topmost decoder layer."""
    return f"decoder.{trace.settings.decoder_layers - 1}.cell.hidden"


def find_look(trace: Any) -> str:
    """Return the name of the attention; ValueError if the network has none."""
    if trace.settings.rnn.attention == "none":
        raise ValueError("this network has rnn.attention=none: its decoder looks at nothing")
    return f"decoder.{trace.settings.decoder_layers - 1}.cross_attention"


def count_fixed(settings: Any) -> int:
    """Return how many numbers the encoder hands over, whatever the length of the sentence."""
    states = 2 if settings.rnn.cell == "lstm" else 1
    return int(settings.encoder_layers * settings.d_model * states)


def show_state(plan: g.Outline, name: str, place: int, width: float, limit: float) -> g.Panel:
    """Return one hidden state as a row of colours."""
    return show_vector(plan.of(f"{name}[{place},d]"), width, limit)


def show_vector(vector: g.Quantity, width: float, limit: float) -> g.Panel:
    return g.Panel(vector, width=width, height=STATE_HEIGHT, limit=limit, edge=style.FAINT)
