"""The settings of a model and of its training, read from and written to one TOML file.

This module does not import torch. An unknown key is an error that names the nearest known one; a
setting that is None is left out of the file. Where a default is not the paper's, its line says so.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from .foundation.compatibility.former_names import rename_settings
from .foundation.disk import read_toml
from .foundation.settings.table import Settings, setting
from .foundation.sizes import SIZES as SIZES
from .foundation.sizes import find_shape

# Upper bounds. A settings file may come from somebody else, and its numbers decide how much memory
# is allocated.
WIDE, MANY = 1 << 17, 10**7
MOST_COPIES = 64  # tokens

PAD, BOS, EOS = 0, 1, 2  # the ids that are not text: padding, begin and end of a sentence
CLASS = BOS  # what a text begins with that is read both ways: its class is predicted there
MASK = 258  # what hides a token: the byte 0xFF, which every vocabulary has and no UTF-8 text


SEPARATOR = "<sep>"  # the token after each sentence of a context, with data.context
TAG = re.compile(r"<(?!0x|s>|pad>)(?=[\w-]*[^\W_])[\w-]++>")  # a token that no text yields


def check_tag(tag: str) -> str:
    """Return a tag, between < and >; ValueError if it cannot be one."""
    result = tag if tag.startswith("<") else f"<{tag}>"
    if not TAG.fullmatch(result):
        raise ValueError("a tag has letters, digits, - and _ between < and >, like <bt>")
    return result


# The settings that only one kind of search uses, and that search.
SEARCH_OF = {
    "beam": "beam",
    "beam_groups": "beam",
    "diversity": "beam",
    "stop": "beam",
    "temperature": "sample",
    "top_k": "sample",
    "top_p": "sample",
}
# Those that the engine in C knows, or that are none of its business.
NATIVE = {*SEARCH_OF, "search", "length_penalty", "alpha", "max_ratio", "max_extra", "min_length"}
NATIVE |= {"no_repeat_ngram_size", "shortlist", "mbr", "utility", "typography"}
NATIVE -= {"beam_groups"}

# What a setting that only an attention network has needs, and one of the vectors of positions.
ATTENDS = "network!=rnn"
OF_POSITIONS = ("layout", "combine", "grid", "offset", "amplitude", "reach")

# The settings of training that LoRA cannot have.
OF_FULL_RANK = ("optimizer", "shard", "embedding_lr_scale")

# The layouts of which attention knows the positions, those that have a vector for each, and those
# of which it is computed.
DISTANCES = ("rotary", "alibi", "relative")
COMPUTED = ("interleaved", "concatenated", "sine")
VECTORS = (*COMPUTED, "learned")

# The parts of a Transformer that can be left out of it.
PARTS = ("residual", "norm", "feed_forward", "scale")

# Language models are one side of a Transformer; this is the setting of the side that each has.
SIDE_OF = {"decoder": "decoder_layers", "encoder": "encoder_layers"}
# What is not the same as in the paper where nothing is said of it.
IMPLIED: dict[str, dict[str, int]] = {
    "rnn": {"heads": 1},
    "decoder": {"encoder_layers": 0},
    "encoder": {"decoder_layers": 0},
}
# The settings of `model` that the paper's Transformer has, by name. Of a choice: the values that it
# knows, in the order of the engine in C; of a number or a switch: None, since it has any.
PLAIN: dict[str, tuple[str, ...] | None] = {
    "network": ("transformer",),
    "norm": ("post", "pre"),
    "activation": ("relu", "silu", "gelu"),
    "tie": ("three-way", "two-way", "none"),
    "positions.layout": ("interleaved", "concatenated", "learned"),
    "positions.grid": ("paper", "tensor2tensor"),
    **dict.fromkeys(("d_model", "d_ff", "heads", "head_width", "encoder_layers")),
    **dict.fromkeys(("decoder_layers", "norm_epsilon", "output_bias")),
    **dict.fromkeys(("dropout", "attention_dropout", "activation_dropout")),  # of training only
    **dict.fromkeys(f"positions.{name}" for name in ("offset", "amplitude", "max_positions")),
}


# Vectors are computed in `model/positions.py`; what attention knows of positions is computed in
# `model/variants`. A new layout is a name more here, in DISTANCES or VECTORS, and its code there.
class Positions(Settings):
    """The settings of the positional encoding (3.5); see `model/positions.py`."""

    layout: Literal[
        "interleaved",
        "concatenated",
        "sine",
        "learned",
        "rotary",
        "alibi",
        "relative",
        "none",
    ] = setting(
        "interleaved",
        "Position vectors: sines and cosines alternating, all sines first, sines alone, or a "
        "learned table (paper 3.5). Positions in attention: rotary (Su et al. 2021), alibi (Press "
        "et al. 2022) or relative (Shaw et al. 2018). Or none.",
    )
    combine: Literal["add", "multiply", "concatenate"] = setting(
        "add",
        "How a position vector is combined with the token's: added, multiplied, or concatenated "
        "and then mapped to d_model (paper 3.5).",
        needs=f"layout={'|'.join(VECTORS)}",
    )
    grid: Literal["paper", "tensor2tensor"] = setting(
        "paper",
        "The exponents of the wavelengths: 2i/d, or i/(d/2-1) (paper 3.5).",
        needs="layout=interleaved|concatenated",
    )
    offset: int = setting(
        0,
        "The number of the first position.",
        ge=0,
        le=MANY,
        needs=f"layout={'|'.join(COMPUTED)}",
    )
    amplitude: float = setting(
        1.0,
        "A factor on every value of the position vectors.",
        ge=0,
        le=MANY,
        needs=f"layout={'|'.join(COMPUTED)}",
    )
    reach: int = setting(
        16,
        "With layout=relative: all distances beyond this share one vector.",
        ge=1,
        le=1 << 14,
        needs="layout=relative",
    )
    max_positions: int = setting(
        1024, "How many positions there are: the longest sentence, in tokens.", ge=2, le=WIDE
    )

    @property
    def are_vectors(self) -> bool:
        """Return whether each position has a vector, which the embedding adds."""
        return self.layout in VECTORS

    @property
    def are_distances(self) -> bool:
        """Return whether attention knows the positions, by their distances."""
        return self.layout in DISTANCES


class AttentionPattern(Settings):
    """The settings of self-attention that sees a part of its sequence; see `model/variants`."""

    pattern: Literal["full", "local", "strided", "global+local"] = setting(
        "full",
        "Which positions a position attends to: all; near ones; also every stride-th (Child et "
        "al. 2019); or also the first ones, which attend to all (Beltagy et al. 2020).",
    )
    width: int = setting(
        64,
        "How many positions before (in the encoder, also after) count as near.",
        ge=1,
        le=WIDE,
        needs="pattern!=full",
    )
    stride: int = setting(
        64,
        "With pattern=strided: attend also to every position at this distance.",
        ge=1,
        le=WIDE,
        needs="pattern=strided",
    )
    globals: int = setting(
        1,
        "With pattern=global+local: how many of the first positions attend to all.",
        ge=1,
        le=WIDE,
        needs="pattern=global+local",
    )


class Recurrent(Settings):
    """The settings of a recurrent network, the Transformer's predecessor; see `extensions/rnn`."""

    cell: Literal["gru", "lstm"] = setting(
        "gru", "The cell of a recurrent layer (Cho et al. 2014; Hochreiter, Schmidhuber 1997)."
    )
    bidirectional: bool = setting(
        False, "The encoder reads forwards and backwards, each with half of d_model."
    )
    attention: Literal["none", "dot", "general", "additive"] = setting(
        "none",
        "How the decoder reads the source: none (only a fixed vector, the encoder's last state), "
        "or attention with this score (Luong et al. 2015; additive: Bahdanau et al. 2015).",
    )
    input_feeding: bool = setting(
        False,
        "The attentional vector is fed to the next step (Luong et al. 2015).",
        needs="attention!=none",
    )


