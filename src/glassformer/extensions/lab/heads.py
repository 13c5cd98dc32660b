"""A portrait of each head: what it reads in many sentences, and what breaks without it.

The sentences are translated by the model itself, greedily, and read in one padded batch at a time.
The result is kept as heads.json in the model directory.

Letters: B sentences; H heads; L rows that read; M keys that are read; T tokens of a translation;
V vocabulary; K width of a head.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from glassformer.foundation.tap import record as watch
from glassformer.see.habits import CROSS, OWN
from glassformer.see.tokens import read_source
from glassformer.text import BOS, EOS, PAD
from glassformer.translator import Translator

BATCH, PAIRS, STRONG = 64, 6, 0.3  # sentences; pairs that are listed; the weight that makes one


def measure_portraits(
    translator: Translator,
    texts: Sequence[str],
    *,
    silenced: Sequence[str] | None = None,
    check: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """Return the portraits of all heads over these sentences; `check` is called before each pass.

    silenced: the blocks whose heads are silenced one by one, which is what takes long; None: all.
    For each block and head: `reads`, the mean share of its weights by kind of key, over all rows;
    `even`, the same if each row spread its weights evenly; `pairs`, who reads whom most often, with
    counts; `without`, how many of the model's own tokens are no longer the likeliest when the head
    is silent; `loss`, by how much their mean -ln p rises. A key is of the first kind that fits, in
    the order of `OWN` and `CROSS`; `aligned` is the source token that the mean of all heads of the
    cross-attention reads most. Raises ValueError for a network without attention.
    """
    settings = translator.config.model
    if settings.network != "transformer":
        raise ValueError(f"network={settings.network}: it has no heads to portray")
    translator = translator.with_settings(translator.config)
    translator.reader.adapter.is_cased = False  # the sentences are read as they are written
    sums: dict[str, Any] = {}
    rows = tokens = 0
    base = 0.0
    for batch in read_batches(translator, texts):
        check()
        weights, log_prob = batch.run({})
        best_BT = log_prob.argmax(-1)
        base += batch.loss(log_prob)
        tokens += int(batch.is_token_BT.sum())
        rows += len(batch.source_BS)
        crossing = [each.mean(1) for name, each in weights.items() if "cross" in name]
        aligned_BT = torch.stack(crossing).sum(0).argmax(-1)
        for name, weights_BHLM in weights.items():
            own = sums.setdefault(name, _start(settings.heads))
            _add_reads(own, batch, name, weights_BHLM, aligned_BT)
            for head in range(settings.heads if silenced is None or name in silenced else 0):
                check()
                _, changed = batch.run({f"{name}.context": _silence(head)}, keep=None)
                other = (changed.argmax(-1) != best_BT) & batch.is_token_BT
                own["without"][head] += int(other.sum())
                own["loss"][head] += batch.loss(changed)
    return {
        "sentences": rows,
        "tokens": tokens,
        "blocks": {name: _finish(own, base, tokens) for name, own in sums.items()},
    }


class TranslatedBatch:
    """Sentences with the model's own translations of them, padded."""

    def __init__(self, translator: Translator, sources: list[list[int]], targets: list[list[int]]):
        self.translator = translator
        self.source_BS = _pad(sources)
        begin = translator.reader.begin  # a tag that all translations begin with is not predicted
        self.given_BT = _pad([[BOS, *begin, *ids] for ids in targets])
        self.wanted_BT = _pad([[*begin, *ids, EOS] for ids in targets])
        self.is_token_BT = self.wanted_BT != PAD
        self.is_token_BT[:, : len(begin)] = False

    def run(
        self, edit: dict[str, Any], keep: str | None = ".weights"
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Return a tensor of each block, and the log-probabilities B T V.

        keep: the end of the tensors' names; the default are the weights, B H L M. None: no tensor.
        """
        kept = (lambda name: False) if keep is None else (lambda name: name.endswith(keep))
        with torch.inference_mode(), watch(self.translator.model, kept, edit) as (view, recorded):
            read = (ids.to(self.translator.device) for ids in (self.source_BS, self.given_BT))
            log_prob = view(*read).float().log_softmax(-1).cpu()
        results = {
            name.removesuffix(keep or ""): each.float().cpu() for name, (each,) in recorded.items()
        }
        return results, log_prob

    def loss(self, log_prob_BTV: Tensor) -> float:
        """Return the sum of -ln p of the model's own tokens."""
        log_prob_BT = log_prob_BTV.gather(-1, self.wanted_BT[..., None])[..., 0]
        return -float(log_prob_BT[self.is_token_BT].cpu().double().sum())

    def spell(self, name: str) -> tuple[Tensor, Tensor, Any, Any]:
        """Return the ids of the rows and of the keys of a block, and their tokenizers."""
        tokenizers = self.translator.tokenizers
        source, target = (self.source_BS, tokenizers.source), (self.given_BT, tokenizers.target)
        (rows, one), (keys, other) = (
            source if name.startswith("encoder") else target,
            target if name.startswith("decoder") and "cross" not in name else source,
        )
        return rows, keys, one, other


def read_batches(translator: Translator, texts: Sequence[str]) -> Iterator[TranslatedBatch]:
    """Yield the sentences with their greedy translations, so many at a time."""
    for start in range(0, len(texts), BATCH):
        chunk = texts[start : start + BATCH]
        batches = translator.search(chunk, decode={"search": "greedy"}, split=False)
        ids = translator.tokenizers.target.vocabulary.index
        sources = [[token.id for token in read_source(translator, text)] for text in chunk]
        yield TranslatedBatch(
            translator, sources, [[ids(each) for each in best.tokens] for (best,) in batches]
        )


def _pad(lines: list[list[int]]) -> Tensor:
    longest = max(map(len, lines))
    return torch.tensor([line + [PAD] * (longest - len(line)) for line in lines])


def _silence(head: int) -> Callable[[Tensor], Tensor]:
    def edit(x_BHLK: Tensor) -> Tensor:
        changed = x_BHLK.clone()
        changed[:, head] = 0
        return changed

    return edit


def _start(heads: int) -> dict[str, Any]:
    kinds = max(len(OWN), len(CROSS))
    return {
        "reads": torch.zeros(heads, kinds, dtype=torch.float64),
        "even": torch.zeros(kinds, dtype=torch.float64),
        "rows": 0,
        "pairs": [Counter() for _ in range(heads)],
        "without": [0] * heads,
        "loss": [0.0] * heads,
    }


def _add_reads(
    own: dict[str, Any], batch: TranslatedBatch, name: str, w: Tensor, aligned: Tensor
) -> None:
    """Add the weights w, B H L M, of one block to its sums."""
    rows_BL, keys_BM, row_words, key_words = batch.spell(name)
    is_row = rows_BL != PAD
    kind_BLM = _sort_keys(keys_BM, rows_BL.size(1), key_words, aligned if "cross" in name else None)
    open_BLM = (keys_BM != PAD)[:, None].expand_as(kind_BLM)
    if name.startswith("decoder") and "cross" not in name:
        open_BLM = open_BLM & torch.ones_like(open_BLM[0]).tril()
    share = open_BLM / open_BLM.sum(-1, keepdim=True)
    own["rows"] += int(is_row.sum())
    for kind in range(own["even"].numel()):
        is_kind = (kind_BLM == kind) & is_row[..., None]
        own["even"][kind] += float((share * is_kind).sum())
        own["reads"][:, kind] += (w * is_kind[:, None]).sum((0, 2, 3)).cpu().double()
    strongest, place = w.max(-1)
    for b, head, row in ((strongest > STRONG) & is_row[:, None]).nonzero().tolist():
        key = int(keys_BM[b, place[b, head, row]])
        words = row_words.vocabulary[int(rows_BL[b, row])], key_words.vocabulary[key]
        own["pairs"][head][words] += 1


def _sort_keys(keys_BM: Tensor, rows: int, tokenizer: Any, aligned_BL: Tensor | None) -> Tensor:
    """Return the kind of each key for each row, B L M, as its place in `OWN` or `CROSS`."""
    row, key = torch.arange(rows)[None, :, None], torch.arange(keys_BM.size(1))[None, None]
    ahead = key - (row if aligned_BL is None else aligned_BL[..., None])
    signs = [i for i, text in enumerate(tokenizer.vocabulary) if not any(map(str.isalnum, text))]
    kind = torch.full((keys_BM.size(0), rows, keys_BM.size(1)), OWN.index("other"))
    is_sign = torch.isin(keys_BM, torch.tensor(signs))[:, None].expand_as(kind)
    kind[is_sign] = OWN.index("punctuation")
    for place, offset in ((3, 1), (2, -1), (1, 0)):
        kind[(ahead == offset).expand_as(kind)] = place
    is_mark = torch.isin(keys_BM, torch.tensor([BOS, EOS]))[:, None].expand_as(kind)
    kind[is_mark] = OWN.index("mark")
    return kind


def _finish(own: dict[str, Any], base: float, tokens: int) -> dict[str, Any]:
    """Return the portraits of a block, rounded to what 300 sentences can tell."""
    return {
        "even": [round(each, 4) for each in (own["even"] / own["rows"]).tolist()],
        "heads": [
            {
                "reads": [round(each, 4) for each in (reads / own["rows"]).tolist()],
                "pairs": [[*words, n] for words, n in own["pairs"][head].most_common(PAIRS)],
                "without": own["without"][head],
                "loss": round((own["loss"][head] - base) / tokens, 5),
            }
            for head, reads in enumerate(own["reads"])
        ],
    }
