"""Make a tiny random model with another toolkit's own code, and its output, for the tests.

    python tools/foreign_models.py joeynmt tests/equal/foreign/joeynmt

Runs where that toolkit is installed: joeynmt 2.3.0, OpenNMT-py 3.5.1, eole 0.6.4 or fairseq 0.12.2,
whose classes of settings need `field(default_factory=...)` on Python 3.11 and newer. Beside the
model stands expected.safetensors: ids as the toolkit numbers them, and the logits of the token
after each of the decoder's.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

D, HEADS, FF, LAYERS = 8, 2, 12, (2, 1)
LETTERS = ["a", "b", "c", "d", "e"]
# The last letter of a word has the end mark in BPE codes, so these are words: "ab", "cde".
CODES = "#version: 0.2\na b</w>\nd e</w>\nc de</w>\na b\n"
TOKENS = [*(f"{x}@@" for x in LETTERS), *LETTERS, "ab", "de", "cde", "ab@@"]
SOURCES, TARGETS = [[5, 9, 7, 12], [6, 6, 11]], [[8, 4, 10], [13, 7, 9, 6, 5]]

Logits = Callable[[Tensor, Tensor], Tensor]  # of 1 S and 1 T ids: T V


def shake(model: Any) -> Any:
    """Set all weights to random numbers, large enough for each of them to matter."""
    torch.manual_seed(3)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            mean = 1.0 if "norm" in name and name.endswith("weight") else 0.0
            weight.normal_(mean, 0.4)
    return model.eval()


def keep_trained(model: nn.Module) -> dict[str, Tensor]:
    """Return the weights without tables of sines, which are large and not read."""
    return {k: v for k, v in model.state_dict().items() if not k.endswith("pe.pe")}


def write_expected(folder: Path, ask: Logits, start: int, end: int | None) -> None:
    """Write the ids of source and decoder and the logits, as the toolkit numbers tokens."""
    found: dict[str, Tensor] = {}
    for number, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        source_S = torch.tensor([*source, *([] if end is None else [end])])
        target_T = torch.tensor([start, *target])
        with torch.inference_mode():
            logits_TV = ask(source_S[None], target_T[None])
        named = {"source": source_S, "target": target_T, "logits": logits_TV.float()}
        found |= {f"{name}.{number}": values.contiguous() for name, values in named.items()}
    save_file(found, folder / "expected.safetensors")


def make_joeynmt(folder: Path) -> None:
    from types import SimpleNamespace

    from joeynmt.model import build_model
    from joeynmt.vocabulary import Vocabulary

    names = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>"}
    special: dict[str, Any] = {f"{name}_token": token for name, token in names.items()}
    special |= {f"{name}_id": id for id, name in enumerate(names)}
    cfg = SimpleNamespace(**special, sep_token=None, sep_id=None, lang_tags=[])
    vocabulary = Vocabulary(TOKENS, cfg)
    side: dict[str, Any] = {
        "type": "transformer",
        "num_heads": HEADS,
        "embeddings": {"embedding_dim": D, "scale": True},
        "hidden_size": D,
        "ff_size": FF,
        "dropout": 0.1,
        "layer_norm": "pre",
        "activation": "gelu",
    }
    encoder, decoder = ({**side, "num_layers": layers} for layers in LAYERS)
    told: dict[str, Any] = {"encoder": encoder, "decoder": decoder}
    told |= {"tied_embeddings": True, "tied_softmax": True, "initializer": "xavier_uniform"}
    told |= {"embed_initializer": "xavier_uniform", "tied_embeddings": True}
    model = shake(build_model(told, vocabulary, vocabulary))
    codes = {"level": "bpe", "tokenizer_type": "subword-nmt", "tokenizer_cfg": {"codes": "codes"}}
    data: dict[str, Any] = {"src": {"lang": "en", **codes}, "trg": {"lang": "fr", **codes}}
    data["special_symbols"] = special
    config = {"data": data, "model": told, "testing": {"beam_size": 4, "beam_alpha": 1.0}}
    (folder / "config.yaml").write_text(json.dumps(config, indent=1))  # JSON is YAML
    (folder / "codes").write_text(CODES)
    for name in ("src_vocab.txt", "trg_vocab.txt"):
        vocabulary.to_file(folder / name)
    torch.save({"model_state": keep_trained(model)}, folder / "best.ckpt")

    def ask(source: Tensor, target: Tensor) -> Tensor:
        mask = torch.ones_like(source)[:, None].bool()
        memory, hidden = model._encode(source, torch.tensor([source.size(1)]), mask)
        over = torch.ones_like(target)[:, None].bool()
        return model._decode(memory, hidden, mask, target, target.size(1), trg_mask=over)[0][0]

    write_expected(folder, ask, start=2, end=3)


def make_opennmt(folder: Path) -> None:
    import pyonmttok
    from onmt.model_builder import build_base_model
    from onmt.opts import model_opts
    from onmt.utils.parse import ArgumentParser

    parser = ArgumentParser()
    model_opts(parser)
    arguments = f"""--encoder_type transformer --decoder_type transformer --enc_layers {LAYERS[0]}
        --dec_layers {LAYERS[1]} --heads {HEADS} --hidden_size {D} --word_vec_size {D}
        --transformer_ff {FF} --position_encoding --share_decoder_embeddings
        --pos_ffn_activation_fn relu"""
    opt = parser.parse_args(arguments.split())
    opt.enc_hid_size = opt.dec_hid_size = D
    opt.src_word_vec_size = opt.tgt_word_vec_size = D
    opt.freeze_word_vecs_enc = opt.freeze_word_vecs_dec = False
    for name in ("attention_dropout", "dropout"):
        setattr(opt, name, [0.1])
    opt.optim, opt.parallel_mode, opt.world_size = "adam", "data_parallel", 1
    tokens = ["<unk>", "<blank>", "<s>", "</s>", *TOKENS]
    both = {side: pyonmttok.build_vocab_from_tokens(tokens) for side in ("src", "tgt")}
    vocabs = {**both, "data_task": "seq2seq", "decoder_start_token": "<s>"}
    model = shake(build_base_model(opt, vocabs))
    weights = {k: v for k, v in keep_trained(model).items() if "generator" not in k}
    told = {side: vocab.ids_to_tokens for side, vocab in both.items()}
    told |= {"data_task": "seq2seq", "decoder_start_token": "<s>"}
    whole = {"model": weights, "generator": model.generator.state_dict(), "vocab": told, "opt": opt}
    torch.save({**whole, "optim": None}, folder / "model_step_20.pt")
    (folder / "bpe.codes").write_text(CODES)

    def ask(source: Tensor, target: Tensor) -> Tensor:
        more = torch.cat([target, target[:, :1]], 1)[..., None]  # it leaves the last one out
        found, _ = model(source[..., None], more, torch.tensor([source.size(1)]))
        return model.generator(found)[0]

    write_expected(folder, ask, start=2, end=None)


def make_eole(folder: Path) -> None:
    import pyonmttok
    from eole.config.models import TransformerModelConfig
    from eole.models.model import EncoderDecoderModel

    tokens = ["<unk>", "<blank>", "<s>", "</s>", *TOKENS]
    both = {side: pyonmttok.build_vocab_from_tokens(tokens) for side in ("src", "tgt")}
    specials = {"bos": "<s>", "pad": "<blank>", "eos": "</s>", "unk": "<unk>"}
    named = {f"{name}_token": token for name, token in specials.items()}
    vocabs = {**both, "specials": named, "decoder_start_token": "<s>"}
    told = {
        "architecture": "transformer",
        "hidden_size": D,
        "heads": HEADS,
        "transformer_ff": FF,
        "encoder": {"layers": LAYERS[0], "encoder_type": "transformer"},
        "decoder": {"layers": LAYERS[1], "decoder_type": "transformer"},
        "embeddings": {
            "position_encoding_type": "SinusoidalConcat",
            "word_vec_size": D,
            "src_word_vec_size": D,
            "tgt_word_vec_size": D,
        },
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "mlp_activation_fn": "gelu",
        "add_qkvbias": True,
        "add_final_linear_bias": True,
    }
    settings = TransformerModelConfig(**told)
    model = EncoderDecoderModel.build_blocks(settings, vocabs)
    model.build_generator(settings, argparse.Namespace(), vocabs)
    shake(model)
    write = {"model": settings.model_dump(mode="json"), "data": {}, "training": {}}
    (folder / "config.json").write_text(json.dumps(write, indent=1))
    lists = {side: vocab.ids_to_tokens for side, vocab in both.items()}
    vocab = {**lists, "specials": named, "decoder_start_token": "<s>"}
    (folder / "vocab.json").write_text(json.dumps(vocab))
    weights = {name: weight.clone().contiguous() for name, weight in keep_trained(model).items()}
    weights.pop("tgt_emb.embeddings.weight")  # as it saves them: a shared table once
    save_file(weights, folder / "model.00.safetensors")
    (folder / "bpe.codes").write_text(CODES)

    def ask(source: Tensor, target: Tensor) -> Tensor:
        pad = torch.zeros_like(source)[:, None].bool()
        memory, _ = model.encoder(model.src_emb(source), pad_mask=pad)
        model.decoder.init_state(src=source, enc_out=memory, enc_final_hs=None)
        over = torch.zeros_like(target)[:, None].bool()
        how = {"enc_out": memory, "src_len": torch.tensor([source.size(1)])}
        found, _ = model.decoder(model.tgt_emb(target), **how, src_pad_mask=pad, tgt_pad_mask=over)
        return model.generator(found)[0]

    write_expected(folder, ask, start=2, end=None)


def make_fairseq(folder: Path, **changes: Any) -> None:
    from fairseq.data import Dictionary
    from fairseq.models.transformer import TransformerModel, base_architecture

    dictionary = Dictionary()
    for token in TOKENS:
        dictionary.add_symbol(token)
    for language in ("en", "fr"):
        lines = "".join(f"{token} 1\n" for token in TOKENS)
        (folder / f"dict.{language}.txt").write_text(lines)
    (folder / "bpecodes").write_text(CODES)
    told: dict[str, Any] = {"arch": "transformer", "share_decoder_input_output_embed": True}
    for side, layers in zip(("encoder", "decoder"), LAYERS, strict=True):
        told |= {f"{side}_embed_dim": D, f"{side}_ffn_embed_dim": FF, f"{side}_layers": layers}
        told |= {f"{side}_attention_heads": HEADS, f"{side}_normalize_before": False}
    told |= {"max_source_positions": 20, "max_target_positions": 20, "dropout": 0.1}
    told |= changes
    args = argparse.Namespace(**told, source_lang="en", target_lang="fr", activation_fn="relu")
    base_architecture(args)
    task = argparse.Namespace(source_dictionary=dictionary, target_dictionary=dictionary)
    model = shake(TransformerModel.build_model(args, task))
    model.load_state_dict(model.state_dict())  # sets what it keeps twice
    plain = {k: v for k, v in vars(args).items() if isinstance(v, int | float | str | type(None))}
    whole = {"args": argparse.Namespace(**plain), "cfg": None, "model": model.state_dict()}
    torch.save({**whole, "optimizer_history": [], "extra_state": {}}, folder / "checkpoint_best.pt")

    def ask(source: Tensor, target: Tensor) -> Tensor:
        return model(source, torch.tensor([source.size(1)]), target)[0][0]

    write_expected(folder, ask, start=2, end=2)


def make_learned(folder: Path) -> None:
    """Make a fairseq model whose positions are learned, and whose embeddings are not scaled."""
    pre = {f"{side}_normalize_before": True for side in ("encoder", "decoder")}
    learned = {f"{side}_learned_pos": True for side in ("encoder", "decoder")}
    make_fairseq(folder, **pre, **learned, no_scale_embedding=True, share_all_embeddings=True)


MAKERS = {
    "eole": make_eole,
    "fairseq": make_fairseq,
    "fairseq-learned": make_learned,
    "joeynmt": make_joeynmt,
    "opennmt": make_opennmt,
}


def main(toolkit: str, out: str) -> None:
    folder = Path(out)
    folder.mkdir(parents=True)
    MAKERS[toolkit](folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