class Model(Settings):
    """The shape of the network. The defaults are the paper's base model (table 3)."""

    network: Literal["transformer", "rnn", "decoder", "encoder"] = setting(
        "transformer",
        "The paper's network; a recurrent one, its predecessor; or one side alone: a decoder that "
        "completes text, or an encoder that fills masks or classifies.",
    )
    d_model: int = setting(
        512, "The width of the vectors between layers (paper 3.1).", ge=2, le=WIDE
    )
    d_ff: int = setting(
        2048, "The width inside the feed-forward network (paper 3.3).", ge=1, le=MANY, needs=ATTENDS
    )
    heads: int = setting(8, "The heads of each attention (paper 3.2.2).", ge=1, le=WIDE)
    head_width: int | None = setting(
        None,
        "The width of a head; if not given, d_model / heads (paper 3.2.2).",
        ge=1,
        le=WIDE,
        needs=ATTENDS,
    )
    key_value_heads: int | None = setting(
        None,
        "How many different keys and values the heads share: 1 is multi-query (Shazeer 2019), more "
        "are grouped-query attention (Ainslie et al. 2023); if not given, heads.",
        ge=1,
        le=WIDE,
        needs=ATTENDS,
    )
    encoder_layers: int = setting(6, "The layers of the encoder (paper 3.1).", ge=0, le=1000)
    decoder_layers: int = setting(6, "The layers of the decoder (paper 3.1).", ge=0, le=1000)
    decoder: Literal["attention", "ssru"] = setting(
        "attention",
        "How a decoder layer reads the translation so far: self-attention (paper 3.2.3), or a "
        "simpler simple recurrent unit (SSRU, Kim et al. 2019), whose state has a fixed size.",
        needs="network=transformer",
    )
    dropout: float = setting(
        0.1, "Dropout after sub-layers and embeddings (paper 5.4).", ge=0, lt=1
    )
    attention_dropout: float = setting(
        0.0, "Dropout on the attention weights; not in the paper.", ge=0, lt=1, needs=ATTENDS
    )
    activation_dropout: float = setting(
        0.0,
        "Dropout inside the feed-forward network; not in the paper.",
        ge=0,
        lt=1,
        needs=ATTENDS,
    )
    norm: Literal["post", "pre"] = setting(
        "post",
        "LayerNorm after each residual sum, or before each sub-layer (paper 3.1).",
        needs=ATTENDS,
    )
    norm_epsilon: float = setting(
        1e-5, "What LayerNorm adds to the variance (paper 3.1).", gt=0, needs=ATTENDS
    )
    normalization: Literal["layer", "rms"] = setting(
        "layer",
        "LayerNorm, or RMSNorm (Zhang and Sennrich 2019) in its place (paper 3.1).",
        needs=ATTENDS,
    )
    activation: Literal["relu", "silu", "gelu"] = setting(
        "relu", "The function between the two feed-forward products (paper 3.3).", needs=ATTENDS
    )
    gated: bool = setting(
        False,
        "A gate in the feed-forward network: with silu it is SwiGLU (Shazeer 2020).",
        needs=ATTENDS,
    )
    embedding_norm: bool = setting(
        False,
        "Also normalize the embeddings, as mBART does; not in the paper.",
        needs=ATTENDS,
    )
    ablate: tuple[str, ...] = setting(
        (),
        "Parts that are left out, to see what they do: residual, norm, feed_forward, scale.",
        needs=ATTENDS,
    )
    tie: Literal["three-way", "two-way", "none"] = setting(
        "three-way",
        "Which tables are tied: all three, target embedding and output, or none (paper 3.4).",
    )
    output_bias: bool = setting(False, "A bias on the logits, as Marian has it; not in the paper.")
    labels: tuple[str, ...] = setting(
        (),
        "The classes that an encoder tells apart; training finds them in its data.",
        needs="network=encoder",
    )
    plugin: str | None = setting(
        None,
        "The plugin that makes the network; --plugin names its file.",
        min_length=1,
        max_length=200,
    )
    positions: Positions = Positions()
    attention: AttentionPattern = setting(AttentionPattern(), "", needs=ATTENDS)
    rnn: Recurrent = setting(Recurrent(), "", needs="network=rnn")

    @classmethod
    def fill_in(cls, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**IMPLIED.get(str(raw.get("network")), {}), **raw}

    def check(self) -> None:
        self._has_these_sides()
        self._has_these_parts()
        self._shares_heads()
        self._fits()

    def _has_these_sides(self) -> None:
        """Check the layers of each side, and what a recurrent network has of other tables."""
        idle = self.list_changed((), heads=1) if self.network == "rnn" else []
        if self.network == "rnn":
            idle += (f"positions.{each}" for each in self.positions.list_changed(OF_POSITIONS))
        for layers in SIDE_OF.values():
            if SIDE_OF.get(self.network, layers) != layers:
                idle += self.list_changed((), **{layers: 0})
            elif not getattr(self, layers):
                raise ValueError(f"{layers}=0: network={self.network} has at least 1")
        if idle:
            raise ValueError(f"{idle[0]} has no effect with network={self.network}")
        if self.network == "rnn" and self.encoder_layers != self.decoder_layers:
            raise ValueError(
                "with network=rnn, each decoder layer begins with the last state of an encoder "
                f"layer: encoder_layers={self.encoder_layers} must be "
                f"decoder_layers={self.decoder_layers}"
            )

    def _has_these_parts(self) -> None:
        for part in self.ablate:
            if part not in PARTS:
                raise ValueError(f"ablate={part}: one of {', '.join(PARTS)}")
        if "norm" in self.ablate and self.normalization != "layer":
            raise ValueError(f"normalization={self.normalization} has no effect with ablate=norm")
        positions = self.positions
        if self.embedding_norm and not (positions.are_vectors and positions.combine == "add"):
            raise ValueError("embedding_norm=true needs position vectors that are added")
        if "feed_forward" in self.ablate and self.gated:
            raise ValueError("gated=true has no effect with ablate=feed_forward")

    def _shares_heads(self) -> None:
        shared = self.key_value_heads
        if shared is not None and self.heads % shared:
            raise ValueError(f"heads={self.heads} cannot share key_value_heads={shared} evenly")
        if self.positions.layout == "rotary" and self.width % 2:
            raise ValueError(f"layout=rotary turns pairs, but a head is {self.width} wide")

    def _fits(self) -> None:
        if self.d_model % 2:
            raise ValueError(f"d_model={self.d_model} must be even: positions are sin/cos pairs")
        if self.head_width is None and self.d_model % self.heads:
            fitting = (h for h in range(1, self.d_model + 1) if self.d_model % h == 0)
            near = min(fitting, key=lambda h: abs(h - self.heads))
            raise ValueError(
                f"d_model={self.d_model} cannot be split over heads={self.heads}; "
                f"heads={near} fits, or set head_width"
            )

    def list_variations(self) -> list[str]:
        """Return the settings, as `name=value`, that make a Transformer another than the paper's.

        They need code of their own: what was written for the paper's network alone has to refuse
        them. A setting that is not in PLAIN is one of them, if it has not its default.
        """
        return self.list_unknown(PLAIN)

    @property
    def lacking(self) -> str:
        """Return the setting for which a Transformer has fewer windows than the paper's; or ""."""
        if not self.positions.are_vectors:
            return f"positions.layout={self.positions.layout}"
        return "ablate=feed_forward" if "feed_forward" in self.ablate else ""

    @property
    def width(self) -> int:
        """Return K, the width of one head; in an RNN, that of one direction of the encoder."""
        if self.network == "rnn":
            return self.d_model // (2 if self.rnn.bidirectional else 1)
        return self.head_width or self.d_model // self.heads

    @property
    def is_language_model(self) -> bool:
        """Return whether the network reads one text, and translates none."""
        return self.network in SIDE_OF

    @property
    def decoder_blocks(self) -> tuple[str, ...]:
        """Return the names of the sub-layers of a decoder layer of a Transformer."""
        first = "ssru" if self.decoder == "ssru" else "self_attention"
        blocks = (first, "cross_attention", "feed_forward")
        return tuple(block for block in blocks if block not in self.ablate)

    @property
    def attending_layers(self) -> range:
        """Return the numbers of the decoder layers that attend to the source."""
        if self.is_language_model:
            return range(0)
        if self.network == "transformer":
            return range(self.decoder_layers)
        first = self.decoder_layers - (self.rnn.attention != "none")
        return range(first, self.decoder_layers)


