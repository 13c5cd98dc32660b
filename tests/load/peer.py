"""The same server around another engine: CTranslate2, in the same batches, with the same search.

python tests/load/peer.py MODEL EXPORT QUANTIZATION THREADS BATCH
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import ctranslate2

from glassformer.config import BOS, EOS, PAD, Decode
from glassformer.extensions.serve.limits import Limits
from glassformer.extensions.serve.running import make_service, prepare_server
from glassformer.translator import Translator


class Peer(Translator):
    """Text is read and written as ours is; what is between is CTranslate2's."""

    engine: ctranslate2.Translator

    def search(self, texts: Sequence[str], *, decode: Decode | None = None, **_: Any) -> Any:
        assert decode is not None
        source, target = self.tokenizers.source, self.tokenizers.target
        beam = decode.beam if decode.search == "beam" else 1
        found = self.engine.translate_batch(
            [[source.token(id) for id in (*ids, EOS)] for ids in source.encode_many(texts)],
            beam_size=beam,
            length_penalty=decode.alpha if beam > 1 else 0,
            max_decoding_length=min(256, self.longest),
            max_input_length=0,
            return_scores=True,
            suppress_sequences=[[target.token(PAD)], [target.token(BOS)]],
        )
        ids = {token: id for id, token in enumerate(target.vocabulary)}
        return [
            [
                SimpleNamespace(
                    text=target.decode([ids[token] for token in each.hypotheses[0]]).strip(),
                    score=each.scores[0],
                    log_prob=each.scores[0],
                    token_log_probs=[],
                    finished=True,
                    parts=[],
                )
            ]
            for each in found
        ]


def main(model: str, export: str, quantization: str, threads: str, batch: str) -> None:
    service = make_service([model], device="cpu", limits=Limits(batch=int(batch)))
    peer = Peer.load(model, device="cpu")
    peer.engine = ctranslate2.Translator(
        export, compute_type=quantization, inter_threads=1, intra_threads=int(threads)
    )
    service.model_pool.load = lambda model: peer  # type: ignore[method-assign]
    ready = prepare_server(service, port=0, token="t")
    print(f"Open {ready.address}", flush=True)
    ready.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
