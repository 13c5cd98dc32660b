"""The case of a sentence that is written unlike the training text: capitals, titles, small letters.

To a network THE CAT and The Cat are other words than the cat, mostly ones it has never seen. So
such a sentence is truecased before it is read: each word is written in the case that the model
knows best, which is the one that its tokenizer spells with the fewest tokens. The case of the
sentence is put back on its translation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from .patterns import LazyPattern
from .spacing import name_base

Case = Literal["upper", "title", "lower", "words"]  # words: some in capitals, for emphasis
Cut = Callable[[Sequence[str]], Sequence[Sequence[int]]]  # words -> the ids of their tokens

LEAST_TITLE, SHARE = 3, 0.7  # words; of them in title case
LEAST_SENTENCE, STOPS = 4, ".!?\u2026"  # words; marks of a shorter one: else it is a phrase
OFTEN = 2  # times: the id of a token with a capital is so much lower if the word is a name
ABBREVIATION = 3  # letters in capitals, alone
SMALL_WORD, EMPHASIS = 3, 3  # letters: a title has these in small letters; capitals to stress
WORD = LazyPattern(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
# Georgian and Cherokee: Unicode has capitals, or small letters, that hardly anybody writes.
ONE_CASE = "\u10a0-\u10ff\u1c90-\u1cbf\u13a0-\u13ff\uab70-\uabbf"
_IN_ONE_CASE = LazyPattern(f"([{ONE_CASE}]+)")
# English I, but not the letter
PRONOUN = LazyPattern("(?<![\\w.'\u2019-])(?<!the )(?<!letter )i(?=['\u2019](?!s\\b)| |$)")
HONORIFICS = frozenset(
    ["Mr", "Mrs", "Ms", "Miss", "Dr", "Prof", "Sir", "Madam", "M", "Mme", "Mlle", "Herr", "Frau"]
)
BEFORE_NAMES = frozenset(["mr", "mrs", "ms", "dr", "mme", "mlle"])  # in any case
ELIDED = re.compile("(?!I['\u2019])[^\\W\\d_]{1,3}['\u2019]")  # l', qu', all', not I'
# What an English title has in small letters, unless in front or at the end.
SMALL_IN_TITLES = frozenset(
    re.split(
        r"\s+",
        """a an and as at but by for from if in into nor of off on onto or over per so than the to
        up via with yet""",
    )
)
TURKIC = {ord("i"): "\u0130", ord("\u0131"): "I"}
_SMALL_TURKIC = {ord(capital): chr(small) for small, capital in TURKIC.items()}
TONOS = dict(zip(map(ord, "\u0386\u0388\u0389\u038a\u038c\u038e\u038f"), "ΑΕΗΙΟΥΩ", strict=True))


def find_case(text: str, cut: Cut, language: str | None = None) -> Case | None:
    """Return in which case a sentence is written, if it is not the usual one.

    cut: returns the tokens of each word, as the model's tokenizer cuts it; the lower the id, the
    more frequent the token. language: that of the sentence.
    """
    words = WORD.findall(text)
    if sum(map(len, words)) < 2 or text.upper() == text.lower() or _IN_ONE_CASE.search(text):
        return None
    if text == text.upper():
        return "upper" if len(words) > 1 or len(words[0]) > ABBREVIATION else None
    if text == text.lower():
        is_sentence = len(words) >= LEAST_SENTENCE or text.rstrip()[-1] in STOPS or "," in text
        has_pronoun = name_base(language) == "en" and PRONOUN.search(text)
        return "lower" if is_sentence or has_pronoun else None
    if _is_title(words, cut, language):
        return "title"
    return "words" if any(map(_is_emphatic, words)) else None


def has_capital(word: str) -> bool:
    """Return whether a word begins with a capital, in a script that has small letters, too."""
    return word[:1].isupper() and not _IN_ONE_CASE.match(word)


def is_small(letter: str) -> bool:
    """Return whether a letter is small, in a script that has capitals, too."""
    return letter.islower() and not _IN_ONE_CASE.match(letter)


def is_usual(text: str) -> bool:
    """Return whether a sentence has one capital, in front; most have, which takes little to see."""
    tail = text[1:]
    return text[:1].isupper() and tail.lower() == tail != tail.upper()


def truecase(
    text: str,
    case: Case,
    cut: Cut,
    known: Collection[str] | None = None,
    language: str | None = None,
) -> str:
    """Return a sentence in the case that a model knows; it has as many characters as before.

    known: the words of the training text, lower-cased. Others are names, if the tokens do not tell.
    """
    words = [word for word in WORD.finditer(text) if case != "words" or _is_emphatic(word[0])]
    forms = _choose_forms([word[0] for word in words], case, cut, known, language)
    if words and case != "words":
        forms[0] = capitalize(forms[0], language)
        for place, (word, following) in enumerate(pairwise(words)):
            gap = text[word.end() : following.start()]
            if word[0].lower() in BEFORE_NAMES and gap in (" ", ". "):
                forms[place : place + 2] = map(capitalize, forms[place : place + 2])
    left, at = list[str](), 0
    for word, form in zip(words, forms, strict=True):
        left += [text[at : word.start()], form]
        at = word.end()
    return "".join([*left, text[at:]])


def put_case_back(translation: str, case: Case, language: str | None) -> str:
    """Return a translation in the case of its sentence, by the rules of its language.

    Only English writes titles with capitals; other languages write them as sentences.
    """
    if case == "upper":
        return write_capitals(translation, language)
    if case == "title" and name_base(language) == "en":
        return _write_title(translation)
    return translation


def lower_first(text: str, cut: Cut, language: str | None = None) -> str:
    """Return a text that begins with a small letter, unless its first word is a name.

    cut: returns the tokens of each word of the translation's side. language: that side's.
    """
    first = WORD.match(text)
    if not first or not has_capital(text) or (len(first[0]) > 1 and first[0].isupper()):
        return text
    elided = ELIDED.match(first[0])  # the word behind it says nothing of the first letter
    word = elided[0] if elided else first[0]
    small = _lower(word, language)
    low, high = cut([small, word])
    return text if is_capitalized(small, low, high, None) else _lower(text[0], language) + text[1:]


def write_capitals(text: str, language: str | None) -> str:
    """Return a text in capitals: with dots in Turkish, without accents in Greek."""
    before, after = find_capitals(language)
    parts = _IN_ONE_CASE.split(text.translate(before))  # every second one is in one case
    parts[::2] = map(str.upper, parts[::2])
    return "".join(parts).translate(after)


def find_capitals(language: str | None) -> tuple[Mapping[int, str], Mapping[int, str]]:
    """Return a language's own replacements before and after letters become capitals."""
    return TURKIC if is_turkic(language) else {}, TONOS if name_base(language) == "el" else {}