NormalizedSides = Literal["none", "source", "both"]


class Text(Settings):
    """The settings of the tokenizer (5.1: byte-pair encoding, one vocabulary for both sides)."""

    tokenizer: Literal["bpe", "unigram", "char"] = setting(
        "bpe",
        "How text is split into tokens: byte-pair encoding; unigram, with a probability for each "
        "token (Kudo 2018); or single characters.",
    )
    vocabulary: int = setting(
        8000,
        "The size of the vocabulary, control ids and bytes included (paper 5.1: 37000).",
        ge=300,
        le=MANY,
    )
    shared: bool = setting(True, "One vocabulary for both sides (paper 5.1).")
    dropout: float = setting(
        0.0,
        "Subword sampling with tokenizer=bpe: the chance that a merge is skipped (Provilkov et al. "
        "2020).",
        ge=0,
        lt=1,
        needs="tokenizer=bpe",
    )
    sampling_alpha: float | None = setting(
        None,
        "Subword sampling with tokenizer=unigram (Kudo 2018): segmentations are drawn in "
        "proportion to their probability to this power; 0.1 to 0.5 are usual.",
        gt=0,
        le=100,
        needs="tokenizer=unigram",
    )
    samples: int = setting(
        8,
        "With subword sampling: how many segmentations K are stored; epoch e reads number e mod "
        "K; 0: new ones are drawn in each epoch.",
        ge=0,
        le=1000,
    )
    nfkc: NormalizedSides = setting(
        "none", "Which sides have compatibility characters replaced (NFKC)."
    )
    punctuation: NormalizedSides = setting(
        "none", "Which sides have quotes, dashes and ellipses replaced with those on a keyboard."
    )
    lowercase: NormalizedSides = setting("none", "Which sides are changed to lower case.")
    source_eos: bool = setting(True, "Sources end with </s>; those of OpenNMT's models do not.")
    split_above: int | None = setting(
        None,
        "Clauses of long sentences have at most so many tokens; a sentence with up to 1.5 times as "
        "many stays whole. If not given, the 99th percentile of the training text.",
        ge=1,
    )

    @property
    def sampling(self) -> float:
        """Return the rate of subword sampling, whichever its setting; 0 without."""
        return self.sampling_alpha or self.dropout


