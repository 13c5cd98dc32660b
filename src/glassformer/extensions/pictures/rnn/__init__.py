"""Pictures of the recurrent networks that came before the Transformer (V92-V102)."""
