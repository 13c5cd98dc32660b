"""A rule-based splitter of texts into sentences.

The rules decide which punctuation marks end a sentence, in any script that has such marks. They
read a text once, from left to right, and consider the words next to a mark, by the lists of its
language.
Thai and Lao have no such marks of their own: only line breaks, `?` and `!` part their sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .casing import is_small
from .patterns import LazyPattern, RarePattern
from .spacing import is_eastern, name_base
from .symbols import find_moved_marks
from .unicode import Span

if TYPE_CHECKING:  # few texts need the lists of abbreviations
    from .sentence_rules import SentenceRules

ENDS_BEFORE_SPACE = ".!?…‥‼⁇⁈⁉⸮"
ENDS_ANYWHERE = "。！？｡．।॥۔؟።፧፨։។៕။﹒﹖﹗︒︕︖܀߹᠃᠉᱾᱿꧈꧉꩝꩞꩟꫰꫱꯫᭚᭛᭞᭟᪨᪩᪪᪫"
ENDS_ANYWHERE += "᙮܁܂᜵᜶᥄᥅᰻᰼꓿꘎꘏꛳꛷꡶꡷꣎꣏꤯"
TWO_DOTS = "፡"  # between words in old Ethiopic text; two of them are typed for ።
GREEK_ENDS = ";\u037e"  # the question mark of Greek
ENDS = frozenset(ENDS_BEFORE_SPACE + ENDS_ANYWHERE + TWO_DOTS)
CLOSERS = r"\"'”’»›)\]}）］】」』》〉〕｝"
OPENERS = "\"'“”„‚‘’«‹»›([{（［【「『《〈〔｛¿¡*•·–—-"
LOW_QUOTE = ",,"  # as Dutch is typed
CONTINUERS = frozenset(f"{ENDS_BEFORE_SPACE}{ENDS_ANYWHERE},;:)]}}，、；：）】」』》〉،؛")


def _compile_marks(spaced: str) -> LazyPattern:
    """Return what finds the marks that may end a sentence; those of `spaced` need white space.

    Closing quotes and brackets belong to the sentence. After a mark that must be followed by white
    space, so do German “ and «, and French » after a space.
    """
    return LazyPattern(
        rf"(?P<anywhere>[{spaced}]*+(?:[{ENDS_ANYWHERE}]|{TWO_DOTS}{{2}})"
        rf"[{spaced}{ENDS_ANYWHERE}]*+)[{CLOSERS}]*+"
        rf"|(?P<spaced>[{spaced}]++)[{CLOSERS}“‘«‹]*+(?:\s[»›](?![^\s.,;:!?)\]]))?"
    )


_MARKS = _compile_marks(ENDS_BEFORE_SPACE)
_GREEK_MARKS = _compile_marks(ENDS_BEFORE_SPACE + GREEK_ENDS)
# Quotations in Chinese and Japanese brackets that the sentence goes on after: 「はい。」と言った。
_QUOTATION = RarePattern(
    r"(?:「[^「」]{1,120}」|『[^『』]{1,120}』|（[^（）]{1,120}）)"
    r"(?=と(?!ころ|ても|うとう|にかく|もだち)|って|は(?!い)|が(?!ん)|を|に(?!ほん|わ)|の(?!ち|ど)|など"
    r"|から(?!だ)|まで|より|も(?!う|し|の)|で(?!も|は|す)|だ(?!か|が)|な(?!ぜ|に|る|ん)|、|，)"
    r"|“[^“”]{1,120}”(?=[^\s。！？，；：…“”]{0,8}(?:说|說|问|問|喊|叫|答)(?:[道着了。，！\s]|\Z)(?!：))",
    ("」", "』", "）", "”"),
)
_NEXT_WORD = LazyPattern(rf"[\s{re.escape(OPENERS)}]*+(\w*\.?)")
_BETWEEN_WORDS = LazyPattern(r"[\s\-–—/()\[\]«»‹›„“”\"‚‘]|(?<!\w)['’]")
_FIRST_LETTER = LazyPattern(r"\w")
_LABEL = LazyPattern(r"\W*(?:\d{1,4}(?:\.\d+)*|[^\W\d_]|[ivxIVX]{1,5})\.")  # 1. or (a.
_INITIALS = LazyPattern(r"(?:[^\W\d_]\.)*[^\W\d_]")
_CHAIN = LazyPattern(r"(?:^|\W)([^\W\d_]\.\s[^\W\d_])\Z")  # J. S or z. B
_AT_BRACKET = LazyPattern(r".*[(\[][^\W\d_]{2,6}\Z")  # (engl. X), (род. 1934), (pop. 256,000)
_ELIDED = LazyPattern(r"['’]")
_LETTER = LazyPattern(r"[^\W\d_àèéőяеạåöø]\Z")
_NUMBERED = LazyPattern(r"([^\W\d_]+)(\.?)\s\d{1,2}\Z")  # Nr. 12
_LETTER_AND_STOP = LazyPattern(r"[^\W\d_]\.\Z")
_ORDINAL = LazyPattern(r"\d{1,2}|[IVX]+")
_CHARACTER = LazyPattern("[\u3040-\u9fff\uac00-\ud7af]")
_WORDS_OF_ONE = LazyPattern(f"[ayàèéőяеạåöø]\\Z|{_CHARACTER.pattern}\\Z")  # these are no initials
_LONGEST_WORD = 24  # characters of a word that may be an abbreviation

_LANGUAGE_MARK = RarePattern(r">>[\w-]{2,16}<<\s*", (">>",))


def find_language_mark(text: str) -> str:
    """Return the target-language mark at the start of a text, like ">>fra<< ", or "".

    Models with several target languages have such marks as tokens; each sentence needs its own.
    """
    match = _LANGUAGE_MARK.match(text) if _LANGUAGE_MARK.is_possible(text) else None
    return match[0] if match else ""


def has_letters(text: str) -> bool:
    """Return whether there is a letter or digit to translate; without one, a text stays."""
    return any(map(str.isalnum, text))


def cut_spans(text: str, spans: Sequence[Span]) -> list[str]:
    """Return the texts of the spans, each with the language mark that the whole begins with.

    Marks behind symbols that follow a sentence come with it: see `symbols`.
    """
    mark, moved = find_language_mark(text), find_moved_marks(text, spans)
    return [
        (mark if part else "") + text[slice(*span)] + text[slice(*marks)]
        for part, (span, marks) in enumerate(zip(spans, moved, strict=True))
    ]


def split_sentences(text: str, language: str | None = None) -> list[Span]:
    """Return the spans of the sentences, in order; only white space lies between and around them.

    Each has a letter or digit, unless the text has none. `language`, a code like "de", decides
    whether "3." may be an ordinal; without a language, it may.
    """
    spans: list[Span] = []
    begin = _skip_space(text, 0)
    for end in _find_ends(text, language):
        spans.append((begin, end))
        begin = _skip_space(text, end)
    end = len(text.rstrip())
    return [*spans, (begin, end)] if begin < end else spans


def _find_ends(text: str, language: str | None) -> Iterator[int]:
    """Yield the end of each sentence but the last."""
    is_greek = name_base(language) == "el"
    ends = ENDS.union(GREEK_ENDS) if is_greek else ENDS
    last = max((at for at, each in enumerate(text) if each.isalnum() or each == "_"), default=0)
    if ends.isdisjoint(text[:last]):  # as in most texts of one sentence
        return
    from .sentence_rules import find_rules

    rules, quotations = find_rules(language), _find_quotations(text)
    begin, first = 0, _FIRST_LETTER.search(text)
    for mark in (_GREEK_MARKS if is_greek else _MARKS).finditer(text, 0, last):
        while quotations and quotations[-1][1] < mark.end():
            quotations.pop()
        if quotations and quotations[-1][0] < mark.start():
            continue
        if first and first.start() < mark.start():
            is_low = is_small(first[0])
            end = _find_end(text, mark, begin, is_low, rules)
            if end:
                yield end
                begin, first = end, _FIRST_LETTER.search(text, end)


def _find_quotations(text: str) -> list[Span]:
    """Return the spans of quotations within a sentence, the last one first."""
    if not _QUOTATION.is_possible(text):
        return []
    return [match.span() for match in _QUOTATION.finditer(text)][::-1]


def _find_end(
    text: str, mark: re.Match[str], begin: int, is_low: bool, rules: SentenceRules
) -> int | None:
    """Return the end of the sentence from `begin` if `mark` ends it, else None.

    `is_low`: the sentence began with a lower-case letter; its writer may use no capitals.
    """
    end, run = mark.end(), mark["spaced"]
    start = _skip_space(text, end)
    if text[start] in CONTINUERS and not text.startswith(LOW_QUOTE, start):
        return None
    if run is None:
        return None if mark[0] == "．" and text[end].isdigit() else end
    if start == end:  # only without spaces between words a sentence may follow without white space
        both = text[mark.start() - 1], text[end]
        ends = run == "." and all(map(is_eastern, both))
        ends = ends or (run in ("?", "!") and any(map(_is_unspaced, both)))
        return end if ends else None
    following = _NEXT_WORD.match(text, end)
    next_word = following[1] if following else ""
    if run == "." and _belongs_to_word(text, begin, mark.start(), next_word, rules):
        return None
    is_closed = end > mark.end("spaced")
    return None if is_small(next_word[:1]) and (is_closed or not is_low) else end


def _is_unspaced(character: str) -> bool:
    """Return whether a script is written without spaces: Chinese, Japanese, Thai, Burmese, ..."""
    return (
        is_eastern(character)
        or "\u0e00" <= character <= "\u0eff"
        or ("\u1000" <= character <= "\u109f" or "\u1780" <= character <= "\u17ff")
    )


def _belongs_to_word(text: str, begin: int, at: int, next_word: str, rules: SentenceRules) -> bool:
    """Return whether the full stop at `at` belongs to an abbreviation, an ordinal or a label."""
    if at - begin < _LONGEST_WORD and _LABEL.fullmatch(text, begin, at + 1):
        return not _CHARACTER.match(text, at - 1)
    before = text[max(begin, at - _LONGEST_WORD) : at]
    word = _BETWEEN_WORDS.split(before)[-1]
    forms = {word, _ELIDED.split(word)[-1]}  # l'art. 5
    if forms & rules.never_last or (_LETTER.match(word) and _LETTER_AND_STOP.match(next_word)):
        return True
    if forms & rules.before_number and next_word[:1].isdigit():
        return True
    if word.islower() and _AT_BRACKET.match(before):
        return True
    if chain := _CHAIN.search(before):
        may_end = "".join(chain[1].split()) in rules.seldom_last
        return not may_end or next_word not in rules.starters
    is_initial = _INITIALS.fullmatch(word) and not _WORDS_OF_ONE.match(word)
    if is_initial or (rules.has_ordinals and _is_ordinal(before, word, rules)):
        return next_word not in rules.starters
    if forms & rules.seldom_last or word.endswith(rules.suffixes):
        is_title = next_word[:1].isupper() and next_word.rstrip(".") in rules.never_last
        return next_word not in rules.starters and not is_title
    return False


def _is_ordinal(before: str, word: str, rules: SentenceRules) -> bool:
    """Return whether a number may be an ordinal: it does not belong to a word like "Nr."."""
    if not _ORDINAL.fullmatch(word):
        return False
    if not (numbered := _NUMBERED.search(before)):
        return True
    is_abbreviation = numbered[1] in rules.before_number or numbered[1].endswith(rules.suffixes)
    return not (is_abbreviation or (len(numbered[1]) == 1 and numbered[2]))


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