class CorpusShare(Settings):
    """One of several corpora, [[data.corpus]]: how often an epoch has its pairs, and its tag."""

    name: str = setting(..., "The name of the corpus in the log.", min_length=1)
    paths: tuple[str, ...] | None = setting(
        None, "Its files, in a recipe; a model's own settings leave them out."
    )
    weight: float = setting(1.0, "How often an epoch has each pair of the corpus.", gt=0, le=1000)
    tag: str | None = setting(None, "A token before each source, like <bt>.", check=check_tag)
    source_lang: str | None = setting(
        None, "The language to translate from, if not data.source_lang."
    )
    target_lang: str | None = setting(
        None, "The language to translate to, if not data.target_lang."
    )


class Stage(Settings):
    """A stage of a curriculum, [[data.stage]]: which of several corpora are read until when."""

    corpora: tuple[str, ...] = setting(..., "The names of the corpora it reads.", min_length=1)
    until: float = setting(1.0, "The share of the updates after which it ends.", gt=0, le=1)


class Augment(Settings):
    """The changes of the pairs while they are trained on, anew in each epoch."""

    case: float = setting(
        0.0,
        "The chance that a source is changed to lower case, capitals or title case.",
        ge=0,
        le=1,
    )
    digits: float = setting(
        0.0,
        "The chance that numbers that occur on both sides are replaced, alike on both.",
        ge=0,
        le=1,
    )
    mask: float = setting(
        0.0, "The chance that a token of a source is hidden by the mask token.", ge=0, lt=1
    )
    stop: float = setting(
        0.0, "The chance that a source lacks the punctuation mark at its end.", ge=0, le=1
    )
    stops: float = setting(0.0, "The chance that both sides lack the mark at the end.", ge=0, le=1)
    inline: float = setting(
        0.0, "The chance that a symbol stands at the same place on both sides.", ge=0, le=1
    )
    noise: float = setting(
        0.0, "The chance that random characters, to be copied, replace a pair.", ge=0, le=1
    )
    switchout: float = setting(
        0.0,
        "SwitchOut (Wang et al. 2018): the temperature at which tokens of both sides are replaced "
        "with random ones; 0: none.",
        ge=0,
        le=100,
    )
    typos: float = setting(
        0.0, "The chance that a longer word of a source has a typing error.", ge=0, le=1
    )
    words: float = setting(0.0, "The chance that a word of a source is left out.", ge=0, lt=1)

    @property
    def is_on(self) -> bool:
        return self != Augment()


