"""The translator of a model: text -> sentences -> tokens -> ids -> network -> search -> text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from importlib import import_module
from itertools import chain, islice, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack, overload

from .config import EOS, SEPARATOR, Config, Decode
from .decode import Budget, Hypothesis
from .decode.mbr import SAMPLE, rank_by_utility
from .decode.sentences import Constraint, Spelling
from .engine import Weights
from .foundation.validation_errors import check_list
from .model.files.directory import Tokenizers, open_model, split_pair
from .model.files.weights_file import WeightsFile
from .text import Tokens
from .text.context import (
    PrecedingLines,
    count_context,
    count_own,
    encode_sources,
    extend_source,
    find_lines,
    has_empty_line,
    list_contexts,
)
from .text.sentences import cut_spans, find_language_mark, has_letters, split_sentences
from .text.spacing import close_up, close_up_with_spans, is_unspaced
from .text.symbols import SetAside, set_aside, strip_symbols
from .text.unicode import Span
from .translation import (
    Part,
    Progress,
    Scored,
    Translation,
    assemble,
    combine,
    read_hypothesis,
    scale_progress,
)

if TYPE_CHECKING:  # a model is opened without PyTorch, and translates without NumPy
    import numpy as np
    from numpy.typing import NDArray

    from .data.glossary import Glossary, GlossaryTerm
    from .engine import Example
    from .engine.weights import Engine
    from .model.encoder_decoder import EncoderDecoder

__all__ = ["Part", "Progress", "Scored", "Translation", "Translator"]

Choice = Decode | Mapping[str, Any] | None  # settings of a search that override the model's own
PART = 1 << 40  # sampling is keyed by line + PART * part; no text has so many lines


MOST_WEIGHT = 10.0  # of a language model

WHOLE = 1.5  # times text.split_above: longer sentences are cut into clauses


class SearchOptions(TypedDict, total=False):
    """The options that `Translator.translate` and `search` have in common; see `search`."""

    decode: Choice
    split: bool
    seed: int
    glossary: Glossary | Mapping[str, str] | None
    progress: Progress | None


class SearchInput(NamedTuple):
    """A sentence to translate, in tokens, and what its translation has to have."""

    source: list[int]
    line: int  # a key of sampling
    prefix: list[int]
    constraints: list[Constraint]


class Translator:
    """A loaded model with its tokenizers, which translates and scores text.

    `how`: `device` is auto, cpu, cuda or mps; `precision`, that of translating, is auto (the
    fastest on this device with next to no loss of quality), fp32, bf16 or int8; `threads` and
    `workers` say how a CPU is used. See `engine.Weights`; `holding` may be a subclass of it.
    """

    def __init__(
        self,
        config: Config,
        tokenizers: Tokenizers,
        model: EncoderDecoder | WeightsFile,
        *,
        holding: type[Weights] = Weights,
        **how: Any,
    ):
        if config.model.is_language_model:
            raise ValueError(
                f"this is a language model (network={config.model.network}), which translates "
                "nothing: use LanguageModel, or glassformer complete, fill, classify or evaluate"
            )
        self.config, self.tokenizers = config, tokenizers
        self.weights = holding(model, config.model, self._encode_pairs, **how)
        self.device = self.weights.device
        self.tags, self.begin = self._find_tags()
        find, has_context = tokenizers.source.find_tags, config.data.context > 0
        self.separator = find([SEPARATOR])[0] if has_context else None
        self.batch_budget = Budget(4096 if self.device == "cpu" else 65536)

    @classmethod
    def load(
        cls,
        folder: Path | str | Sequence[Path | str],
        to: str | None = None,
        *,
        in_memory: bool = False,
        **how: Any,
    ) -> Translator:
        """Return the translator of a model directory. ValueError if it is not a complete one.

        Several directories are an ensemble: they need one vocabulary, and the probability of a
        token is the mean of theirs. Search and score are of all, all else of the first.
        Of several languages, `to` names the target, "de", or both, "en-de"; so does "folder@de".
        `in_memory`: what is done to the files later is not felt; a server needs that.
        """
        if not isinstance(folder, Path | str):
            members = [cls.load(each, to, in_memory=in_memory, **how) for each in folder]
            return join_translators(members, [str(each) for each in folder], **how)
        folder, pair = split_pair(folder)
        config, tokenizers, weights = open_model(folder, in_memory=in_memory)
        try:
            narrowed = config.narrow(to or pair)
        except ValueError as error:
            raise ValueError(f"{folder}: {error}") from None
        return cls(narrowed, tokenizers, weights, **how)

    def with_language_model(self, folder: Path | str, weight: float, **how: Any) -> Translator:
        """Return a translator whose search a language model has a say in: shallow fusion.

        `weight`: the factor on its log-probabilities. `how` is as for `load`. ValueError unless it
        is a decoder whose tokens are those of the translations.
        """
        from .engine.weights import FusedWeights

        config, tokenizers, origin = open_model(folder)
        if config.model.network != "decoder":
            raise ValueError(f"{folder} is no language model that completes text: network=decoder")
        if tokenizers.source.vocabulary != self.tokenizers.target.vocabulary:
            raise ValueError(
                f"{folder} has other tokens than the translations: train the one with --subwords, "
                "--lm-prior or --init-from, so that it takes the tokens of the other"
            )
        if not 0 < weight <= MOST_WEIGHT:
            raise ValueError(f"weight={weight}: above 0, to {MOST_WEIGHT:g}")
        longest = min(self.longest, config.model.positions.max_positions)
        found = self.with_settings(_limit(self.config, longest))
        members = [self.weights, Weights(origin, config.model, found._encode_pairs, **how)]
        found.weights = FusedWeights(members, found._encode_pairs, weight, **how)
        return found

    def with_settings(self, config: Config) -> Translator:
        """Return a translator with the same weights and other settings, like another language."""
        found = copy(self)
        found.config, found.batch_budget = config, self.batch_budget
        found.tags, found.begin = found._find_tags()
        return found

    def _find_tags(self) -> tuple[list[int], list[int]]:
        """Return the ids before each source, and before each translation: tags of languages."""
        data = self.config.data
        return (
            self.tokenizers.source.find_tags([data.tag] if data.tag else []),
            self.tokenizers.target.find_tags([data.target_tag] if data.target_tag else []),
        )

    @property
    def context(self) -> int:
        """Return how many of the sentences before a sentence are read with it."""
        return self.config.data.context

    @property
    def has_conventions(self) -> bool:
        """Return whether the model is an imported one that reads and writes as ours do not."""
        return bool(self.begin) or not self.config.text.source_eos

    def get_engine(self, precision: str) -> Engine:
        """Return the engine that computes in this precision, by the conventions of the model."""
        return self._adapt(self.weights.get_engine(precision))

    def _adapt(self, engine: Engine) -> Engine:
        if not self.has_conventions:
            return engine
        from .engine.conventions import ConventionEngine

        return ConventionEngine(engine, self.begin, self.config.text.source_eos)

    @property
    def model(self) -> EncoderDecoder:
        """Return the network, for scoring and recording."""
        return self.weights.network

    @property
    def precision(self) -> str:
        """Return the precision of translating; "auto" is decided at its first use."""
        return self.weights.precision

    @property
    def exact_precision(self) -> str:
        """Return the precision of scoring and recording: fp32, unless bf16 was asked for."""
        return self.weights.exact

    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        prefixes: str | None = ...,
        contexts: str | None = ...,
        again: bool = ...,
        **how: Unpack[SearchOptions],
    ) -> str: ...
    @overload
    def translate(
        self,
        texts: Sequence[str],
        *,
        prefixes: Sequence[str] | None = ...,
        contexts: Sequence[str] | None = ...,
        as_document: bool = ...,
        again: bool = ...,
        **how: Unpack[SearchOptions],
    ) -> list[str]: ...
    def translate(
        self, texts: str | Sequence[str], *, again: bool = True, **how: Any
    ) -> str | list[str]:
        """Return the translation of a text, or of each text of a list in order.

        The command line and the server return the same. again: a sentence whose translation has
        problems is translated again by a more careful search, see `quality_check.search_checked`;
        without it, this is the best that `search` finds. The rest is as in `search`.
        """
        if isinstance(texts, str):
            return self.translate([texts], again=again, **_in_lists(how))[0]
        asked = how.pop("contexts", None), how.pop("as_document", False)
        if (contexts := self._choose_contexts(texts, *asked)) is not None:
            how["contexts"] = contexts
        judged = import_module(".checks.quality_check", __package__).search_checked(
            self, texts, again=again, **how
        )
        return [each.best[0].text for each in judged]

    @overload
    def search(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        n_best: int = ...,
        prefixes: str | None = ...,
        contexts: str | None = ...,
        first_line: int = ...,
        **how: Unpack[SearchOptions],
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
        **how: Unpack[SearchOptions],
    ) -> list[list[Translation]]: ...
    def search(
        self,
        texts: str | Sequence[str],
        *,
        decode: Choice = None,
        n_best: int = 1,
        prefixes: str | Sequence[str] | None = None,
        split: bool = True,
        seed: int = 0,
        first_line: int = 0,
        glossary: Glossary | Mapping[str, str] | None = None,
        progress: Progress | None = None,
        contexts: str | Sequence[str] | None = None,
        as_document: bool = False,
    ) -> list[Translation] | list[list[Translation]]:
        """Return the `n_best` translations of a text, or of each text of a list, best first.

        decode: settings that override the model's own, one by one; see `Decode.override`.
        prefixes: the text that each translation, that is, its first part, begins with. split:
        translate the parts of a text, as `split` returns them, one by one, and keep the text
        between them; the n best are the best combinations. Without it a text is one part, unless
        it is too long for the model. Text without a letter or digit is not translated. Sampling is
        keyed by `seed` and by the number of the line, counted from `first_line`. glossary: terms
        of the source and how they have to be translated: see `data.glossary.Glossary`; it is
        searched with a beam. A model that was trained with data.context reads each sentence with
        those before it in its text. as_document: the texts of a list follow each other, so that
        those before count as well; an empty one ends the document. contexts: what is before each
        text, if not that, and is not translated itself. Both change nothing for other models.
        """
        if isinstance(texts, str):
            how: dict[str, Any] = {"decode": decode, "n_best": n_best, "split": split, "seed": seed}
            how |= {"prefixes": prefixes, "first_line": first_line, "glossary": glossary}
            how["contexts"] = contexts
            return self.search([texts], progress=progress, **_in_lists(how))[0]
        check_list("prefixes", prefixes)
        check_list("contexts", contexts)
        decode = self.config.decode.override(decode, n_best)
        if glossary is not None and decode.search == "greedy":
            decode = decode.override({"search": "beam"})
        contexts = self._choose_contexts(texts, contexts, as_document)
        spans = [self.split(text) if split else self._keep_whole(text) for text in texts]
        parts = [
            (line, part, sentence)
            for line, (text, places) in enumerate(zip(texts, spans, strict=True), first_line)
            for part, sentence in enumerate(cut_spans(text, places))
        ]
        told = progress and scale_progress(progress, len(texts), len(parts))
        key = PART if decode.search == "sample" else 0
        sentences = [text for *_, text in parts]
        read = sentences
        if self.context:
            read = self.extend_parts(texts, spans, contexts, split=split)
        asked = zip(
            self._sources(read, [line for line, *_ in parts]),
            [line + key * part for line, part, _ in parts],
            self._prefixes(texts, prefixes, spans),
            self._constrain(sentences, glossary, decode),
            strict=True,
        )
        hypotheses = self._search([*starmap(SearchInput, asked)], decode, n_best, seed, told)
        found = iter(self.read_hypotheses(sentences, hypotheses))
        if progress and not parts:
            progress(len(texts))
        ways = (combine(islice(found, len(places)), n_best) for places in spans)
        return [
            [assemble(text, places, way) for way in best]
            for text, places, best in zip(texts, spans, ways, strict=True)
        ]

    def _choose_contexts(
        self, texts: Sequence[str], contexts: Sequence[str] | None, as_document: bool
    ) -> Sequence[str] | None:
        """Return what is before each text; None if nothing is, or the model reads no context."""
        if not self.context or contexts is not None or not as_document:
            return contexts if self.context else None
        return [*list_contexts(texts, PrecedingLines(self.context))]

    def extend_parts(
        self,
        texts: Sequence[str],
        spans: Sequence[Sequence[Span]],
        contexts: Sequence[str] | None = None,
        *,
        split: bool = True,
    ) -> list[str]:
        """Return the parts of texts as the network reads them: with data.context, extended.

        The context of a part are the parts before it, and before those `contexts`, of which each is
        cut into sentences too; without `split`, into lines. ValueError if there are not as many
        contexts as texts.
        """
        if not self.context:
            return [part for each in zip(texts, spans, strict=True) for part in cut_spans(*each)]
        contexts = [""] * len(texts) if contexts is None else contexts
        if len(contexts) != len(texts):
            raise ValueError(f"{len(texts)} texts but {len(contexts)} contexts")
        found: list[str] = []
        for text, places, before in zip(texts, spans, contexts, strict=True):
            document, at = PrecedingLines(self.context), 0
            for sentence in self._cut_context(before, split):
                document.add(sentence)
            for sentence, (begin, end) in zip(cut_spans(text, places), places, strict=True):
                if split and has_empty_line(text[at:begin]):
                    document.end()
                found.append(extend_source(document.context, sentence))
                document.add(sentence)
                at = end
        return found

    def _cut_context(self, text: str, split: bool) -> Iterator[str]:
        """Yield the sentences of a context, or its lines, and those that are empty."""
        for line in text.split("\n"):
            is_cut = split and line.strip()
            yield from cut_spans(line, self.split(line)) if is_cut else [line]

    def read_hypotheses(
        self, sentences: Sequence[str], found: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Translation]]:
        """Return the translations that hypotheses of sentences spell.

        Symbols that were set aside are in them, where the alignment puts them.
        """
        target = self.tokenizers.target
        read = [[read_hypothesis(each, target) for each in ways] for ways in found]
        return [
            [each._replace(text=self.place_symbols(sentence, each.text)) for each in ways]
            if self.set_aside(sentence)
            else ways
            for sentence, ways in zip(sentences, read, strict=True)
        ]

    def place_symbols(self, sentence: str, said: str) -> str:
        """Return a translation with the symbols that were set aside from its sentence."""
        if aside := self.set_aside(sentence):
            symbols = import_module(".translate.symbols", __package__)
            return str(symbols.place_symbols(self, aside, said))
        return said

    def _search(
        self,
        asked: list[SearchInput],
        decode: Decode,
        wanted: int,
        seed: int,
        progress: Progress | None,
    ) -> list[list[Hypothesis]]:
        """Return the best hypotheses of each sentence; with `mbr`, those of the highest utility.

        PyTorch searches the sentences that have constraints.
        """
        if bound := [each for each in asked if each.constraints]:
            torch_engine = self._adapt(self.weights.get_torch_engine())
            ours = iter(self._run(torch_engine, bound, decode, wanted, 1, seed, progress))
            free = [each for each in asked if not each.constraints]
            others = iter(self._search(free, decode, wanted, seed, progress))
            return [next(ours if each.constraints else others) for each in asked]
        several = decode.mbr
        n_best, is_drawn = wanted, bool(several) and decode.search == "sample"
        draws = several if is_drawn else 1
        if several and not is_drawn:
            n_best = max(several, n_best)
            widest = -(-max(decode.beam, n_best) // decode.beam_groups) * decode.beam_groups
            decode = decode.model_copy(update={"beam": widest})
        rows = [
            each._replace(line=each.line + SAMPLE * draw) for each in asked for draw in range(draws)
        ]
        workers = self.weights.count_workers(len(rows), decode.rows)
        told = progress and scale_progress(progress, 1, draws)
        engine, number = self.choose_engine(decode), 1 if is_drawn else n_best
        found = self._run(engine, rows, decode, number, workers, seed, told)
        if not several:
            return found
        groups = [found[first : first + draws] for first in range(0, len(found), draws)]
        ranked = (self._rank([each for ways in group for each in ways], decode) for group in groups)
        return [best[:wanted] for best in ranked]

    def _run(
        self,
        engine: Engine,
        asked: Sequence[SearchInput],
        decode: Decode,
        n_best: int,
        workers: int,
        seed: int,
        progress: Progress | None,
    ) -> list[list[Hypothesis]]:
        """Let an engine search."""
        prefixes = [each.prefix for each in asked]
        constraints = [each.constraints for each in asked]
        sources = [each.source for each in asked]
        how: dict[str, Any] = {"constraints": constraints} if any(constraints) else {}
        how |= {"lengths": lengths} if (lengths := self.count_lengths(sources)) else {}
        return engine.search(
            sources,
            decode,
            n_best=n_best,
            prefixes=prefixes if any(prefixes) else None,
            lines=[each.line for each in asked],
            seed=seed,
            longest=self.longest,
            budget=self.batch_budget,
            workers=workers,
            progress=progress,
            **how,
        )

    def count_lengths(self, sources: Sequence[Sequence[int]]) -> list[int] | None:
        """Return the tokens of each source that limits count: not its context; None without any."""
        if self.separator is None:
            return None
        return [count_own(source, self.separator) for source in sources]

    def choose_engine(self, decode: Decode) -> Engine:
        """Return what searches: PyTorch where the engine in C does not know such a search."""
        if decode.is_plain:
            if decode.shortlist and not self.weights.takes_shortlist:
                from .engine.weights import say_once

                say_once(
                    "shortlist is for one model in int8 on a processor: all tokens are predicted"
                )
            return self.get_engine(self.precision)
        unknown = "repetition_penalty" if decode.repetition_penalty != 1 else "beam_groups"
        return self._adapt(self.weights.get_torch_engine(unknown))

    def _constrain(
        self, texts: Sequence[str], glossary: Glossary | Mapping[str, str] | None, decode: Decode
    ) -> list[list[Constraint]]:
        """Return what the translation of each text has to contain. ValueError without a beam."""
        if glossary is None:
            return [[] for _ in texts]
        if decode.search != "beam" or decode.mbr or decode.beam_groups > 1:
            raise ValueError("a glossary needs search=beam, without mbr and beam_groups")
        from .data.glossary import Glossary

        terms = Glossary.of(glossary)
        return [[self._spell(term) for term in terms.find(text)] for text in texts]

    def _spell(self, term: GlossaryTerm) -> Constraint:
        from .data.glossary import list_spellings

        target, is_unspaced_target = (
            self.tokenizers.target,
            is_unspaced(self.config.data.target_lang),
        )
        spellings: list[Spelling] = []
        for text, may_go_on in list_spellings(term, is_unspaced_target):
            ids = [target.encode(text)]
            if is_unspaced_target:
                ids.append(target.encode_inside(text))
            continuing = frozenset[int]() if may_go_on else self._continuing
            spellings += [Spelling(tuple(each), continuing) for each in ids]
        return Constraint(tuple(spellings))

    @cached_property
    def _continuing(self) -> frozenset[int]:
        """Return the target tokens that begin with a letter or digit: they continue a word."""
        texts = enumerate(self.tokenizers.target.vocabulary)
        return frozenset(id for id, text in texts if text[:1].isalnum())

    def _rank(self, found: list[Hypothesis], decode: Decode) -> list[Hypothesis]:
        """Return the hypotheses by expected utility, each text once."""
        texts = self.tokenizers.target.decode_many([each.tokens for each in found])
        return rank_by_utility(found, texts, decode.utility)

    def split(self, text: str) -> list[Span]:
        """Return the spans that are translated on their own: sentences, and clauses of long ones.

        A sentence is long if it has more than WHOLE times text.split_above tokens, or more than the
        network has positions for; its clauses have text.split_above tokens at most.

        A line break ends a sentence. Between the spans there are no letters or digits, or only
        those of keycaps; that text is kept.
        """
        limit = self.longest - 1 - len(self.tags)
        most = min(self.config.text.split_above or limit, limit)
        longest = min(limit, int(WHOLE * most))
        spans: list[Span] = []
        begin = 0
        for line in text.splitlines(keepends=True):
            for start, stop in split_sentences(line, self.config.data.source_lang):
                sentence = line[start:stop]
                first, last = self._strip(sentence)
                places = [(0, last - first)]
                (whole,) = cut_spans(sentence, [(first, last)])
                if (tokens := self._count(whole)) > longest:
                    from .text.clauses import split_clauses

                    bare = sentence[first:last]
                    room = max(1, most - (tokens - self._count(bare)))
                    places = split_clauses(bare, room, self._read_untagged)
                at = begin + start + first
                spans += [(at + left, at + right) for left, right in places]
            begin += len(line)
        return [span for span in spans if has_letters(text[slice(*span)])]

    def _strip(self, sentence: str) -> Span:
        """Return the span of a sentence without unknown symbols at its edges; see `symbols`."""
        if find_language_mark(sentence):
            return 0, len(sentence)
        return strip_symbols(sentence, self.tokenizers.source.find_unknown)

    def set_aside(self, text: str) -> SetAside | None:
        """Return a text without unknown symbols, as the network reads it; None if it has none."""
        return set_aside(text, self.tokenizers.source.find_unknown)

    def _keep_whole(self, text: str) -> list[Span]:
        """Return the whole text as one span, or its parts if it is too long for the model."""
        if not has_letters(text):
            return []
        return [(0, len(text))] if self._count(text) < self.longest else self.split(text)

    def _count(self, text: str) -> int:
        """Return the number of source tokens of a text, without the end mark."""
        return len(self.tags) + len(self._encode([text])[0])

    def read(self, text: str) -> Tokens:
        """Return the source tokens of a text, with the span of the text that each comes from.

        The tag of a language comes first, and spans nothing. With data.context, a text of several
        lines is an extended source: see `text.context`.
        """
        found = self._read_extended(text) if self.context else self._read_untagged(text)
        tags = [self.tokenizers.source.token(id) for id in self.tags]
        return Tokens(
            (*self.tags, *found.ids), (*tags, *found.texts), ((0, 0),) * len(tags) + found.spans
        )

    def _read_extended(self, text: str) -> Tokens:
        """Return the tokens of the lines that are read; a separator spans nothing."""
        assert self.separator is not None
        spans = find_lines(text, self.context)
        lines = [self._read_untagged(text[begin:end]) for begin, end in spans]
        first = len(lines) - 1 - count_context([len(each.ids) for each in lines], self._room)
        read: list[Tokens] = []
        for (begin, end), each in zip(spans[first:], lines[first:], strict=True):
            shifted = tuple((begin + left, begin + right) for left, right in each.spans)
            mark = self.tokenizers.source.token(self.separator)
            read += [
                each._replace(spans=shifted),
                Tokens((self.separator,), (mark,), ((end, end),)),
            ]
        columns = zip(*read[:-1], strict=True)
        return Tokens(*(tuple(chain.from_iterable(column)) for column in columns))

    def _read_untagged(self, text: str) -> Tokens:
        if aside := self.set_aside(text):
            return _trace_back(self._read_untagged(aside.text), aside.origins)
        if not is_unspaced(self.config.data.source_lang):
            return self.tokenizers.source.tokens(text)
        closed, origins = close_up_with_spans(text)
        return _trace_back(self.tokenizers.source.tokens(closed), origins)

    @overload
    def score(  # type: ignore[overload-overlap]
        self, sources: str, targets: str, *, progress: Progress | None = ...
    ) -> Scored: ...
    @overload
    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, progress: Progress | None = ...
    ) -> list[Scored]: ...
    def score(
        self,
        sources: str | Sequence[str],
        targets: str | Sequence[str],
        *,
        progress: Progress | None = None,
    ) -> Scored | list[Scored]:
        """Return how probable a target is as a translation of its source, or each of a list.

        With data.context, the last line of a source is translated, and those before it are context.
        """
        if isinstance(sources, str) and isinstance(targets, str):
            return self.score([sources], [targets], progress=progress)[0]
        check_list("sources", sources)
        check_list("targets", targets)
        if len(sources) != len(targets):
            raise ValueError(f"{len(sources)} sources but {len(targets)} targets")
        target_ids = self.tokenizers.target.encode_many(targets)
        for place, ids in enumerate(target_ids):
            self._check(len(ids) + 1, place, "target")
        found = self.get_engine(self.exact_precision).score(
            self._sources(sources, range(len(sources))),
            target_ids,
            budget=self.batch_budget,
            workers=self.weights.count_workers(len(sources), _count_longest(target_ids)),
            progress=progress,
        )
        token = self.tokenizers.target.token
        return [
            Scored(sum(each.log_probs), [token(id) for id in ids], each.log_probs)
            for ids, each in zip(target_ids, found, strict=True)
        ]

    def attend(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        heads: Sequence[tuple[int, int | None]],
    ) -> Iterator[tuple[int, list[NDArray[np.float32]]]]:
        """Yield the index of each pair of ids, and its weights of cross-attention, T + 1 by S.

        There is an array for each of the heads, given by the layer of the decoder and the head;
        None is the mean of all. Row t is that of the query that predicts token t, or at last EOS.
        """
        engine = self.get_engine(self.exact_precision)
        workers = self.weights.count_workers(len(sources), _count_longest(targets))
        yield from engine.attend(sources, targets, heads, workers=workers, budget=self.batch_budget)

    def see(self, text: str, **how: Any) -> Any:
        """Return a recording of the translation of one sentence, a `Trace`; see `see.record`."""
        return import_module(".see", __package__).record(self, text, **how)

    @property
    def longest(self) -> int:
        """Return the most tokens that a side may have, the end mark included."""
        return self.config.model.positions.max_positions - len(self.begin)

    @property
    def budget(self) -> int:
        """Return the most tokens in a batch, padding included; it falls when memory runs out."""
        return self.batch_budget.tokens

    def describe(self) -> dict[str, Any]:
        """Return sizes and settings, for people and programs."""
        parameters = self.weights.parameters
        return {
            "parameters": parameters,
            "source_vocabulary": len(self.tokenizers.source),
            "target_vocabulary": len(self.tokenizers.target),
            "device": str(self.device),
            "precision": self.weights.known_precision,
            "settings": self.config.model_dump(mode="json", exclude_none=True),
        }

    def _encode_pairs(self, sources: Sequence[str], targets: Sequence[str]) -> list[Example]:
        ids = self._sources(sources, range(len(sources)))
        return list(zip(ids, self.tokenizers.target.encode_many(targets), strict=True))

    def _sources(self, texts: Sequence[str], lines: Sequence[int]) -> list[list[int]]:
        rows = self._encode_extended(texts) if self.context else self._encode(texts)
        ids = [[*self.tags, *row, EOS] for row in rows]
        for line, row in zip(lines, ids, strict=True):
            self._check(len(row), line, "source")
        return ids

    @property
    def _room(self) -> int:
        """Return the most tokens of a source with its context, without tags and EOS."""
        return min(self.config.data.max_length, self.longest - 1) - len(self.tags)

    def _encode_extended(self, sources: Sequence[str]) -> list[list[int]]:
        assert self.separator is not None
        lines = [
            [source[begin:end] for begin, end in find_lines(source, self.context)]
            for source in sources
        ]
        (rows,) = encode_sources(
            lines, lambda texts: [self._encode(texts)], self.separator, self._room
        )
        return rows

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        texts = [aside.text if (aside := self.set_aside(text)) else text for text in texts]
        if is_unspaced(self.config.data.source_lang):
            texts = [close_up(text) for text in texts]
        return self.tokenizers.source.encode_many(texts)

    def _prefixes(
        self, texts: Sequence[str], prefixes: Sequence[str] | None, spans: Sequence[Sequence[Span]]
    ) -> list[list[int]]:
        """Return the prefix of each part as ids: that of the text for its first part, else none."""
        if prefixes is None:
            return [[] for places in spans for _ in places]
        if len(prefixes) != len(texts):
            raise ValueError(f"{len(texts)} texts but {len(prefixes)} prefixes")
        parts = [
            "" if part else prefix
            for prefix, places in zip(prefixes, spans, strict=True)
            for part in range(len(places))
        ]
        return self.tokenizers.target.encode_many(parts)

    def _check(self, tokens: int, line: int, side: str) -> None:
        if tokens > self.longest:
            raise ValueError(
                f"line {line + 1}: the {side} is {tokens} tokens long, but this model has "
                f"{self.longest} positions (model.positions.max_positions): split it into sentences"
            )


def join_translators(members: Sequence[Translator], names: Sequence[str], **how: Any) -> Translator:
    """Return the ensemble of models. ValueError if there is none, or vocabularies differ."""
    if not members:
        raise ValueError("an ensemble has at least one model")
    first, *others = members
    for other, name in zip(others, names[1:], strict=True):
        for side in ("source", "target"):
            one, two = (getattr(each.tokenizers, side).vocabulary for each in (first, other))
            if one != two:
                raise ValueError(
                    f"{names[0]} and {name} have different {side} vocabularies: an ensemble needs "
                    "one, as models have that were trained with --from the same one"
                )
        both = [(e.tags, e.begin, e.config.data.pairs) for e in (first, other)]
        if both[0] != both[1]:
            raise ValueError(f"{names[0]} and {name} translate other languages")
        if other.context != first.context:
            raise ValueError(f"{names[0]} and {name} differ in data.context: an ensemble needs one")
    if not others:
        return first
    from .engine.weights import EnsembleWeights

    joined = copy(first)
    joined.config = _limit(first.config, min(each.longest for each in members))
    joined.weights = EnsembleWeights([e.weights for e in members], joined._encode_pairs, **how)
    return joined


def _trace_back(found: Tokens, origins: Sequence[Span]) -> Tokens:
    """Return tokens with the spans that their characters came from."""
    spans = tuple((origins[start][0], origins[end - 1][1]) for start, end in found.spans)
    return Tokens(found.ids, found.texts, spans)


def _limit(config: Config, longest: int) -> Config:
    """Return the settings of a model with so many positions."""
    positions = config.model.positions.model_copy(update={"max_positions": longest})
    model = config.model.model_copy(update={"positions": positions})
    return config.model_copy(update={"model": model})


def _count_longest(targets: Sequence[Sequence[int]]) -> int:
    """Return the tokens of the longest target, the end mark counted."""
    return 1 + max(map(len, targets), default=0)


def _in_lists(how: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for a list of one text from those for the text itself."""
    both = {name: how[name] for name in ("prefixes", "contexts") if how.get(name) is not None}
    return {**how, **{name: [each] for name, each in both.items()}}
