"""Word alignment without a model, by eflomal, for `align --engine eflomal`."""

ADDS = {
    "align_statistically": "alignment.align_statistically",
    "split_pairs": "alignment.split_pairs",
}