class Data(Settings):
    """The settings of the sentence pairs. Paths are given on the command line, not stored here."""

    source_lang: str | None = setting(None, "The language to translate from, as a code like en.")
    target_lang: str | None = setting(None, "The language to translate to, as a code like de.")
    corpus: tuple[CorpusShare, ...] = setting((), "Several corpora, each a table of its own.")
    stage: tuple[Stage, ...] = setting((), "Stages of a curriculum, each a table of its own.")
    corpus_temperature: float | None = setting(
        None,
        "Show small corpora more often: an epoch has pairs of a corpus of n in proportion to "
        "n^(1/T); 1: as they are; 5, as in mBART: more evenly.",
        ge=1,
        le=1000,
    )
    tag: str | None = setting(
        None,
        "A token before each source, like <2de>; several target languages get one each.",
        check=check_tag,
    )
    target_tag: str | None = setting(
        None,
        "A token with which each translation begins, like NLLB's <fra_Latn>.",
        check=check_tag,
    )
    augment: Augment = Augment()
    hold_out_seed: int | None = setting(
        None,
        "Without a validation text: the seed by which pairs are held out; if not given, "
        "train.seed.",
        ge=0,
        lt=1 << 63,
    )
    max_length: int = setting(
        256, "The most tokens of a side; longer pairs are left out, and counted.", ge=1, le=WIDE
    )
    copies: int = setting(
        0,
        "How many copy tokens are learned: names, numbers and links that both sides share are "
        "replaced with them, and copied in translating; 0: none.",
        ge=0,
        le=MOST_COPIES,
    )
    context: int = setting(
        0,
        "How many of the sentences before a source are read with it (Tiedemann and Scherrer 2017).",
        ge=0,
        le=16,
    )

    def check(self) -> None:
        tags = [self.tag, *(each.tag for each in self.corpus)]
        if self.context and SEPARATOR in tags:
            raise ValueError(f"with data.context, {SEPARATOR} is no tag: take another name")
        names = [each.name for each in self.corpus]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"two corpora are called {twice}: give each a name of its own")
        ends = [each.until for each in self.stage]
        if ends != sorted(set(ends)):
            raise ValueError("each data.stage ends after the one before it, as until=0.5, until=1")
        read = [name for each in self.stage for name in each.corpora]
        if names and (unknown := next((name for name in read if name not in names), None)):
            raise ValueError(f"data.stage: no corpus is called {unknown}; {', '.join(names)} are")
        if len({target for _, target in self.pairs}) > 1 and None in {t for _, t in self.pairs}:
            raise ValueError("of several target languages, each corpus has to name its own")

    @property
    def pairs(self) -> list[tuple[str | None, str | None]]:
        """Return the languages, source and target, of all corpora, each pair once."""
        own = (self.source_lang, self.target_lang)
        results = ((c.source_lang or own[0], c.target_lang or own[1]) for c in self.corpus)
        return list(dict.fromkeys(results)) or [own]

    def tags_of(self, corpus: CorpusShare) -> list[str]:
        """Return the tokens before each source of a corpus: the language's, then its own."""
        target = corpus.target_lang or self.target_lang
        language = self.tag or self.tag_language(target)
        return [tag for tag in (language, corpus.tag) if tag]

    def tag_language(self, target: str | None) -> str | None:
        """Return the token that asks for a target language; None if there is only one."""
        targets = {each for _, each in self.pairs}
        return f"<2{target}>" if target and len(targets) > 1 else None

    @property
    def target_tags(self) -> list[str]:
        """Return the token with which each translation begins, if there is one."""
        return [self.target_tag] if self.target_tag else []

    def list_tags(self) -> list[str]:
        """Return the tags of all corpora, and with a context its separator, each once."""
        tags = dict.fromkeys(tag for each in self.corpus for tag in self.tags_of(each))
        separator = SEPARATOR if self.context else None
        return list(dict.fromkeys(filter(None, (self.tag, *tags, separator))))

    def find_pairs(self, pair: str | None) -> list[tuple[str | None, str | None]]:
        """Return the pairs of that name, like "en-de", or to one target, "de"; all for None."""
        return [p for p in self.pairs if pair is None or pair in (p[1], "-".join(map(str, p)))]

    def narrow(self, pair: str | None) -> "Data":
        """Return the settings for one pair of languages, like "en-de", or one target, "de".

        Without `pair`, there has to be one target language. ValueError if there is none, or no
        such pair.
        """
        fitting = self.find_pairs(pair)
        targets = list(dict.fromkeys(target for _, target in fitting))
        if len(targets) == 1:
            sources = list(dict.fromkeys(source for source, _ in fitting))
            results = {"source_lang": sources[0] if len(sources) == 1 else None}
            results |= {"target_lang": targets[0], "tag": self.tag or self.tag_language(targets[0])}
            return self.model_copy(update={**results, "corpus": ()})
        known = ", ".join("-".join(each or "?" for each in p) for p in self.pairs)
        if pair is not None:
            raise ValueError(f"no translation to {pair} was trained; known here: {known}")
        raise ValueError(f"several languages were trained, {known}: name one, as in MODEL@de")


