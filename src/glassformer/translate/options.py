"""How a search is made: one record, which all who search hand on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from ..config import Decode
from .sentence import Progress

if TYPE_CHECKING:
    from ..data.glossary import Glossary

Choice = Decode | Mapping[str, Any] | None  # settings of a search that override the model's own


class SearchKeywords(TypedDict, total=False):
    """The keywords that `Translator.translate` and `search` have in common; see `search`."""

    decode: Choice
    split: bool
    seed: int
    glossary: Glossary | Mapping[str, str] | None
    progress: Progress | None


class SearchOptions(NamedTuple):
    """The options of a search, after they were checked."""

    decode: Decode
    n_best: int = 1
    seed: int = 0  # of sampling
    split: bool = True  # texts into sentences
    again: bool = True  # sentences whose translation has problems are searched for once more
    glossary: Glossary | None = None
    progress: Progress | None = None

    @property
    def searches_again(self) -> bool:
        """Return whether a second search may be made: not of samples, and not for several."""
        decode = self.decode
        return self.again and self.n_best == 1 and decode.search != "sample" and not decode.mbr


def choose_options(
    own: Decode,
    *,
    decode: Choice = None,
    n_best: int = 1,
    seed: int = 0,
    split: bool = True,
    again: bool = True,
    glossary: Glossary | Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> SearchOptions:
    """Return the options of a search; `own` are the model's settings, which `decode` overrides.

    A glossary is searched with a beam. ValueError for settings that do not fit each other.
    """
    if not hasattr(n_best, "__index__"):
        raise TypeError(f"n_best is a number, and not {n_best!r}")
    chosen, terms = own.override(decode, n_best), None
    if glossary is not None:
        from ..data.glossary import Glossary

        terms = Glossary.of(glossary)
        if chosen.search == "greedy":
            chosen = chosen.override({"search": "beam"})
        if chosen.search != "beam" or chosen.mbr or chosen.beam_groups > 1:
            raise ValueError("a glossary needs search=beam, without mbr and beam_groups")
    return SearchOptions(chosen, n_best, seed, split, again, terms, progress)
