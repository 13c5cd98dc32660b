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
from .spacing import EAST, SOUTH_EAST, is_eastern, name_base
from .symbols import find_moved_marks
from .unicode import Span

if TYPE_CHECKING:  # few texts need the lists of abbreviations
    from .sentence_rules import SentenceRules

ENDS_BEFORE_SPACE = ".!?…‥‼⁇⁈⁉⸮"
ENDS_ANYWHERE = "。！？｡．।॥۔؟።፧፨։។៕။﹒﹖﹗︒︕︖܀߹᠃᠉᱾᱿꧈꧉꩝꩞꩟꫰꫱꯫᭚᭛᭞᭟᪨᪩᪪᪫"
ENDS_ANYWHERE += "᙮܁܂᜵᜶᥄᥅᰻᰼꓿꘎꘏꛳꛷꡶꡷꣎꣏꤯།༎༏༐༑༔"
TWO_DOTS = "፡"  # between words in old Ethiopic text; two of them are typed for ።
COLONS = "(?<=[ሀ-ፚ]) ?::"  # as on Latin keyboards
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
        rf"(?P<anywhere>[{spaced}]*+(?:[{ENDS_ANYWHERE}]|{TWO_DOTS}{{2}}|{COLONS})"
        rf"[{spaced}{ENDS_ANYWHERE}]*+)[{CLOSERS}]*+"
        rf"|(?P<spaced>[{spaced}]++)[{CLOSERS}“‘«‹]*+(?:\s[»›](?![^\s.,;:!?)\]]))?"
    )


MARKS = _compile_marks(ENDS_BEFORE_SPACE)
GREEK_MARKS = _compile_marks(ENDS_BEFORE_SPACE + GREEK_ENDS)
# Quotations in Chinese and Japanese brackets that the sentence goes on after: 「はい。」と言った。
# And "etc." of Khmer, with the word before it: ផ្លែឈើ ។ល។
QUOTATION = RarePattern(
    r"(?:「[^「」]{1,120}」|『[^『』]{1,120}』|（[^（）]{1,120}）)"
    r"(?=と(?!ころ|ても|うとう|にかく|もだち)|って|は(?!い)|が(?!ん)|を|に(?!ほん|わ)|の(?!ち|ど)|など"
    r"|から(?!だ)|まで|より|も(?!う|し|の)|で(?!も|は|す)|だ(?!か|が)|な(?!ぜ|に|る|ん)|、|，)"
    r"|“[^“”]{1,120}”(?=[^\s。！？，；：…“”]{0,8}(?:说|說|问|問|喊|叫|答)(?:[道着了。，！\s]|\Z)(?!：))"
    rf"|[^\s។]\s{{0,3}}។\s?(?:ល|បេ)\s?។[{CLOSERS}]*+",
    ("」", "』", "）", "”", "ល", "បេ"),
)
NEXT_WORD = LazyPattern(rf"[\s{re.escape(OPENERS)}]*+(?P<word>\w*\.?)")
BETWEEN_WORDS = LazyPattern(r"[\s\-–—/()\[\]«»‹›„“”\"‚‘]|(?<!\w)['’]")
FIRST_LETTER = LazyPattern(r"\w")
LABEL = LazyPattern(r"\W*(?:\d{1,4}(?:\.\d+)*|[^\W\d_]|[ivxIVX]{1,5})\.")  # 1. or (a.
INITIALS = LazyPattern(r"(?:[^\W\d_]\.)*[^\W\d_]")
CHAIN = LazyPattern(r"(?:^|\W)(?P<pair>[^\W\d_]\.\s[^\W\d_])\Z")  # J. S or z. B
AT_BRACKET = LazyPattern(r".*[(\[][^\W\d_]{2,6}\Z")  # (engl. X), (род. 1934), (pop. 256,000)
ELIDED = LazyPattern(r"['’]")
LETTER = LazyPattern(r"[^\W\d_àèéőяеạåöø]\Z")
NUMBERED = LazyPattern(r"(?P<word>[^\W\d_]+)(?P<stop>\.?)\s\d{1,2}\Z")  # Nr. 12
LETTER_AND_STOP = LazyPattern(r"[^\W\d_]\.\Z")
ORDINAL = LazyPattern(r"\d{1,2}|[IVX]+")
CHARACTER = LazyPattern("[\u3040-\u9fff\uac00-\ud7af]")
WORDS_OF_ONE = LazyPattern(f"[ayàèéőяеạåöø]\\Z|{CHARACTER.pattern}\\Z")  # these are no initials
# One of a script that is written without spaces: Chinese, Japanese, Thai, Burmese, ...
UNSPACED = LazyPattern(f"[{EAST}{SOUTH_EAST}]")
LONGEST_WORD = 24  # characters of a word that may be an abbreviation