class Train(Settings):
    """The settings of training (section 5 of the paper)."""

    seed: int = setting(1, "The seed of all randomness of the training.", ge=0, lt=1 << 63)
    steps: int | None = setting(None, "How many updates to train (paper 5.2).", ge=1, le=10**9)
    minutes: float | None = setting(
        None,
        "How many minutes to train, instead of steps, which follow from the time.",
        gt=0,
        le=10**7,
    )
    epochs: float | None = setting(
        None,
        "How many passes over the pairs, instead of steps; a validation follows each pass.",
        gt=0,
        le=10**6,
    )
    batch_tokens: int = setting(
        4096, "Tokens of each side of a micro-batch, padded (paper 5.1: 25000).", ge=16, le=10**9
    )
    fit_batch: bool = setting(
        False,
        "Double batch_tokens before the first update, as long as memory suffices and an epoch gets "
        "faster.",
    )
    pad_to: int | None = setting(
        None,
        "Lengths are padded to a multiple of this; if not given, of what is fastest.",
        ge=1,
        le=64,
    )
    gradient_accumulation: int = setting(
        1, "How many micro-batches are summed into one update.", ge=1, le=10**6
    )
    optimizer: Literal["adam", "muon"] = setting(
        "adam", "Adam as in the paper, or Muon for the matrices (paper 5.3)."
    )
    learning_rate: float | None = setting(
        None,
        "The peak of the learning rate; if not given, (d_model * warmup) ** -0.5 (paper 5.3).",
        gt=0,
    )
    embedding_lr_scale: float = setting(
        1.0, "A factor on the learning rate of the embeddings.", gt=0, le=1000
    )
    warmup: int | None = setting(
        None, "The updates until the peak; if not given, 4000, or a tenth of all (paper 5.3).", ge=1
    )
    schedule: Literal["inverse_sqrt", "cosine", "linear", "plateau"] = setting(
        "inverse_sqrt", "How the learning rate falls after its peak (paper 5.3)."
    )
    cycles: int = setting(
        1,
        "With schedule=cosine or linear: how often the rate falls, each time from its peak (SGDR, "
        "Loshchilov and Hutter 2017).",
        ge=1,
        le=1000,
        needs="schedule=cosine|linear",
    )
    final_rate: float = setting(
        0.0,
        "With any schedule but inverse_sqrt: the rate at the end, as a share of the peak.",
        ge=0,
        le=1,
        needs="schedule!=inverse_sqrt",
    )
    plateau_patience: int = setting(
        2,
        "With schedule=plateau: how many validations without a lower loss before the rate falls.",
        ge=1,
        needs="schedule=plateau",
    )
    plateau_factor: float = setting(
        0.5,
        "With schedule=plateau: the factor by which the rate falls.",
        gt=0,
        lt=1,
        needs="schedule=plateau",
    )
    betas: tuple[float, float] = setting((0.9, 0.98), "Adam's two decay rates (paper 5.3).")
    epsilon: float = setting(1e-9, "Adam's epsilon (paper 5.3).", gt=0)
    weight_decay: float = setting(0.0, "Decoupled weight decay, as in AdamW.", ge=0)
    label_smoothing: float = setting(
        0.1, "The probability spread over all tokens (paper 5.4).", ge=0, lt=1
    )
    rdrop_alpha: float = setting(
        0.0, "R-Drop's alpha; above 0, two forward passes a batch.", ge=0, le=1000
    )
    teacher_share: float = setting(
        1.0,
        "With --teacher: which share of the pairs has its targets; others keep theirs.",
        gt=0,
        le=1,
    )
    teacher_both: bool = setting(False, "With --teacher: learn the data's targets, too.")
    teacher_best: int = setting(
        1, "With --teacher: how many of its best translations each source has.", ge=1, le=64
    )
    teacher_mbr: int = setting(
        0,
        "With --teacher: it chooses by minimum Bayes risk among so many translations.",
        ge=0,
        le=200,
    )
    alignment_weight: float = setting(
        0.0,
        "Guided alignment (Chen et al. 2016): the weight of the loss by which one cross-attention "
        "head learns --alignments, or those of --teacher.",
        ge=0,
        le=1000,
    )
    alignment_layer: int | None = setting(
        None,
        "With alignment_weight: the decoder layer, from 0; if not given, the last but one.",
        ge=0,
        needs="alignment_weight",
    )
    alignment_head: int = setting(
        0, "With alignment_weight: the head, from 0.", ge=0, needs="alignment_weight"
    )
    prior_weight: float = setting(
        0.0,
        "The weight of the divergence from the language model --lm-prior (Baziotis et al. 2020).",
        ge=0,
        le=1000,
    )
    prior_temperature: float = setting(
        2.0,
        "With prior_weight: the temperature that softens both distributions.",
        gt=0,
        le=1000,
        needs="prior_weight",
    )
    risk_weight: float = setting(
        0.0,
        "Minimum risk training (Shen et al. 2016), with --from: its share of the loss; 1: nothing "
        "else.",
        ge=0,
        le=1,
    )
    risk_samples: int = setting(
        8,
        "With risk_weight: translations drawn for each sentence.",
        ge=1,
        le=1000,
        needs="risk_weight",
    )
    risk_sharpness: float = setting(
        0.005,
        "With risk_weight: the factor on the samples' log-probabilities.",
        gt=0,
        le=1000,
        needs="risk_weight",
    )
    risk_utility: Literal["chrf", "bleu"] = setting(
        "chrf",
        "With risk_weight: the sentence score; the risk is 1 minus this score.",
        needs="risk_weight",
    )
    max_grad_norm: float | None = setting(
        1.0, "Gradients are scaled down to this norm; not in the paper.", gt=0
    )
    precision: Literal["auto", "fp32", "bf16", "fp16"] = setting(
        "auto",
        "The number format of matrix products; fp16, with loss scaling, is for GPUs without bf16.",
    )
    gradient_checkpointing: bool = setting(
        False, "Compute each layer again in the backward pass: less memory, more time."
    )
    compile: bool = setting(False, "Compile the network with torch.compile, for GPUs.")
    deterministic: bool = setting(
        False, "Give the same bits each time on a GPU, too, as processors always do."
    )
    ema: float | None = setting(None, "The decay of a moving average of the weights.", gt=0, lt=1)
    validate_every: int | None = setting(
        None, "Updates between validations; if not given, ten times in all.", ge=1
    )
    checkpoint_every: int | None = setting(
        None, "Updates between checkpoints; if not given, at each validation.", ge=1
    )
    keep: int = setting(
        1,
        "How many of the latest checkpoints are kept, to resume and to average (paper 6.1).",
        ge=1,
    )
    keep_best: int = setting(
        0,
        "How many models with the best validations are kept in run/best, to average.",
        ge=0,
        le=1000,
    )
    best_by: Literal["bleu", "chrf", "loss"] = setting(
        "bleu", "The score by which the best weights are chosen."
    )
    patience: int | None = setting(
        None, "Stop after this many validations without a better score.", ge=1
    )
    freeze: tuple[str, ...] = setting(
        (), "Parts that are not trained, like encoder, decoder.0 or embedding."
    )
    lora_rank: int | None = setting(
        None,
        "LoRA (Hu et al. 2022): learn only a change of this rank for each matrix of the layers; "
        "everything else stays.",
        ge=1,
        le=WIDE,
    )
    lora_alpha: float = setting(
        16.0,
        "With lora_rank: the changes are scaled by alpha / rank.",
        gt=0,
        le=MANY,
        needs="lora_rank",
    )
    watch: int = setting(3, "Sentences recorded during training, in run/watch; 0: none.", ge=0)
    plugin: str | None = setting(
        None,
        "The plugin with a loss, a schedule, a callback or a network; --plugin names its file.",
        min_length=1,
        max_length=200,
    )
    shard: bool = setting(
        False, "With torchrun: spread one model over all processes, to save memory."
    )

    @property
    def teachers(self) -> bool:
        """Return whether a setting says what teachers do, which have no weight in the loss."""
        names = ("teacher_share", "teacher_both", "teacher_best", "teacher_mbr")
        return bool(self.list_changed(names))

    def check(self) -> None:
        ends = [name for name in ("steps", "minutes", "epochs") if getattr(self, name) is not None]
        if len(ends) > 1:
            raise ValueError(f"{' and '.join(ends)} both say when to stop: give one of them")
        if self.lora_rank and (idle := self.list_changed(OF_FULL_RANK)):
            raise ValueError(f"{idle[0]} is not possible with lora_rank, which learns by Adam")
        if self.compile and self.alignment_weight:
            raise ValueError("alignment_weight is not possible with compile=true")
        self._can_shard()

    def _can_shard(self) -> None:
        names = (
            "gradient_checkpointing",
            "compile",
            "alignment_weight",
            "prior_weight",
            "risk_weight",
        )
        for changed in self.list_changed(names) if self.shard else ():
            raise ValueError(f"{changed.lower()} is not possible with shard=true")
        if self.shard and self.precision == "fp16":
            raise ValueError("precision=fp16 is not possible with shard=true: use bf16")


