"""The named sizes of a model, such as tiny and base, with their shapes."""

# Table 3 of the paper has `base` and `big`; `tiny` and `small` are for a laptop.
SIZES: dict[str, dict[str, int]] = {
    "tiny": {"d_model": 128, "d_ff": 256, "heads": 4, "encoder_layers": 4, "decoder_layers": 4},
    "small": {"d_model": 256, "d_ff": 1024, "heads": 4, "encoder_layers": 3, "decoder_layers": 3},
    "base": {"d_model": 512, "d_ff": 2048, "heads": 8, "encoder_layers": 6, "decoder_layers": 6},
    "big": {"d_model": 1024, "d_ff": 4096, "heads": 16, "encoder_layers": 6, "decoder_layers": 6},
}

# Of recurrent networks, which have no other width than d_model and are seldom deep.
LAYERS_OF_RNN = {"tiny": 1, "small": 2, "base": 2, "big": 4}


def find_shape(size: str, network: str = "transformer") -> dict[str, int]:
    """Return the shape of a network of a named size."""
    shape = SIZES[size]
    if network in ("decoder", "encoder"):  # which have this side only
        other = "encoder_layers" if network == "decoder" else "decoder_layers"
        return {**shape, other: 0}
    if network != "rnn":
        return shape
    layers = LAYERS_OF_RNN[size]
    return {"d_model": shape["d_model"], "encoder_layers": layers, "decoder_layers": layers}