LANGUAGE_MARK = RarePattern(r">>[\w-]{2,16}<<\s*", (">>",))


def find_language_mark(text: str) -> str:
    """Return the target-language mark at the start of a text, like ">>fra<< ", or "".

    Models with several target languages have such marks as tokens; each sentence needs its own.
    """
    match = LANGUAGE_MARK.match(text) if LANGUAGE_MARK.is_possible(text) else None
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
    marks = find_marks(language)
    ends = ENDS.union(GREEK_ENDS) if marks is GREEK_MARKS else ENDS
    last = max((at for at, each in enumerate(text) if each.isalnum() or each == "_"), default=0)
    if ends.isdisjoint(text[:last]) and "::" not in text:  # as in most texts of one sentence
        return
    from .sentence_rules import find_rules

    rules, quotations = find_rules(language), _find_quotations(text)
    begin, first = 0, FIRST_LETTER.search(text)
    for mark in marks.finditer(text, 0, last):
        while quotations and quotations[-1][1] < mark.end():
            quotations.pop()
        if quotations and quotations[-1][0] < mark.start():
            continue
        if first and first.start() < mark.start():
            is_low = is_small(first[0])
            end = _find_end(text, mark, begin, is_low, rules)
            if end:
                yield end
                begin, first = end, FIRST_LETTER.search(text, end)


def find_marks(language: str | None) -> LazyPattern:
    """Return what finds the marks that may end a sentence of a language."""
    return GREEK_MARKS if name_base(language) == "el" else MARKS


def _find_quotations(text: str) -> list[Span]:
    """Return the spans of quotations within a sentence, the last one first."""
    if not QUOTATION.is_possible(text):
        return []
    return [match.span() for match in QUOTATION.finditer(text)][::-1]


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
        ends = ends or (run in ("?", "!") and any(map(UNSPACED.match, both)))
        return end if ends else None
    following = NEXT_WORD.match(text, end)
    next_word = following["word"] if following else ""
    if run == "." and _belongs_to_word(text, begin, mark.start(), next_word, rules):
        return None
    is_closed = end > mark.end("spaced")
    return None if is_small(next_word[:1]) and (is_closed or not is_low) else end


def _belongs_to_word(text: str, begin: int, at: int, next_word: str, rules: SentenceRules) -> bool:
    """Return whether the full stop at `at` belongs to an abbreviation, an ordinal or a label."""
    if at - begin < LONGEST_WORD and LABEL.fullmatch(text, begin, at + 1):
        return not CHARACTER.match(text, at - 1)
    before = text[max(begin, at - LONGEST_WORD) : at]
    word = BETWEEN_WORDS.split(before)[-1]
    forms = {word, ELIDED.split(word)[-1]}  # l'art. 5
    if forms & rules.never_last or (LETTER.match(word) and LETTER_AND_STOP.match(next_word)):
        return True
    if forms & rules.before_number and next_word[:1].isdigit():
        return True
    if word.islower() and AT_BRACKET.match(before):
        return True
    if chain := CHAIN.search(before):
        may_end = "".join(chain["pair"].split()) in rules.seldom_last
        return not may_end or next_word not in rules.starters
    is_initial = INITIALS.fullmatch(word) and not WORDS_OF_ONE.match(word)
    if is_initial or (rules.has_ordinals and _is_ordinal(before, word, rules)):
        return next_word not in rules.starters
    if forms & rules.seldom_last or word.endswith(rules.suffixes):
        is_title = next_word[:1].isupper() and next_word.rstrip(".") in rules.never_last
        return next_word not in rules.starters and not is_title
    return False


def _is_ordinal(before: str, word: str, rules: SentenceRules) -> bool:
    """Return whether a number may be an ordinal: it does not belong to a word like "Nr."."""
    if not ORDINAL.fullmatch(word):
        return False
    if not (numbered := NUMBERED.search(before)):
        return True
    noun = numbered["word"]
    is_abbreviation = noun in rules.before_number or noun.endswith(rules.suffixes)
    return not (is_abbreviation or (len(noun) == 1 and numbered["stop"]))


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