class Decode(Settings):
    """The settings of the search: the defaults of `translate`. The paper has beam 4, alpha 0.6."""

    search: Literal["beam", "greedy", "sample"] = setting(
        "beam", "Keep the best hypotheses, take the likeliest token each time, or draw one."
    )
    beam: int = setting(5, "How many hypotheses are kept (paper 6.1: 4).", ge=1, le=1000)
    beam_groups: int = setting(
        1, "Diverse beam: groups of hypotheses that avoid each other's tokens.", ge=1, le=1000
    )
    diversity: float = setting(
        0.5,
        "What a token costs a group for each hypothesis of an earlier group that just took it.",
        ge=0,
        le=1000,
    )
    length_penalty: Literal["gnmt", "power", "none"] = setting(
        "gnmt", "What a log-probability is divided by: ((5+n)/6)^alpha, n^alpha or 1 (paper 6.1)."
    )
    alpha: float = setting(0.6, "Larger favours longer output (paper 6.1).", ge=0, le=100)
    stop: Literal["exact", "first"] = setting(
        "exact", "End when no better hypothesis can come, or when enough hypotheses have ended."
    )
    max_ratio: float = setting(
        1.5,
        "The most tokens of output: so many for each source token, plus max_extra (paper 6.1: 1).",
        ge=0,
        le=1000,
    )
    max_extra: int = setting(
        50,
        "Tokens of output beyond max_ratio; input length + 50 in the paper (paper 6.1).",
        ge=1,
        le=WIDE,
    )
    min_length: int = setting(0, "Fewest tokens of output.", ge=0, le=WIDE)
    no_repeat_ngram_size: int = setting(
        0, "Never repeat a sequence of this many tokens; 0: off.", ge=0, le=WIDE
    )
    repetition_penalty: float = setting(
        1.0, "Above 1: tokens that are already in the output are less likely.", ge=1, le=100
    )
    temperature: float = setting(1.0, "Below 1: fewer bold choices; above 1: more.", gt=0)
    shortlist: bool = setting(
        False,
        "Predict only likely tokens, which `glassformer shortlist` lists: faster, in int8.",
    )
    top_k: int = setting(
        0, "Draw only among this many of the likeliest tokens; 0: all.", ge=0, le=MANY
    )
    top_p: float = setting(
        1.0,
        "Draw only among the likeliest tokens that make up this share of the probability.",
        gt=0,
        le=1,
    )
    mbr: int = setting(
        0,
        "Minimum Bayes risk: of this many samples, or hypotheses of a beam, take the one most "
        "like the others; 0: off.",
        ge=0,
        le=200,
    )
    utility: Literal["chrf", "bleu"] = setting("chrf", "How alike two translations are, for mbr.")
    typography: Literal["source", "plain", "language"] = setting(
        "source",
        "Quotes, dashes and apostrophes: curly where the source has them, as the model writes "
        "them, or as the language prints them, French with narrow no-break spaces.",
    )

    def check(self) -> None:
        if self.mbr and self.search == "greedy":
            raise ValueError("mbr chooses among several: search=sample or search=beam")
        if self.shortlist and self.search == "sample":
            raise ValueError("shortlist has no effect with search=sample: use greedy or beam")
        if self.beam % self.beam_groups:
            raise ValueError(
                f"beam={self.beam} cannot be divided among beam_groups={self.beam_groups}"
            )

    @property
    def rows(self) -> int:
        """Return how many hypotheses of a sentence are continued at each step."""
        return self.beam if self.search == "beam" else 1

    @property
    def beyond_native(self) -> str:
        """Return the setting of this search that the engine in C does not know; "" if none is."""
        for name, kind in type(self).model_fields.items():
            has_effect = SEARCH_OF.get(name, self.search) == self.search
            if name not in NATIVE and has_effect and getattr(self, name) != kind.default:
                return name
        return ""

    def override(
        self, fields: "Decode | Mapping[str, Any] | None" = None, n_best: int | None = None
    ) -> "Decode":
        """Return these settings, with those that are given in the place of ours.

        A setting that only one search uses selects that search, unless `search` is given as well.
        `n_best` translations need a beam of at least that width. If `fields` is a `Decode`, the
        settings that it was made with count as given, and its defaults do not. The command line,
        Python, the server and `see` all choose their search here. ValueError names what is wrong.
        """
        if isinstance(fields, Decode):
            fields = {} if fields is self else fields.model_dump(exclude_unset=True)
        changes = {name: value for name, value in (fields or {}).items() if value is not None}
        meant = {SEARCH_OF[name]: name for name in changes if name in SEARCH_OF}
        if not changes and (n_best is None or n_best <= 1):
            return self
        if n_best is not None and n_best > 1:
            changes = {"beam": max(self.beam, n_best), **changes}
            meant.setdefault("beam", "n_best")
        if "search" not in changes and len(meant) > 1:
            asked = " and ".join(f"{name} asks for search={kind}" for kind, name in meant.items())
            raise ValueError(f"{asked}: give one of the two, or say which search")
        implied = {"search": min(meant)} if meant else {}
        if changes.get("mbr") and "search" not in changes and not meant:
            implied = {"search": "sample"}
        return Config.read({"decode": {**self.model_dump(), **implied, **changes}}).decode


