"""Ask Inseq for integrated gradients and value zeroing of exported models; it runs where Inseq is.

`python ask_inseq.py QUESTIONS ANSWERS` reads a list from the first file and writes one into the
second. A question has `folder`, `source` and `target` (texts), `rows` (first, last) and `points`.
"""

import json
import sys
from pathlib import Path

import inseq  # of its own environment, without glassformer


def load(folder, method):
    """Return a model in which the decoder's embeddings are scaled once.

    Inseq gives both sides embeddings that it has scaled itself; the decoders of Marian and Pegasus
    in transformers scale what they are given, too.
    """
    eager = {"attn_implementation": "eager"}
    model = inseq.load_model(folder, method, device="cpu", model_kwargs=eager)
    model.get_decoder().embed_scale = 1.0
    return model


def ask(question):
    """Return the numbers of both methods, with what they were asked of."""
    texts = {"input_texts": question["source"], "generated_texts": question["target"]}
    first, last = question["rows"]
    always = {"attribute_target": True, "show_progress": False}
    found = (
        load(question["folder"], "integrated_gradients")
        .attribute(
            **texts,
            **always,
            attributed_fn="crossentropy",
            step_scores=["probability"],
            n_steps=question["points"],
            internal_batch_size=16,
            attr_pos_start=first + 1,  # Inseq counts the tokens that rows predict
            attr_pos_end=last + 1,
        )
        .sequence_attributions[0]
    )
    zeroed = load(question["folder"], "value_zeroing").attribute(**texts, **always)
    zeroed = zeroed.sequence_attributions[0]
    return {
        "ids": [[token.id for token in side] for side in (found.source, found.target)],
        "probability": found.step_scores["probability"].tolist(),
        "source": (-found.source_attributions.sum(-1)).T.tolist(),
        "target": (-found.target_attributions.sum(-1)).T.nan_to_num().tolist(),
        "encoder": zeroed.sequence_scores["encoder_self_scores"].permute(2, 1, 0).tolist(),
        "decoder": zeroed.target_attributions.permute(2, 1, 0).nan_to_num().tolist(),
        "cross": zeroed.source_attributions.permute(2, 1, 0).tolist(),
    }


questions, answers = map(Path, sys.argv[1:])
answers.write_text(json.dumps([ask(each) for each in json.loads(questions.read_text())]))
