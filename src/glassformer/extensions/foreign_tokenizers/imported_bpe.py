"""The byte-pair encoding of subword-nmt and fastBPE, as codes.

They come with an imported model, whose vocabulary need not have all tokens that they make: the
others, which stand behind a space in tokenizer.json, are encoded as "<unk>". There may be no
merges at all, where a text is segmented already.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Any, ClassVar, Literal, Self

from tokenizers import Tokenizer as Backend

from glassformer.text.dropout import merge
from glassformer.text.layout import CONTROLS, HEAD, is_tag, spell_layout
from glassformer.text.tokenizer import Sampling
from glassformer.text.unicode import Span

from .imported import BORDER, UNKNOWN, ImportedTokenizer, Merges, list_others

END = "</w>"  # ends the last token of a word in BPE codes
JOINER = "@@"  # ends every other one, where the codes were applied

Style = Literal["codes", "words"]


class ImportedBpe(ImportedTokenizer):
    """A byte-pair encoding of another toolkit. Ids: pad 0, bos 1, eos 2, then its tokens.

    A tag is a token between < and >: no text yields it, callers add it.
    """

    sampling: ClassVar[Sampling] = "dropout"

    def __init__(
        self,
        vocabulary: Sequence[str],
        merges: Merges,
        style: Style,
        others: Sequence[str] = (),
    ) -> None:
        """Take the tokens in the order of their ids, and the merges in the order of their ranks.

        others: further tokens that texts yield, beside those that merges make. style: codes, where
        tokens are spelled as in the codes, the last one of a word with `END`; or words, which white
        space parts.
        """
        self.vocabulary, self.merges = tuple(vocabulary), ()  # none that may be skipped or shown
        self.pairs = tuple(merges)
        self.others = list_others(vocabulary, merges, others)
        self.style: Style = style
        self._unknown = self.vocabulary.index(UNKNOWN)
        self._ids = {token: id for id, token in enumerate(vocabulary) if id >= len(CONTROLS)}
        tags = (token for token in self._ids if is_tag(token) and token != UNKNOWN)
        self.tags = {token: self._ids[token] for token in tags}
        self._backend = Backend.from_str(self._layout())

    @classmethod
    def _parse(cls, fields: Mapping[str, Any]) -> Self:
        model = fields["model"]
        ids: dict[str, int] = model["vocab"]
        tokens = sorted(ids, key=ids.__getitem__)
        border = tokens.index(BORDER)
        vocabulary, others = tokens[:border], tokens[border + 1 :]
        merges = [(left, right) for left, right in model.get("merges", ())]
        style: Style = "words" if model["type"] == "WordLevel" else "codes"
        if vocabulary[: len(CONTROLS)] != list(CONTROLS) or fields != _describe(
            tokens, merges, style
        ):
            raise ValueError
        return cls(vocabulary, merges, style, others)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of any ids: controls and tags are left out, unknown ones are U+FFFD."""
        return super().decode(ids).rstrip(" ")

    def words(self, text: str) -> list[str]:
        """Return the parts of a text that white space separates."""
        return [word for word, _ in self._backend.pre_tokenizer.pre_tokenize_str(text)]

    def sample_word(self, word: str, rate: float, random: Random) -> list[int]:
        if not rate or not self.pairs:
            results = [each.id for each in self._backend.model.tokenize(word)]
            return self._know(results or [self._unknown])
        symbols = [self._all.get(each, self._unknown) for each in [*word[:-1], word[-1] + END]]
        return self._know(merge(symbols, self._merges, rate, random))

    def _cut(self, text: str) -> Iterator[tuple[int, Span]]:
        result = self._backend.encode(text)
        return zip(self._know(result.ids), result.offsets, strict=True)

    @cached_property
    def _bytes(self) -> list[bytes]:
        return [self._read(token).encode() for token in self.vocabulary]

    @cached_property
    def _all(self) -> dict[str, int]:
        """Return the ids of all tokens that texts yield, those that the network has not too."""
        return self._backend.get_vocab()

    @cached_property
    def _merges(self) -> dict[tuple[int, int], tuple[int, int]]:
        ids = self._all
        return {
            (ids[left], ids[right]): (rank, ids[left + right])
            for rank, (left, right) in enumerate(self.pairs)
        }

    def _know(self, ids: Iterable[int]) -> list[int]:
        """Return the ids, "<unk>" for tokens that the network has not."""
        size = len(self.vocabulary)
        return [id if id < size else self._unknown for id in ids]

    def _read(self, token: str) -> str:
        """Return the text that a token stands for."""
        if token == UNKNOWN:
            return "\ufffd "
        if token in CONTROLS or token in self.tags:
            return ""
        if self.style == "words":
            return f"{token} "
        return f"{token.removesuffix(END)} " if token.endswith(END) else token

    def _layout(self) -> str:
        tokens = (*self.vocabulary, BORDER, *self.others)
        return spell_layout(_describe(tokens, self.pairs, self.style))


def spell_codes(token: str) -> str:
    """Return a token as the codes spell it: what ends with `JOINER` goes on, all else ends."""
    if token in (*CONTROLS, UNKNOWN) or is_tag(token) or token.startswith(" "):
        return token
    return token.removesuffix(JOINER) if token.endswith(JOINER) else token + END


def _describe(tokens: Sequence[str], merges: Merges, style: Style) -> dict[str, Any]:
    end = {"type": "BPEDecoder", "suffix": END} if style == "codes" else None
    spaces = {
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": end,
    }
    ids = {token: id for id, token in enumerate(tokens)}
    model: dict[str, Any] = {"type": "WordLevel", "vocab": ids, "unk_token": UNKNOWN}
    if style == "codes":
        model |= {
            "type": "BPE",
            "dropout": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": END,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "merges": [list(pair) for pair in merges],
        }
    return {**HEAD, **spaces, "model": model}