def is_turkic(language: str | None) -> bool:
    """Return whether a language has two letters, i and \u0131, each with its capital."""
    return name_base(language) in ("tr", "az")


def to_small(word: str, language: str | None = None) -> str:
    """Return a word in small letters by the rules of its language; an \u0130 is no two letters."""
    own = word.translate(_SMALL_TURKIC) if is_turkic(language) else word
    return own.lower().replace("i\u0307", "i")


def _is_title(words: Sequence[str], cut: Cut, language: str | None) -> bool:
    """Return whether words are in title case, though the model knows them in small letters."""
    if not HONORIFICS.isdisjoint(words):
        return False
    inner = [word for word in words[1:] if word[0].isupper()]
    small = [word for word in words if word[0].islower()]
    if not inner or len(inner) + 1 < SHARE * len(words) or not words[0][0].isupper():
        return False
    is_english = name_base(language) == "en"
    if not all(
        each in SMALL_IN_TITLES if is_english else len(each) <= SMALL_WORD for each in small
    ):
        return False
    both = zip(cut([_lower(word, language) for word in inner]), cut(inner), strict=True)
    is_certain = len(words) < LEAST_TITLE  # then only what is no word with a capital tells
    usual = sum(len(low) + is_certain <= len(high) and len(low) == 1 for low, high in both)
    return usual >= max(1, len(inner) / 3)


def _is_emphatic(word: str) -> bool:
    return len(word) >= EMPHASIS and word.isupper()


def _choose_forms(
    words: Sequence[str],
    case: Case,
    cut: Cut,
    known: Collection[str] | None = None,
    language: str | None = None,
) -> list[str]:
    """Return each word in small letters, capitalized or in capitals: as the model knows it."""
    forms = [_list_forms(word, language) for word in words]
    tokens = iter(cut([form for each in forms for form in each]))
    chosen = list[str]()
    for low, high, own in forms:
        cuts = next(tokens), next(tokens), next(tokens)
        if case == "words":  # in capitals it may be an abbreviation, unless it is a word as well
            is_word = len(cuts[0]) == 1 < len(cuts[2]) and _is_among(low, known)
            chosen.append(low if is_word else own)
        elif len(cuts[2]) < min(len(cuts[0]), len(cuts[1])):
            chosen.append(own)
        else:
            chosen.append(high if is_capitalized(low, cuts[0], cuts[1], known) else low)
    return chosen


def _list_forms(word: str, language: str | None) -> tuple[str, str, str]:
    """Return a word in small letters, capitalized, and as it is, or in capitals if it has none."""
    low, capitals = _lower(word, language), word.translate(find_capitals(language)[0]).upper()
    has_none = low == word and len(capitals) == len(low)
    return low, capitalize(low, language), capitals if has_none else word


def is_capitalized(
    word: str, low: Sequence[int], high: Sequence[int], known: Collection[str] | None = None
) -> bool:
    """Return whether a word is rather written with a capital.

    low, high: its tokens in small letters and with a capital.
    """
    if not _is_among(word, known):
        return True
    if len(low) == len(high) == 1:
        return OFTEN * high[0] < low[0]
    return len(high) < len(low)


def _is_among(word: str, known: Collection[str] | None) -> bool:
    return known is None or word.replace("\u2019", "'") in known


def _lower(text: str, language: str | None = None) -> str:
    """Return small letters, a character for each character."""
    small = [to_small(each, language) for each in text]
    return "".join(new if len(new) == 1 else old for old, new in zip(text, small, strict=True))


def capitalize(text: str, language: str | None = None) -> str:
    """Return a text whose first letter is a capital, by the rules of its language."""
    first = text[:1].translate(find_capitals(language)[0]).upper()
    return first + text[1:] if len(first) == 1 else text


def _write_title(text: str) -> str:
    words = re.split(r"(\s+)", text)
    last = len(words) - 1
    return "".join(
        each if 0 < place < last and each in SMALL_IN_TITLES else capitalize(each)
        for place, each in enumerate(words)
    )
