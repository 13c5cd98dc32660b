"""The translator of a model: text -> sentences -> ids -> network -> search -> text.

The stages are in `translate`, a file each.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from .config import Config, Decode
from .engine import Weights
from .foundation.machine.extras import need
from .foundation.reloading import Reloadable, remember_source
from .foundation.text_arguments import expect_text, normalize_texts
from .model.files.directory import open_model, split_pair
from .translate.joining import fuse_language_model, join_searchers
from .translate.options import SearchKeywords, choose_options
from .translate.searching import search_texts
from .translate.sentence import Part, Progress, Scored, Translation
from .translate.stages import TranslationStages
from .translate.writing import join_translations

if TYPE_CHECKING:  # a model is opened without PyTorch
    from .see.recording import RecordKeywords
    from .see.trace import Trace

__all__ = ["Part", "Progress", "Scored", "Translation", "Translator"]

Texts = TypeVar("Texts", str, list[str])
PER_TEXT, KEYWORDS = ("prefixes", "contexts"), SearchKeywords.__annotations__


class Translator(TranslationStages, Reloadable):
    """A loaded model with its tokenizers, which translates and scores text.

    `machine`: `device` is auto, cpu, cuda or mps; `precision`, that of translating, is auto (the
    fastest on this device with next to no loss of quality), fp32, bf16 or int8; `threads` and
    `workers` say how a CPU is used. See `engine.Weights`; `holding` may be a subclass of it.
    """

    @classmethod
    @remember_source
    def load(
        cls,
        folder: Path | str | Sequence[Path | str],
        to: str | None = None,
        *,
        in_memory: bool = False,
        **machine: Any,
    ) -> Translator:
        """Return the translator of a model directory. ValueError if it is not a complete one.

        Several directories are an ensemble: they need one vocabulary, and the probability of a
        token is the mean of theirs. Search and score are of all, all else of the first.
        Of several languages, `to` names the target, "de", or both, "en-de"; so does "folder@de".
        `in_memory`: what is done to the files later is not felt; a server needs that.
        """
        if not isinstance(folder, Path | str):
            members = [cls.load(each, to, in_memory=in_memory, **machine) for each in folder]
            if not members:
                raise ValueError("an ensemble has at least one model")
            first, *others = members
            names = [str(each) for each in folder]
            searchers = [each.searcher for each in members]
            return (
                first.with_settings(*join_searchers(searchers, names, **machine))
                if others
                else first
            )
        folder, pair = split_pair(folder)
        config, tokenizers, weights = open_model(folder, in_memory=in_memory)
        try:
            narrowed = config.narrow(to or pair)
        except ValueError as error:
            raise ValueError(f"{folder}: {error}") from None
        return cls(narrowed, tokenizers, weights, **machine)

    def with_language_model(self, folder: Path | str, weight: float, **machine: Any) -> Translator:
        """Return a translator whose search a language model has a say in: shallow fusion.

        `weight`: the factor on its log-probabilities. `machine` is as for `load`. ValueError unless
        it is a decoder whose tokens are those of the translations.
        """
        return self.with_settings(*fuse_language_model(self.searcher, folder, weight, **machine))

    def with_settings(self, config: Config, weights: Weights | None = None) -> Translator:
        """Return a translator with other settings, like another language, or with other weights."""
        other = Translator(config, self.tokenizers, weights or self.weights)
        other.searcher.budget = self.searcher.budget
        return other

    @normalize_texts("texts", optional=PER_TEXT, keywords=KEYWORDS, settings=Decode.list_fields)
    def translate(
        self,
        texts: Texts,
        *,
        prefixes: Texts | None = None,
        contexts: Texts | None = None,
        as_document: bool = False,
        again: bool = True,
        **keywords: Unpack[SearchKeywords],
    ) -> Texts:
        """Return the translation of a text, or of each text of a list in order.

        The command line and the server return the same. again: a sentence whose translation has
        problems is translated again by a more careful search, see `checking.Checker`; without it,
        this is the best that `search` finds. The rest is as in `search`.
        """
        options = choose_options(self.config.decode, again=again, **keywords)
        is_one = isinstance(texts, str)
        checked = self.checker.translate_texts(
            [texts] if isinstance(texts, str) else texts,
            options,
            prefixes=_to_list(prefixes, is_one),
            contexts=_to_list(contexts, is_one),
            as_document=as_document,
        )
        translations = [each.best[0].text for each in checked]
        return translations[0] if isinstance(texts, str) else translations

    @overload
    def search(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        n_best: int = ...,
        prefixes: str | None = ...,
        contexts: str | None = ...,
        first_line: int = ...,
        **keywords: Unpack[SearchKeywords],
    ) -> list[Translation]: ...
    @overload
    def search(
        self,
        texts: Sequence[str],
        *,
        n_best: int = ...,
        prefixes: Sequence[str] | None = ...,
        contexts: Sequence[str] | None = ...,
        as_document: bool = ...,
        first_line: int = ...,
        **keywords: Unpack[SearchKeywords],
    ) -> list[list[Translation]]: ...
    @normalize_texts("texts", optional=PER_TEXT, keywords=KEYWORDS, settings=Decode.list_fields)
    def search(
        self,
        texts: str | Sequence[str],
        *,
        n_best: int = 1,
        prefixes: str | Sequence[str] | None = None,
        contexts: str | Sequence[str] | None = None,
        as_document: bool = False,
        first_line: int = 0,
        **keywords: Unpack[SearchKeywords],
    ) -> list[Translation] | list[list[Translation]]:
        """Return the `n_best` translations of a text, or of each text of a list, best first.

        decode: settings that override the model's own, one by one; see `Decode.override`.
        prefixes: the text that each translation, that is, its first part, begins with. split:
        translate the parts of a text, as `SentenceReader.split` returns them, one by one, and keep
        the text between them; the n best are the best combinations. Without it a text is one part,
        unless it is too long for the model. Text without a letter or digit is not translated.
        Sampling is keyed by `seed` and by the number of the line, counted from `first_line`.
        glossary: terms of the source and how they have to be translated: see
        `data.glossary.Glossary`; it is searched with a beam. A model that was trained with a
        context reads each sentence with those before it in its text. as_document: the texts of a
        list follow each other, so that those before count as well; an empty one ends the document.
        contexts: what is before each text, if not that, and is not translated itself. Both change
        nothing for other models.
        """
        options = choose_options(self.config.decode, n_best=n_best, **keywords)
        lines = [texts] if (is_one := isinstance(texts, str)) else texts
        read = self.reader.read(
            lines,
            split=options.split,
            prefixes=_to_list(prefixes, is_one),
            contexts=_to_list(contexts, is_one),
            as_document=as_document,
            first_line=first_line,
            glossary=options.glossary,
        )
        translations = [
            join_translations(text, sentences, n_best)
            for text, sentences in search_texts(lines, read, options, self.writer.translate)
        ]
        return translations[0] if is_one else translations

    @overload
    def score(  # type: ignore[overload-overlap]
        self, sources: str, targets: str, *, progress: Progress | None = ...
    ) -> Scored: ...
    @overload
    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, progress: Progress | None = ...
    ) -> list[Scored]: ...
    @normalize_texts("sources", "targets")
    def score(
        self,
        sources: str | Sequence[str],
        targets: str | Sequence[str],
        *,
        progress: Progress | None = None,
    ) -> Scored | list[Scored]:
        """Return how probable a target is as a translation of its source, or each of a list.

        If the model reads a context, all lines of a source but the last are that.
        """
        if isinstance(sources, str) and isinstance(targets, str):
            return self.searcher.score([sources], [targets], progress)[0]
        return self.searcher.score(sources, targets, progress)

    def see(self, text: str, **keywords: Unpack[RecordKeywords]) -> Trace:
        """Return a recording of the translation of one sentence; see `see.record`."""
        need("torch")
        from .see.recording import record

        return record(self, expect_text("text", text), **keywords)

    def describe(self) -> dict[str, Any]:
        """Return sizes and settings, for people and programs."""
        return {
            "parameters": self.weights.parameters,
            "source_vocabulary": len(self.tokenizers.source),
            "target_vocabulary": len(self.tokenizers.target),
            "device": str(self.device),
            "precision": self.weights.known_precision,
            "settings": self.config.model_dump(mode="json", exclude_none=True),
        }


def _to_list(value: str | Sequence[str] | None, is_one: bool) -> Sequence[str] | None:
    """Return what belongs to each text of a list from what belongs to one."""
    return [value] if is_one and isinstance(value, str) else value
