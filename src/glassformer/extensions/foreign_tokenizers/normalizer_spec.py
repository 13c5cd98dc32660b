"""The normalisation of a text by SentencePiece, with the origin of each character."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, Self

from glassformer.text.unicode import Span

from .charsmap import Charsmap

SPACE = "▁"  # stands for a space inside a token


@dataclass(frozen=True)
class NormalizerSpec:
    """The settings of SentencePiece's normaliser, under the names of its own file.

    precompiled_charsmap: replacements in their compiled form, empty for none.
    treat_whitespace_as_suffix: the space mark ends a word instead of beginning it.
    user_defined_symbols: texts that are left as they are.
    """

    precompiled_charsmap: bytes = b""
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    treat_whitespace_as_suffix: bool = False
    user_defined_symbols: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """Return the settings that are not the usual ones, without the charsmap, for a file."""
        usual = asdict(NormalizerSpec(self.precompiled_charsmap))
        results = {name: value for name, value in asdict(self).items() if value != usual[name]}
        return {name: [*x] if isinstance(x, tuple) else x for name, x in results.items()}

    @classmethod
    def parse(cls, charsmap: bytes, entries: Mapping[str, Any]) -> Self:
        """Return what `describe` wrote. ValueError for anything else."""
        kinds = {each.name: type(each.default) for each in fields(cls)}
        settings: dict[str, Any] = {
            name: tuple(x) if isinstance(x, list) else x for name, x in entries.items()
        }
        if not all(type(value) is kinds.get(name) for name, value in settings.items()):
            raise ValueError("damaged settings of a normaliser")
        return cls(charsmap, **settings)

    def normalize(self, text: str) -> tuple[str, list[Span]]:
        """Return a text as it is segmented, and the span of `text` of each of its characters."""
        parts = [*self._replace(text)]
        if not parts or (self.remove_extra_whitespaces and {x for x, _ in parts} == {" "}):
            return "", []
        if self.remove_extra_whitespaces:
            parts = [*_remove_spaces(parts)]
        letters = [
            (letter, span) for result, span in parts for letter in result.replace(" ", SPACE)
        ]
        if self.add_dummy_prefix and not self.treat_whitespace_as_suffix:
            letters.insert(0, (SPACE, (0, 0)))
        while self.remove_extra_whitespaces and letters and letters[-1][0] == SPACE:
            letters.pop()
        if self.add_dummy_prefix and self.treat_whitespace_as_suffix:
            letters.append((SPACE, (len(text), len(text))))
        return "".join(letter for letter, _ in letters), [span for _, span in letters]

    def find_symbol(self, text: str, at: int) -> str:
        """Return the longest user-defined symbol that begins at a place, or ""."""
        symbols = self._symbols.get(text[at], ())
        return next((symbol for symbol in symbols if text.startswith(symbol, at)), "")

    @cached_property
    def charsmap(self) -> Charsmap:
        return Charsmap(self.precompiled_charsmap)

    @cached_property
    def _symbols(self) -> dict[str, list[str]]:
        """Return the symbols by their first character, the longest first."""
        results: dict[str, list[str]] = {}
        for symbol in sorted(filter(None, self.user_defined_symbols), key=len, reverse=True):
            results.setdefault(symbol[0], []).append(symbol)
        return results

    def _replace(self, text: str) -> Iterator[tuple[str, Span]]:
        """Yield what each part of a text becomes, and its span."""
        if self.charsmap.keeps(text) and self._symbols.keys().isdisjoint(text):
            yield from ((text[at], (at, at + 1)) for at in range(len(text)))
            return
        at = 0
        while at < len(text):
            if symbol := self.find_symbol(text, at):
                end = at + len(symbol)
                yield from ((text[i], (i, i + 1)) for i in range(at, end))
            else:
                part, end = self.charsmap.find(text, at) or (text[at], at + 1)
                yield part, (at, end)
            at = end


def _remove_spaces(parts: list[tuple[str, Span]]) -> Iterator[tuple[str, Span]]:
    """Yield the parts without the spaces at the beginning and those that follow a space."""
    is_after_space = True
    for result, span in parts:
        rest = result.lstrip(" ") if is_after_space else result
        if rest:
            yield rest, span
            is_after_space = rest.endswith(" ")
