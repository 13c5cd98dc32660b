"""Hugging Face's MarianMT in a plain loop."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import MarianConfig, MarianMTModel

from .training import PAD, read_task, train

if __name__ == "__main__":
    task = read_task()
    model, vocabulary = task.model, task.settings["vocabulary"]
    network = MarianMTModel(
        MarianConfig(
            vocab_size=vocabulary,
            d_model=model["d_model"],
            encoder_layers=model["encoder_layers"],
            decoder_layers=model["decoder_layers"],
            encoder_attention_heads=model["heads"],
            decoder_attention_heads=model["heads"],
            encoder_ffn_dim=model["d_ff"],
            decoder_ffn_dim=model["d_ff"],
            activation_function=model["activation"],
            dropout=model["dropout"],
            scale_embedding=True,
            pad_token_id=PAD,
            bos_token_id=1,
            eos_token_id=2,
            forced_eos_token_id=2,
            decoder_start_token_id=1,
            use_cache=False,
            # The faster implementation for each precision on a CPU.
            attn_implementation="eager" if task.precision == "bf16" else "sdpa",
        )
    )

    def loss_of(source: Tensor, target: Tensor) -> Tensor:
        wanted = target[:, 1:]
        found = network(
            input_ids=source,
            attention_mask=(source != PAD).long(),
            decoder_input_ids=target[:, :-1],
            decoder_attention_mask=(target[:, :-1] != PAD).long(),
        )
        return cross_entropy(
            found.logits.flatten(0, 1).float(),
            wanted.flatten(),
            ignore_index=PAD,
            label_smoothing=task.settings["label_smoothing"],
            reduction="sum",
        )

    train(task, network, loss_of)
