"""Reading: texts become sentences, and sentences the ids that a network reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..config import EOS, SEPARATOR, Config
from ..foundation.extensions import find_addition
from ..foundation.validation_errors import check_list
from ..model.files.directory import Tokenizers
from ..text import Tokens
from ..text.characters import QUOTES
from ..text.colons import split_at_colons
from ..text.context import (
    PrecedingLines,
    count_context,
    count_own,
    extend_source,
    find_lines,
    has_empty_line,
    join_ids,
    list_contexts,
)
from ..text.sentence_rules import find_list_labels
from ..text.sentences import cut_spans, find_language_mark, has_letters, split_sentences
from ..text.spacing import close_up_with_spans, is_unspaced
from ..text.symbols import (
    Enclosure,
    SetAside,
    is_new_emoticon,
    set_aside,
    split_at_separators,
    split_behind_faces,
    strip_symbols,
    touches,
)
from ..text.typography import find_quotes
from ..text.unicode import Span, join_spans
from .adapting import AdaptedSentence, Adapter
from .sentence import Sentence

if TYPE_CHECKING:
    from ..data.glossary import Glossary

WHOLE = 1.5  # times text.split_above: longer sentences are cut into clauses


class NetworkText(NamedTuple):
    """A sentence as the tokenizer reads it."""

    text: str
    origins: Sequence[Span] | None = None  # in the sentence, of each character; None: the same
    adapted: AdaptedSentence | None = None  # what is to be put back into a translation
    aside: SetAside | None = None  # what the network does not read

    def trace_back(self, tokens: Tokens) -> Tokens:
        """Return tokens of this text with the spans of the sentence that they come from."""
        origins = self.origins
        if origins is None:
            return tokens
        return tokens._replace(spans=tuple(join_spans(origins, span) for span in tokens.spans))


class Segment(NamedTuple):
    """A sentence of a text: its span, and its text with the marks that belong to it."""

    span: Span
    text: str


class SentenceReader:
    """A reader of texts, by the settings of a model and its tokenizers."""

    def __init__(self, config: Config, tokenizers: Tokenizers, folder: Path | None = None) -> None:
        """folder: that of the model, which may list the words of the training text."""
        self.config, self.tokenizers, self.folder = config, tokenizers, folder
        data = config.data
        self.adapter = Adapter(tokenizers, (data.source_lang, data.target_lang), folder)
        make = find_addition("enclosures")
        self.enclosures: Any = make(*tokenizers) if make else None
        self.tags = tokenizers.source.find_tags([data.tag] if data.tag else [])
        self.begin = tokenizers.target.find_tags(data.target_tags)
        has_context = data.context > 0
        self.separator = tokenizers.source.find_tags([SEPARATOR])[0] if has_context else None
        self.prefix = ""  # of the translations: what stand-ins stand for may be written as there
        self._labels = find_list_labels(data.source_lang)
        self._is_unspaced = is_unspaced(data.source_lang)

    @property
    def context(self) -> int:
        """Return how many of the sentences before a sentence are read with it."""
        return self.config.data.context

    @property
    def longest(self) -> int:
        """Return the most tokens that a side may have, the end mark included."""
        return self.config.model.positions.max_positions - len(self.begin)

    @property
    def has_conventions(self) -> bool:
        """Return whether the model is an imported one that reads and writes as ours do not."""
        return bool(self.begin) or not self.config.text.source_eos

    def read(
        self,
        texts: Sequence[str],
        *,
        split: bool = True,
        prefixes: Sequence[str] | None = None,
        contexts: Sequence[str] | None = None,
        as_document: bool = False,
        first_line: int = 0,
        glossary: Glossary | None = None,
    ) -> list[list[Sentence]]:
        """Return the sentences of each text, with their ids; see `Translator.search`.

        Each sentence is tokenized once. ValueError if the prefixes or contexts are not as many as
        the texts, or if a sentence is too long for the model.
        """
        if not self.context:
            contexts = None
        elif contexts is None and as_document:
            contexts = self.list_contexts(texts)
        for name, values in (("prefixes", prefixes), ("contexts", contexts)):
            check_list(name, values)
            if values is not None and len(values) != len(texts):
                raise ValueError(f"{len(texts)} texts but {len(values)} {name}")
        nothing = [""] * len(texts)
        ids = _Ids(self, glossary=glossary)
        cut = self._split(texts, ids) if split else self._keep_whole(texts, ids)
        before = self._split_contexts(contexts or (), ids, split)
        rows = zip(texts, cut, contexts or nothing, prefixes or nothing, strict=True)
        results = [
            [*self._place(text, own, before.get(context, ()), line, prefix, split)]
            for line, (text, own, context, prefix) in enumerate(rows, first_line)
        ]
        return self._add_ids(results, ids)

    def list_contexts(self, texts: Iterable[str]) -> list[str]:
        """Return what is before each of the texts of a document, of which an empty one is the end.

        All are empty for a model that reads no context.
        """
        return [*list_contexts(texts, PrecedingLines(self.context))]

    def split(self, text: str) -> list[Span]:
        """Return the spans that are translated on their own: sentences, and clauses of long ones.

        A sentence is long if it has more than WHOLE times text.split_above tokens, or more than the
        network has positions for; its clauses have text.split_above tokens at most.

        A line break ends a sentence. Between the spans there are no letters or digits, or only
        those of keycaps; that text is kept.
        """
        return [each.span for each in self._split([text], _Ids(self))[0]]

    def encode(self, sources: Sequence[str]) -> list[list[int]]:
        """Return the ids of texts of one sentence each, tags and end mark included.

        With data.context, the last line of a text is the sentence, and those before it its context.
        """
        ids = _Ids(self)
        lines = [self._find_lines(source) for source in sources]
        ids.add(chain.from_iterable(lines))
        rows = [self._join(each, ids) for each in lines]
        for line, row in enumerate(rows):
            self.check(len(row), line, "source")
        return rows

    def encode_pairs(
        self, sources: Sequence[str], targets: Sequence[str]
    ) -> list[tuple[list[int], list[int]]]:
        """Return the ids of sources, as `encode` does, and those of their translations."""
        return [*zip(self.encode(sources), self.encode_targets(sources, targets), strict=True)]

    def encode_prefixes(
        self, read: Sequence[NetworkText | Sentence], prefixes: Sequence[str]
    ) -> list[list[int]]:
        """Return the ids of what translations begin with, as the network would have written it."""
        pairs = zip(read, prefixes, strict=True)
        texts = [self._adapt_translation(*each, is_begun=True)[0] for each in pairs]
        return self.tokenizers.target.encode_many(texts)

    def encode_targets(self, sources: Sequence[str], targets: Sequence[str]) -> list[list[int]]:
        """Return the ids of the translations of texts, as the network would have written them."""
        pairs = zip(sources, targets, strict=True)
        read = [self._adapt_translation(self.prepare_last(one), two)[0] for one, two in pairs]
        return self.tokenizers.target.encode_many(read)

    def tokenize(self, text: str) -> Tokens:
        """Return the source tokens of a text, with the span of the text that each comes from.

        The tag of a language comes first, and spans nothing. With data.context, the last line of a
        text is the sentence, and those before it its context; a separator spans nothing.
        """
        token = self.tokenizers.source.token
        tags = Tokens(tuple(self.tags), tuple(map(token, self.tags)), ((0, 0),) * len(self.tags))
        spans = find_lines(text, self.context) if self.context else [(0, len(text))]
        lines = [self._tokenize_line(text[begin:end]) for begin, end in spans]
        fitting = count_context([len(each.ids) for each in lines], self._room)
        read = [tags]
        for (begin, end), each in [*zip(spans, lines, strict=True)][-1 - fitting :]:
            shifted = tuple((begin + left, begin + right) for left, right in each.spans)
            read.append(each._replace(spans=shifted))
            if self.separator is not None and end != spans[-1][1]:
                read.append(Tokens((self.separator,), (token(self.separator),), ((end, end),)))
        columns = zip(*read, strict=True)
        return Tokens(*(tuple(chain.from_iterable(column)) for column in columns))

    def tokenize_target(self, source: str, target: str) -> Tokens:
        """Return the target tokens of a translation, with the span that each comes from.

        What the network reads stand-ins for in the source, it is to have written as such, too.
        """
        text, origins = self._adapt_translation(self.prepare_last(source), target)
        return NetworkText(text, origins).trace_back(self.tokenizers.target.tokens(text))

    def _adapt_translation(
        self, read: NetworkText | Sentence, target: str, *, is_begun: bool = False
    ) -> tuple[str, Sequence[Span] | None]:
        bare = read.aside and leave_out_asides(read.aside, target)
        text, origins = self.adapter.adapt_translation(
            read.adapted, bare.text if bare else target, is_begun=is_begun
        )
        if bare:
            spans = origins or [(place, place + 1) for place in range(len(text))]
            origins = [join_spans(bare.origins, span) for span in spans]
        return text, origins

    def extend(self, sentence: Sentence) -> str:
        """Return a sentence as `tokenize` reads it: with data.context, after its context."""
        return extend_source(sentence.context, sentence.text) if self.context else sentence.text

    def prepare_last(self, source: str) -> NetworkText:
        """Return the sentence of a source as the tokenizer reads it, without its context."""
        return self.prepare(source.rpartition("\n")[2] if self.context else source)

    def prepare(
        self, sentence: str, attempt: int = 0, glossary: Glossary | None = None
    ) -> NetworkText:
        """Return a sentence as the tokenizer reads it, and where each character comes from.

        What its translation has to repeat is read as stand-ins, an unusual case as the usual one;
        symbols that training lacked are set aside, and white space that the language does not write
        is left out. attempt, glossary: see `Adapter.adapt`.
        """
        adapted = self.adapter.adapt(sentence, attempt, glossary)
        adapted = self.adapter.fit_prefix(adapted, sentence, self.prefix)
        text, origins = (adapted.text, adapted.origins) if adapted else (sentence, None)
        if aside := self.set_aside(text, adapted.asides if adapted else ()):
            text, origins = aside.text, [join_spans(origins, span) for span in aside.origins]
        if self._is_unspaced:
            closed, kept = close_up_with_spans(text)
            if closed != text:
                text, origins = closed, [join_spans(origins, span) for span in kept]
        return NetworkText(text, origins, adapted, aside)

    def set_aside(self, sentence: str, parts: Sequence[Span] = ()) -> SetAside | None:
        """Return a sentence without its unknown symbols and some parts; None if it has none."""
        is_possible = self.enclosures and not self._is_unspaced
        enclosures = self.enclosures.find(sentence, parts) if is_possible else ()
        return set_aside(sentence, self._is_unread, parts, enclosures)

    def count_lengths(self, sources: Sequence[Sequence[int]]) -> list[int] | None:
        """Return the tokens of each source that limits count: not its context; None without any."""
        if self.separator is None:
            return None
        return [count_own(source, self.separator) for source in sources]

    def check(self, tokens: int, line: int, side: str) -> None:
        """Raise ValueError, which names the line counted from 1, if a side is too long."""
        if tokens > self.longest:
            raise ValueError(
                f"line {line + 1}: the {side} is {tokens} tokens long, but this model has "
                f"{self.longest} positions (model.positions.max_positions): split it into sentences"
            )

    @property
    def _room(self) -> int:
        """Return the most tokens of a source with its context, without tags and EOS."""
        return min(self.config.data.max_length, self.longest - 1) - len(self.tags)

    def _split(self, texts: Sequence[str], ids: _Ids) -> list[list[Segment]]:
        """Return the sentences of each text, and the clauses of those that are too long."""
        wholes = [_cut(text, self._find_sentences(text)) for text in texts]
        ids.add(each.text for own in wholes for each in own)
        limit = self.longest - 1 - len(self.tags)
        most = min(self.config.text.split_above or limit, limit)
        longest = min(limit, int(WHOLE * most)) - len(self.tags)
        return [
            self._split_long(text, own, most, longest, ids)
            if any(len(ids[each.text].ids) > longest for each in own)
            else own
            for text, own in zip(texts, wholes, strict=True)
        ]

    def _find_sentences(self, text: str) -> Iterator[Span]:
        """Yield the spans of the sentences with a letter or digit, without symbols around them."""
        begin, quotes = 0, find_quotes(self.config.data.source_lang)
        for line in text.splitlines(keepends=True):
            for start, stop in self._split_line(line):
                first, last = self._strip(line[start:stop])
                at = begin + start + first
                whole = text[at : begin + start + last]
                if has_letters(whole):
                    parts = split_at_colons(whole) if self.adapter.colon else [(0, len(whole))]
                    for left, right in parts:
                        own = split_at_separators(whole[left:right], self._is_unread, quotes)
                        yield from ((at + left + begins, at + left + ends) for begins, ends in own)
            begin += len(line)

    def _split_line(self, line: str) -> Iterator[Span]:
        """Yield the spans of the sentences of a line, with symbols and white space behind them."""
        for start, stop in split_sentences(line, self.config.data.source_lang):
            for left, right in split_behind_faces(line[start:stop], self._is_unread):
                yield start + left, start + right

    def _strip(self, sentence: str) -> Span:
        """Return the span of a sentence without its label, and unknown symbols at its edges."""
        if find_language_mark(sentence):
            return 0, len(sentence)
        labels = self._labels if self.tokenizers.source.has_character_map else None
        return strip_symbols(sentence, self._is_unread, labels)

    def _is_unread(self, symbols: str) -> bool:
        """Return whether the network never met a character of symbols, or an emoticon.

        An imported model reads emoticons as its own toolkit would give them.
        """
        source = self.tokenizers.source
        is_new = source.has_character_map and is_new_emoticon(symbols, source.has_token)
        return is_new or bool(source.find_unknown(symbols))

    def _split_long(
        self, text: str, sentences: list[Segment], most: int, longest: int, ids: _Ids
    ) -> list[Segment]:
        """Return the sentences of a text, those with too many tokens cut into clauses."""
        from ..text.clauses import split_clauses

        spans = list[Span]()
        for (begin, end), whole in sentences:
            tokens, bare, clauses = len(ids[whole].ids), text[begin:end], [(0, end - begin)]
            if tokens > longest:
                ids.add([bare])
                room = max(1, most - (tokens - len(ids[bare].ids)))
                clauses = split_clauses(bare, room, self._tokenize_line)
            spans += [(begin + left, begin + right) for left, right in clauses]
        return _cut(text, (span for span in spans if has_letters(text[slice(*span)])))

    def _keep_whole(self, texts: Sequence[str], ids: _Ids) -> list[list[Segment]]:
        """Return each text as one sentence, or its sentences if it is too long for the model."""
        wholes = {text: self._cut_whole(text) for text in texts if has_letters(text)}
        ids.add(each.text for (each,) in wholes.values())
        room = self.longest - len(self.tags)
        long = [text for text, (each,) in wholes.items() if len(ids[each.text].ids) >= room]
        wholes |= zip(long, self._split(long, ids), strict=True)
        return [wholes.get(text, []) for text in texts]

    def _cut_whole(self, text: str) -> list[Segment]:
        """Return a text as one sentence, without its label and unknown symbols at its edges."""
        bare, before = text.strip(), len(text) - len(text.lstrip())
        begin, end = self._strip(bare)
        is_stripped = end - begin < len(bare) and has_letters(bare[begin:end])
        return _cut(text, [(before + begin, before + end) if is_stripped else (0, len(text))])

    def _split_contexts(
        self, contexts: Sequence[str], ids: _Ids, split: bool
    ) -> dict[str, list[str]]:
        """Return the sentences of each context, or its lines, and lines that are empty."""
        different = [*dict.fromkeys(contexts)]
        lines = {line for each in different for line in each.split("\n") if line.strip()}
        cut = dict[str, list[Segment]]()
        if split:
            cut = dict(zip(lines, self._split([*lines], ids), strict=True))
        results = dict[str, list[str]]()
        for context in different:
            results[context] = []
            for line in context.split("\n"):
                results[context] += [each.text for each in cut[line]] if line in cut else [line]
        return results

    def _place(
        self,
        text: str,
        sentences: Sequence[Segment],
        before: Sequence[str],
        line: int,
        prefix: str,
        split: bool,
    ) -> Iterator[Sentence]:
        """Yield the sentences of a text, each with those before it as its context."""
        document, at = PrecedingLines(self.context), 0
        for each in before:
            document.add(each)
        for part, (span, own) in enumerate(sentences):
            if self.context and split and has_empty_line(text[at : span[0]]):
                document.end()
            yield Sentence(own, line, part, span, document.context, prefix)
            document.add(own)
            prefix, at = "", span[1]

    def _add_ids(self, texts: list[list[Sentence]], ids: _Ids) -> list[list[Sentence]]:
        """Return the sentences with their ids, and with what was set aside."""
        if self.context:
            lines = [[self._find_lines(self.extend(each)) for each in own] for own in texts]
        else:
            lines = [[[each.text] for each in own] for own in texts]
        ids.add(line for own in lines for each in own for line in each)
        results = [
            [self._take(each, read, ids) for each, read in zip(own, rows, strict=True)]
            for own, rows in zip(texts, lines, strict=True)
        ]
        for each in chain.from_iterable(results):
            self.check(len(each.ids), each.line, "source")
        return results

    def _take(self, sentence: Sentence, lines: Sequence[str], ids: _Ids) -> Sentence:
        """Return a sentence with its ids; `lines` are its context and itself."""
        own = ids[lines[-1]]
        adapted = self.adapter.fit_prefix(own.adapted, sentence.text, sentence.prefix)
        return sentence._replace(ids=self._join(lines, ids), adapted=adapted, aside=own.aside)

    def read_again(
        self, sentences: Sequence[Sentence], attempt: int, glossary: Glossary | None
    ) -> list[Sentence]:
        """Return sentences as they are read with other stand-ins; see `Adapter.adapt`."""
        (again,) = self._add_ids([[*sentences]], _Ids(self, attempt, glossary))
        return again

    def _find_lines(self, source: str) -> list[str]:
        if not self.context:
            return [source]
        return [source[begin:end] for begin, end in find_lines(source, self.context)]

    def _join(self, lines: Sequence[str], ids: _Ids) -> list[int]:
        """Return the ids of a sentence, whose context are the lines before it."""
        own = [ids[line].ids for line in lines]
        if self.separator is None:
            return [*self.tags, *own[0], EOS]
        return [*self.tags, *join_ids(own, self.separator, self._room), EOS]

    def _tokenize_line(self, line: str) -> Tokens:
        prepared = self.prepare(line)
        return prepared.trace_back(self.tokenizers.source.tokens(prepared.text))


class _Encoded(NamedTuple):
    ids: list[int]
    adapted: AdaptedSentence | None
    aside: SetAside | None


class _Ids(dict[str, _Encoded]):
    """The ids of texts, of which each is tokenized once, and what was set aside from it."""

    def __init__(
        self, reader: SentenceReader, attempt: int = 0, glossary: Glossary | None = None
    ) -> None:
        self.reader, self.attempt, self.glossary = reader, attempt, glossary

    def add(self, texts: Iterable[str]) -> None:
        missing = [text for text in dict.fromkeys(texts) if text not in self]
        prepared = [self.reader.prepare(text, self.attempt, self.glossary) for text in missing]
        rows = self.reader.tokenizers.source.encode_many([each.text for each in prepared])
        for text, each, ids in zip(missing, prepared, rows, strict=True):
            self[text] = _Encoded(ids, each.adapted, each.aside)


def leave_out_asides(source: SetAside, target: str) -> SetAside | None:
    """Return a translation without what was set aside from its source; quotes may be of any kind.

    A comma that the source has in the place of a bracket is here, too.
    """
    spans, marks = list[Span](), list[Enclosure]()
    for each in source.asides:
        own = each.symbols.strip()
        pattern = f"[{QUOTES}]" if own in QUOTES else re.escape(own)
        pattern = rf"(?<!\w){own}|{own}(?!\w)" if own == "'" else pattern
        free = (match.span() for match in re.finditer(pattern, target))
        if span := next((span for span in free if not touches(span, spans)), None):
            spans = sorted([*spans, span])
            comma, width = source.text[slice(*each.gap)].strip(), span[1] - span[0]
            marks.append(Enclosure(*span, (own, own), comma, (width, width)))
    return set_aside(target, lambda _: False, spans, marks)


def _cut(text: str, spans: Iterable[Span]) -> list[Segment]:
    spans = [*spans]
    return [*map(Segment, spans, cut_spans(text, spans))]