class Config(Settings):
    """All settings. `size` gives the defaults of `model`; what `model` sets itself overrides them.

    A setting that is not given has its default. With the recipe auto, which the size auto
    needs, training chooses it once it knows the corpus: see `train/plan/auto.py`.
    """

    recipe: Literal["auto", "paper"] | None = setting(
        None,
        "auto chooses what you do not set, for the corpus and the machine; paper takes the "
        "defaults; if not given, paper in a file or in Python, unless size is auto; else auto.",
    )
    size: Literal["auto", "tiny", "small", "base", "big"] | None = setting(
        None, "The shape of the network, by name; auto: chosen for the corpus."
    )
    model: Model = Model()
    text: Text = Text()
    data: Data = Data()
    train: Train = Train()
    decode: Decode = Decode()

    @classmethod
    def fill_in(cls, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        if str(raw.get("size")) in SIZES:
            model = raw.get("model", {})
            if isinstance(model, Mapping):
                shape = find_shape(raw["size"], model.get("network", "transformer"))
                raw = {**raw, "model": {**shape, **model}}
        return raw

    def check(self) -> None:
        if self.recipe == "paper" and self.size == "auto":
            raise ValueError("size=auto is chosen by recipe=auto, not by the paper's: name a size")
        if self.model.is_language_model and not self.text.shared:
            raise ValueError(f"shared=false has no effect with network={self.model.network}")
        self._can_augment()
        self._can_read_context()

    def _can_read_context(self) -> None:
        for name in ("context", "target_tag") if self.model.is_language_model else ():
            if getattr(self.data, name):
                raise ValueError(f"data.{name} has no effect with network={self.model.network}")
        if self.data.context and self.train.alignment_weight:
            raise ValueError(
                "alignment_weight is not possible with data.context: its links count words"
            )
        if self.data.context and not self.text.source_eos:
            raise ValueError("data.context is not possible with text.source_eos=false")

    def _can_augment(self) -> None:
        network, augment = self.model.network, self.data.augment
        if augment.is_on and self.model.is_language_model:
            (changed, *_) = self.data.list_changed(("augment",))
            raise ValueError(f"{changed} has no effect with network={network}")
        if self.model.is_language_model and not self.text.samples:
            raise ValueError(f"text.samples=0 is not possible with network={network}")
        if augment.case and self.text.lowercase != "none":
            raise ValueError(f"augment.case has no effect with lowercase={self.text.lowercase}")
        for name in ("words", "inline", "noise") if self.train.alignment_weight else ():
            if getattr(augment, name):
                raise ValueError(f"augment.{name} moves words that alignment_weight has links of")

    @property
    def draws_anew(self) -> bool:
        """Return whether each epoch has segmentations of its own."""
        is_drawn = self.text.sampling > 0 and self.text.samples == 0
        return is_drawn and not self.model.is_language_model

    @property
    def is_open(self) -> bool:
        """Return whether settings are still to be chosen for a corpus and a machine."""
        return self.recipe == "auto" or self.size == "auto"

    @classmethod
    def load(cls, path: Path | str, changes: Sequence[str] = ()) -> "Config":
        """Read a TOML file; `changes` are `train.steps=500` and the like, applied on top.

        Raises ValueError, in one sentence, for an unreadable file, an unknown key or a bad value.
        """
        return cls.read(read_toml(Path(path)), changes, name=str(path))

    @classmethod
    def read(
        cls, raw: Mapping[str, Any], changes: Sequence[str] = (), name: str = "settings"
    ) -> "Config":
        """Return the settings of a nested mapping, with `changes` applied on top.

        ValueError, in one sentence that begins with `name`, if one is unknown or has a bad value.
        """
        merged = rename_settings(raw)
        for change in changes:
            _apply(merged, change)
        merged = rename_settings(merged)
        try:
            return cls.model_validate(merged)
        except ValueError as error:  # pydantic's, which is imported by now
            from .foundation.validation_errors import explain_error

            raise ValueError(f"{name}: {explain_error(error, Config)}") from None

    def changed(self, **tables: Mapping[str, Any]) -> "Config":
        """Return a copy with some settings changed: `config.changed(train={"steps": 10})`."""
        raw = self.model_dump(exclude_none=True, exclude_unset=True)
        for table, values in tables.items():
            raw[table] = {**raw.get(table, {}), **values}
            raw[table] = {key: value for key, value in raw[table].items() if value is not None}
        return Config.read(raw)

    def narrow(self, pair: str | None) -> "Config":
        """Return the settings for one pair of languages: see `Data.narrow`."""
        return self.model_copy(update={"data": self.data.narrow(pair)})

    def to_json(self) -> dict[str, Any]:
        """Return all settings, or those that were given if some are still to be chosen.

        Those that the network has not are left out.
        """
        payload = self.model_dump(mode="json", exclude_none=True, exclude_unset=self.is_open)
        model, is_rnn = payload.get("model", {}), self.model.network == "rnn"
        for name in (*self.model.list_idle(), *(("heads",) if is_rnn else ())):
            model.pop(name, None)
        for name in OF_POSITIONS if is_rnn else ():
            model.get("positions", {}).pop(name, None)
        return payload

    def to_toml(self) -> str:
        import tomli_w

        return tomli_w.dumps(self.to_json())


def _apply(raw: dict[str, Any], change: str) -> None:
    """Set `train.steps=500` in a nested dict. The value is TOML; a bare word is a string."""
    key, equals, text = change.partition("=")
    if not equals:
        raise ValueError(f"--set {change}: write it as key=value, for example train.steps=500")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        value = text
    *tables, last = key.strip().split(".")
    for table in tables:
        raw = raw.setdefault(table, {})
        if not isinstance(raw, dict):
            raise ValueError(f"--set {change}: {table} is a value, not a table of settings")
    raw[last] = value
