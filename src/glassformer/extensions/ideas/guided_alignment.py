"""Guided alignment (Chen et al. 2016): one head of cross-attention learns given word alignments.

The loss gets, for each target token whose word is linked, the cross-entropy between the head's row
that predicts it and a uniform distribution over the tokens of the source words linked to it.
`run/alignments.npz` holds the links of each pair of the store, by words, so that they fit any
segmentation.

Letters: B sentences; S source positions; T target positions; Q the rows that predict, T - 1;
M memory positions, S; D model width; K width of a head.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import linear, log_softmax

from glassformer.config import EOS, Config, Train
from glassformer.data.batches import Batch
from glassformer.data.corpus import read_pairs
from glassformer.data.files import read_lines
from glassformer.data.sources import Corpora
from glassformer.data.store import Store
from glassformer.engine.kernels.fast import KernelState
from glassformer.foundation.disk import write_bytes, write_text
from glassformer.foundation.extensions import need_addition
from glassformer.foundation.progress import Reporter
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.files.directory import Tokenizers
from glassformer.text import Tokenizer
from glassformer.train.plan.hooks import Loss
from glassformer.train.plan.ideas import Idea
from glassformer.train.plan.run_folder import read_settings
from glassformer.translate.align.choose_head import find_guided_layer

from .capture import capture_calls
from .distillation import find_learned
from .weights import check_company

ALIGNMENTS = "alignments.npz"  # in the run's folder
TEACHER_LINKS = "teacher.links"  # the same, as the teacher aligns the pairs to learn
METASPACE = "\u2581"  # a space, in tokens of SentencePiece
LINK = re.compile(r"(\d+)-(\d+)")
Integers = npt.NDArray[np.int64]


class GuidedAlignmentIdea(Idea):
    """Guided alignment in a training that was given a file of links."""

    def check(self, given: Mapping[str, Any], config: Config, *, has_parent: bool) -> None:
        links = given.get("alignments") or given.get("teachers")
        check_company("alignment_weight", "--alignments FILE", links, config)
        if (network := config.model.network) != "transformer":
            raise ValueError(f"train.alignment_weight needs network=transformer, not {network}")

    def keep(self, given: Mapping[str, Any], config: Config, run: Path) -> dict[str, Any]:
        file = given.get("alignments")
        return {"alignments": str(Path(file).resolve())} if file else {}

    def choose_targets(
        self, run: Path, text: Corpora, record: Mapping[str, Any], report: Reporter
    ) -> Corpora:
        (run / ALIGNMENTS).unlink(missing_ok=True)  # of the text as it was
        return text

    def prepare(
        self,
        run: Path,
        record: Mapping[str, Any],
        open_text: Callable[[], Corpora],
        store: Store,
        tokenizers: Tokenizers,
    ) -> None:
        if (run / ALIGNMENTS).is_file() or not {"alignments", "teachers"} & record.keys():
            return
        text, links = open_text(), record.get("alignments", "")
        if teachers := record.get("teachers"):
            text = find_learned(run, text, read_settings(run, dict(record)).train)
            links = align_by_teacher(teachers[0]["folder"], text, run / TEACHER_LINKS)
        pairs = chain.from_iterable(map(read_pairs, text.parts))
        read_links(links, pairs, store, tokenizers).save(run / ALIGNMENTS)

    def extend_loss(
        self, loss: Loss, run: Path, tokenizers: Tokenizers, device: torch.device
    ) -> Loss:
        return GuidedAlignment(loss, WordLinks.load(run / ALIGNMENTS), tokenizers)


class WordLinks:
    """The links of each pair in a store: links[offsets[n] : offsets[n + 1]] are those of pair n."""

    def __init__(self, offsets: Integers, links: Integers):
        self.offsets, self.links = offsets, links

    @classmethod
    def load(cls, path: Path) -> WordLinks:
        with np.load(path) as result:
            return cls(result["offsets"], result["links"])

    def save(self, path: Path) -> None:
        file = BytesIO()
        np.savez(file, offsets=self.offsets, links=self.links)
        write_bytes(path, file.getvalue())

    def of(self, rows: Integers) -> Integers:
        """Return the links of some pairs: number of the row among these, source and target word."""
        counts = self.offsets[rows + 1] - self.offsets[rows]
        results = [self.links[self.offsets[row] : self.offsets[row + 1]] for row in rows]
        numbers = np.repeat(np.arange(len(rows)), counts)
        return np.column_stack((numbers, np.concatenate([self.links[:0], *results])))


def read_links(
    path: Path | str, pairs: Iterable[tuple[str, str]], store: Store, tokenizers: Tokenizers
) -> WordLinks:
    """Return the links of a Pharaoh file (0-0 1-2) for each pair in a store.

    The file has a line for each of `pairs`, which are all lines of the training text; the store has
    fewer, in the same order, and knows them by their text. ValueError if a line has a link to a
    word that is not there, or if the file has another number of lines.
    """
    lines = read_lines(Path(path))
    texts = _read_texts(store, tokenizers)
    now, results = next(texts, None), list[list[tuple[int, int]]]()
    count = 0
    for count, (pair, line) in enumerate(_join(path, pairs, lines), 1):
        links = [(int(a), int(b)) for a, b in LINK.findall(line)]
        words = [len(text.split()) for text in pair]
        wrong = next((each for each in links if each[0] >= words[0] or each[1] >= words[1]), None)
        if wrong or len(links) != len(line.split()):
            fault = (
                f"link {wrong[0]}-{wrong[1]} to a word that is not there" if wrong else "no links"
            )
            raise ValueError(
                f"{path}: line {count:,} has {fault}: the pair has {words[0]} and {words[1]} "
                "words, counted from 0"
            )
        if (tokenizers.source.spell(pair[0]), tokenizers.target.spell(pair[1])) == now:
            results.append(links)
            now = next(texts, None)
    if now is not None:
        raise ValueError(f"{path}: the training text is in another order than the stored pairs")
    offsets = np.cumsum([0, *map(len, results)], dtype=np.int64)
    flat = np.array([link for links in results for link in links], np.int64).reshape(-1, 2)
    return WordLinks(offsets, flat)


def align_by_teacher(teacher: str, text: Corpora, out: Path) -> Path:
    """Write the links that a model finds in the pairs to learn, and return their file.

    Words are what stands between white space, as everywhere in guided alignment.
    """
    align = need_addition("align_texts", "--teacher with alignment_weight")
    write_text(out, "".join(f"{line}\n" for line in align(teacher, list(text))))
    return out


def _join(
    path: Path | str, pairs: Iterable[tuple[str, str]], lines: Iterable[str]
) -> Iterator[tuple[tuple[str, str], str]]:
    remaining, count = iter(lines), 0
    for count, pair in enumerate(pairs, 1):
        line = next(remaining, None)
        if line is None:
            raise ValueError(f"{path} has {count - 1:,} lines, but the training text has more")
        yield pair, line
    if next(remaining, None) is not None:
        raise ValueError(f"{path} has more lines than the training text, which has {count:,}")


def _read_texts(store: Store, tokenizers: Tokenizers) -> Iterator[tuple[str, str]]:
    for pair in range(len(store)):
        source = tokenizers.source.decode(store.source(pair, 0).tolist())
        yield source, tokenizers.target.decode(store.target(pair, 0).tolist())


class WordFinder:
    """Finds, for token ids, the number of the word between white space that each belongs to."""

    def __init__(self, tokenizer: Tokenizer):
        texts = [token.replace(METASPACE, " ") for token in tokenizer.vocabulary]
        is_text = np.array(
            [id > EOS and text not in tokenizer.tags for id, text in enumerate(texts)]
        )
        self.has_letters = is_text & np.array([bool(text.strip()) for text in texts])
        self.begins = np.array([text[:1].isspace() for text in texts])
        self.ends = np.array([text[-1:].isspace() for text in texts])

    def find(self, ids_BL: Integers) -> Integers:
        """Return the numbers of the words, B L; -1 for white space and for what is no text."""
        has_letters = self.has_letters[ids_BL]
        is_after_space = np.roll(self.ends[ids_BL], 1, axis=1)
        is_first = np.cumsum(has_letters, axis=1) == 1
        starts = has_letters & (self.begins[ids_BL] | is_after_space | is_first)
        return np.where(has_letters, np.cumsum(starts, axis=1) - 1, -1)


class GuidedAlignment:
    """A loss that adds that of guided alignment to another."""

    def __init__(self, loss: Loss, links: WordLinks, tokenizers: Tokenizers):
        self.loss, self.links = loss, links
        self.finders = WordFinder(tokenizers.source), WordFinder(tokenizers.target)

    def __call__(
        self, network: EncoderDecoder, batch: Batch, train: Train, kernels: KernelState
    ) -> Tensor:
        attention: Any = network.get_submodule(name_attention(network, train))
        with capture_calls(attention, "forward") as calls:
            loss = self.loss(network, batch, train, kernels)
        wanted_BQM = self.find_wanted(batch)
        device = network.output_table.weight.device
        places = [torch.from_numpy(each).to(device) for each in np.nonzero(wanted_BQM)]
        shares = wanted_BQM / np.maximum(wanted_BQM.sum(2, keepdims=True), 1)
        share_N = torch.from_numpy(shares[np.nonzero(wanted_BQM)]).to(device, torch.float32)
        for (x_BQD, memory_BMD, mask), _ in calls:  # R-Drop has two passes
            log_BQM = log_weights(attention, train.alignment_head, x_BQD, memory_BMD, mask)
            result = -(log_BQM[places[0], places[1], places[2]] * share_N).sum()
            loss = loss + train.alignment_weight / len(calls) * result
        return loss

    def find_wanted(self, batch: Batch) -> npt.NDArray[np.float64]:
        """Return 1 where the row that predicts a token is to attend to a source token, else 0."""
        words_BS = self.finders[0].find(batch.source_BS)
        words_BQ = self.finders[1].find(batch.target_BT[:, 1:])
        numbers, sources, targets = self.links.of(batch.rows).T
        # One more of each, so that -1, which is no word, finds no link.
        size = 2 + max(
            words_BS.max(), words_BQ.max(), sources.max(initial=0), targets.max(initial=0)
        )
        is_linked = np.zeros((len(batch.rows), size, size))
        is_linked[numbers, targets, sources] = 1
        rows = np.arange(len(batch.rows))[:, None, None]
        return is_linked[rows, words_BQ[:, :, None], words_BS[:, None, :]]


def name_attention(network: EncoderDecoder, train: Train) -> str:
    """Return the name of the cross-attention that is guided: by default of the last layer but one.

    ValueError if the network has no such layer or head.
    """
    layers = network.settings.decoder_layers
    layer = find_guided_layer(network.settings, train)
    for name, index, most in (
        ("layer", layer, layers),
        ("head", train.alignment_head, network.settings.heads),
    ):
        if index >= most:
            raise ValueError(f"train.alignment_{name}={index}: the decoder has 0 to {most - 1}")
    return f"decoder.{layer}.cross_attention"


def log_weights(
    attention: Any, head: int, x_BQD: Tensor, memory_BMD: Tensor, mask: Tensor
) -> Tensor:
    """Return the logarithms of the weights of one head of attention, B Q M, in fp32."""
    width = attention.to_query.out_features // attention.heads
    shared = attention.heads // (attention.to_key.out_features // width)  # by so many heads each

    def project(x_BLD: Tensor, layer: nn.Linear, number: int) -> Tensor:
        rows = slice(number * width, (number + 1) * width)
        return linear(x_BLD.to(layer.weight.dtype), layer.weight[rows], layer.bias[rows])

    q_BQK = project(x_BQD, attention.to_query, head)
    k_BMK = project(memory_BMD, attention.to_key, head // shared)
    scores_BQM = (q_BQK @ k_BMK.mT).float() / math.sqrt(width)
    return log_softmax(scores_BQM.masked_fill(~mask.squeeze(1), -math.inf), -1)
