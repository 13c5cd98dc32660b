"""ONNX Runtime with the two graphs of `glassformer export --format onnx`: greedy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime

from .translating import Rows, imported, read_sentences, serve
from .turns import Turns

PAD, BOS, EOS = 0, 1, 2


def main() -> None:
    turns, bare = Turns(), imported()
    folder, sentences, _ = read_sentences()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    encoder, decoder = (
        onnxruntime.InferenceSession(folder / f"{name}.onnx", options)
        for name in ("encoder", "decoder")
    )
    names = [each.name for each in encoder.get_outputs()]
    pasts = [each for each in decoder.get_inputs() if each.name.startswith("past_")]

    def translate(rows: Sequence[int], settings: dict[str, Any]) -> Rows:
        ids = [sentences.ids[row] for row in rows]
        source = np.full((len(ids), max(map(len, ids))), PAD, np.int64)
        for place, row in enumerate(ids):
            source[place, : len(row)] = row
        fed = dict(zip(names, encoder.run(names, {"source_ids": source}), strict=True))
        for each in pasts:
            fed[each.name] = np.zeros((len(ids), each.shape[1], 0, each.shape[3]), np.float32)
        tokens, found = np.full(len(ids), BOS), list[np.ndarray[Any, Any]]()
        is_done = np.zeros(len(ids), bool)
        while not is_done.all() and len(found) < settings["longest"]:
            fed |= {"token_ids": tokens[:, None], "source_ids": source}
            logits, *presents = decoder.run(None, fed)
            fed |= {each.name: kept for each, kept in zip(pasts, presents, strict=True)}
            logits = logits.reshape(len(ids), -1)
            logits[:, [PAD, BOS]] = -np.inf
            tokens = np.where(is_done, EOS, logits.argmax(-1))
            is_done |= tokens == EOS
            found.append(tokens)
        return [
            [sentences.vocabulary[id] for id in row if id != EOS]
            for row in np.stack(found, axis=1).tolist()
        ]

    serve(turns, sentences, translate, bare)


if __name__ == "__main__":
    main()
