"""The parts of a sentence that a translation repeats letter by letter: links, numbers, names.

One scan finds the kinds that have a shape of their own. A name has none: it is a word with a
capital that the training text did not have. The scan takes linear time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..foundation.disk import read_text
from .casing import has_capital, to_small
from .patterns import LazyPattern
from .spacing import TOUCHING

_UNITS = (
    r"km/h|m/s|mph|kWh|kW|MW|GW|kg|mg|g|km|cm|mm|nm|m[²³]|km²|m|ml|cl|dl|l|kB|KB|MB|GB|TB|kHz|MHz"
    r"|GHz|Hz|kV|V|W|°C|°F|°|ºC|%%|%|‰|px|dB"
)
_BEHIND = rf"{_UNITS}|s|ms|h|min|x|B|pt|st|nd|rd|th"  # what may touch a number
_DIGITS = r"\d++(?:[.,\u00a0\u202f '’]\d{3}(?!\d))*+(?:[.,:]\d++)?+"
_MONEY = r"[$€£¥₹₽₩]"
_TLD = r"(?:com|org|net|edu|gov|info|io|dev|app|ai|co|eu|uk|us|de|fr|es|it|nl|pl|ru|cn|jp|br|ch)"
_FILE = (
    r"(?:txt|md|pdf|docx?|xlsx?|pptx?|odt|csv|tsv|json|xml|html?|css|js|ts|py|java|cpp?|rs|go|sh"
    r"|png|jpe?g|gif|svg|mp[34]|wav|zip|gz|tar|exe|log|ini|toml|ya?ml)"
)
_TERM = r"[-\u2212]?\d++(?:[.,]\d++)?+"
_MODIFIER = (
    r"(?:[Cc]trl|CTRL|Control|Strg|AltGr|Alt|ALT|Shift|SHIFT|Maj|Umschalt|[Cc]md|Command|Option"
    r"|Windows|Win|Fn)"
)
# Before an initial at the beginning of a sentence, these are no first name: "As F. Scott ..."
STARTERS = (
    "A|Am|An|And|Are|As|At|But|By|Can|Did|Do|Does|For|From|Had|Has|Have|How|I|If|In|Is|Like|Of|On|Or"
    "|Our|See|Since|So|That|The|Then|This|To|Was|Were|What|When|Where|Who|Why|With|Your"
    "|À|Au|Chez|Comme|De|Est|Et|Le|La|Les|Pour|Quand|Qui|Sur|Un|Une"
)
# Initials that are more likely no person's: "the U.S. Army"
_NO_INITIALS = r"(?:A\.?D|B\.?C|D\.C|E\.U|L\.A|M\.D|N\.Y|P\.O|P\. ?S|R\.I|U\.[AKNS]|V\.I)\."
# The parts of addresses: 5 Hill Road, Leeds; 12 bis rue de la Paix, 75002 Paris; Hauptstraße 12
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][^\W\d_]*+(?:['\u2019][^\W\d_]++)?+(?:-[^\W\d_]++){0,4}+"
_STREET = (
    r"(?:Ave(?:nue|\b\.?)|Boulevard|Close|Court|Crescent|Drive|Gardens?|Grove|Hill|Lane|Mews|Place"
    r"|R(?:oad|d\.?|ow)|Square|St(?:reet|\b\.?)|Terrace|Way)(?!\w)"
)
_RUE = (
    r"(?:(?:[Aa]v(?:enue|\.(?! J))|[Bb](?:oulevard|d\b\.?)|[Aa]llée|[Cc]hemin|[Ii]mpasse|[Pp]assage"
    r"|[Pp]lace|[Qq]uai|[Rr]oute|[Rr]ue|[Ss]quare) (?:(?:aux?|d[eu]s?|l[ae]s?) |[dl]['’]){0,3})"
)
_STRASSE = r"(?:(?:\w*er S|[\w-]*[Ss])tr(?:a(?:ß|ss)e|\.)|[\w-]*(?:[Ww]eg|[Aa]llee|platz))"
_SEAT = "(?:Arbeits|Fenster|Liege|Park|Sitz|Spiel|Steh|Stell|Studien)platz"
_YEAR = r"(?<!^)(?<!at |to |is )(?:19|20)\d\d\b"  # rather than the number of a house
_HOUSE = r"(?<![\w.,:/-])(?<![Ii]n )\d{1,5}+[A-GI-Za-gi-z]?+(?: (?:bis|ter))?+"
_CITY = rf"(?!\w\b){_CAPITAL}(?: {_CAPITAL}){{0,2}}"
_IN_CITY = (
    rf"(?:,? (?:\d{{4,5}} {_CITY}(?![\w-])|{_CITY},? [A-Z]{{2}} \d{{5}}(?:-\d{{4}})?\b"
    rf"|{_CITY} [A-Z]{{1,2}}\d[A-Z\d]? \d[A-Z]{{2}}\b)|, {_CITY}(?=[.!?;)]|$)|, [NS]\.?[EW]\b)?"
)
# The name of a kind is that of a group. An earlier one has precedence where both begin.
_KINDS = {
    "code": r"`[^`\n]++`",
    "placeholder": r"\{\{[^{}\n]{0,200}+\}\}|[$#@]\{[^{}\n]{0,200}+\}"
    r"|\{\s*+\w++\s*+,(?:[^{}\n]|\{[^{}\n]*+\})*+\}|\{[\w.:!,\[\]-]{0,60}+\}"
    r"|%%\w*+|(?<!\d)%(?:\(\w++\)|\d++\$)?[-+#0']*+(?:\d++|\*)?+(?:\.(?:\d++|\*))?"
    rf"(?:(?:hh?|ll?|[zjtL])?[sdifuxXeEgGcropaA@](?:{_BEHIND})?+(?!\w)|<PRI\w++>)"
    r"|%(?:\d++\$)?#@\w++@|%(?:L?\d{1,2}|n)(?!\w)"
    r"|(?<!\d)%[A-Za-z]\w++%|__[A-Z]\w*+__|\$[A-Za-z_]\w++|\[\[[^\[\]\n]{1,80}+\]\]",
    "tag": r"</?[A-Za-z][\w:-]*+(?:\s[^<>\n]{0,300}+)?/?>|&(?:[A-Za-z]\w{1,9}|#\w{1,7});",
    "link": r"(?:https?|ftp|file|mailto):/{0,2}[^\s<>\"“”«»]++|www\.[^\s<>\"“”«»]++"
    rf"|(?<![\w@.-])(?:[A-Za-z0-9][a-z0-9-]*+\.)+?{_TLD}(?![\w-]|\.\w)(?::\d{{2,5}})?+"
    r"(?:/[^\s<>\"“”«»]*+)?",
    "mail": r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++",
    "handle": r"(?<![\w@/])@[A-Za-z_]\w*+(?:(?:\.(?![A-Z])|-(?!(?:he|I|she|they|we|you|elle|ils?|je"
    r"|nous|tu|vous) ))\w++)*+(?:@\w++(?:[.-]\w++)*+)?+"
    r"|(?<![\w&#/])\#\w*[A-Za-z_]\w*+",
    "path": r"(?<![\w/])(?:~|\.{1,2})?(?:/[\w.@+-]++){2,}+/?|(?<![\w/])(?:~|\.{1,2})/[\w.@+/-]++"
    rf"|\b[A-Za-z]:\\[^\s<>\"]++|(?<![\w.-])[\w-]++(?:\.[\w-]++)*?\.{_FILE}\b",
    "identifier": r"\b\w++(?:\.\w++){0,4}+\(\)|(?<![\w-])--[a-z][\w-]++|(?<![^\s(\[|'\"‘“])"
    r"-(?!(?:I|(?<!.-)[A-Z])\s[A-Z]?[a-z]|.['’]\w)[A-Za-z](?![^\s)\]|/,;:.=!?'\"’”])"
    r"|\b[A-Za-z]++(?:_[A-Za-z0-9]++)++\b|\b[a-z]++(?:[A-Z][a-z0-9]++)++\b",
    "keys": rf"\b{_MODIFIER}"
    rf"(?:\s?\+\s?(?:{_MODIFIER}|F\d{{1,2}}|[A-Z][a-z]{{1,8}}|[A-Za-z\d])(?!\w)){{1,4}}+",
    "formula": rf"(?<![\w.,/]){_TERM}(?:[ \u00a0]?[-\u2212+x×X*÷/:][ \u00a0]?{_TERM}){{1,4}}+"
    rf"[ \u00a0]?=[ \u00a0]?{_TERM}(?![\w^/:]|[.,]\d)"
    r"|(?<![\w.,/])\d{1,5}+(?:[x×]\d{1,5}+){1,2}+(?:cm|mm|m|px|p)?+(?![\w^/:-]|[.,]\d)",
    "reference": r"(?<![\w#])(?:\d{1,6}-[A-Z]{1,2}(?:/\d{1,6}|\d{1,4}[A-Z]?)"
    r"|\d{2,6}/[A-Z]{2,5}-\d{1,6}|[A-Z]{1,5}[-/]\d{1,6}/\d{1,6}"
    r"|[A-Z]{1,3}/\d{1,6}|[A-Z]{1,2}&[A-Z]{1,2}|(?<=\()(?:[A-Z]/[A-Z]|[A-Z]{2,4} \d{1,5})(?=\)))"
    r"(?![\w/-])",
    "name": rf"\b(?!(?:{STARTERS}) )[A-Z][^\W\d_]+ [A-Z]\.(?: ?[A-Z]\.)? [A-Z][^\W\d_]+\b"
    rf"|(?<![\w.])(?!{_NO_INITIALS})[A-Z]\.(?:[ -]?[A-Z]\.){{1,3}} ?[A-Z][^\W\d_]+\b"
    r"|(?<=[a-zß-ÿ,] )[A-Z]\. [A-Z][^\W\d_]+\b",
    "version": r"\bv\d++(?:\.\d++)*+(?:-[\w.]++)?|\b\d++(?:\.\d++){2,}+(?:[-+][\w.]++)?",
    "date": r"\b\d{4}-\d{1,2}-\d{1,2}(?:T[\d:.]++(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\b\d{1,2}([/.-])\d{1,2}\1\d{2,4}\b|\b\d{1,2}/\d{1,2}\b",
    "time": r"\b\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d++)?(?!\d)"
    r"(?:\s?[ap](?:m\b|\.m\.(?=\s++[a-z])|\.m\b))?",
    "location": rf"(?:(?!{_YEAR}){_HOUSE} |(?<=(?:19|20)\d\d ))(?:{_CAPITAL} ){{1,4}}?{_STREET}"
    rf"{_IN_CITY}|(?:{_HOUSE},? |(?<=:\d\d )|(?<=:\d\d, )){_RUE}{_CAPITAL}"
    rf"(?: (?:d[eu] |des |la )?{_CAPITAL}){{0,3}}"
    rf"(?: à {_CAPITAL}|{_IN_CITY})"
    rf"|(?<![\w-])(?!{_SEAT})[A-ZÄÖÜ]{_STRASSE} \d{{1,4}}[a-z]?\b{_IN_CITY}",
    "phone": r"(?:\+\d{1,3}[ .-]?)?\(\d{1,5}\)[ .-]?\d{2,5}(?:[ .-]\d{2,5}){0,5}\b"
    r"|\+\d{1,3}(?:[ .-]\d{1,5}){2,6}\b|\b\d{2,5}(?:[ .-]\d{2,5}){3,6}\b"
    r"|\b1-\d{3}-\d{3}-\d{4}\b|\b\d{3}[ .-]\d{3}[ .-]\d{4}\b|\b\d{3}-\d{4}\b|\+\d{7,15}\b",
    "number": r"(?<![\w.,])\d{1,4} av\. J\.-C(?:\.(?=[ ,;:)]))?"
    r"|(?<![\w.,])\d{1,2}(?:[ap]m)?[-\u2013]\d{1,2}[ap]m\b"
    r"|(?<![\w.,])\dm\d\d(?!\w)"
    r"|(?<![\w.,])\d{1,2}h(?:\d\d)?(?:[-\u2013]\d{1,2}h(?:\d\d)?|/\d\d)(?!\w)"
    r"|(?<![\w.,])\d++(?:[.,]\d++)?+[kK](?!\w)|(?<![\w.,])\d++[.,]\d++(?:ms|s|min|h)(?!\w)"
    rf"|(?<![\w.,])(?:[-+\u2212±#](?=\d))?(?:{_MONEY}\s?)?{_DIGITS}(?:[-\u2013](?:{_MONEY}\s?)?"
    rf"\d++(?:[.,]\d++)?+(?:(?=\s?(?:{_UNITS})(?!\w))|(?![-\w])))?"
    rf"(?:\s?(?:{_UNITS})(?!\w)|\s?{_MONEY}|[½¼¾⅓⅔])?(?![\w])",
    "sign": r"\b(?:[A-Z]++\d|\d++[A-Z])[A-Z0-9]*+(?:-[A-Z0-9]++){0,6}+\b"
    r"|\b[A-Z]{1,5}-\d++[A-Z0-9]*+\b|\b[A-Za-z\u00c0-\u024f]{2,}+\d[A-Za-z\d]*+(?:[.,]\d++){0,6}+\b",
}
SCAN = LazyPattern(
    "|".join(f"(?P<{kind}>{shape})" for kind, shape in _KINDS.items()).replace("\\1", "(?:[/.-])")
)
_BEYOND = r"\u0000-\u024f\u1e00-\u1eff"  # letters of the Latin script
_FOREIGN_WORD = rf"(?![{_BEYOND}])[^\W\d_][^\s{_BEYOND}\u2000-\u206f\u3000-\u3003\uff01-\uff1f]*+"
# A letter of those scripts, but none in a name: {名前}, %(名前)s, /名前/, 名前.txt
TOUCH = LazyPattern(
    rf"(\{{[^{{}}\n]{{0,200}}+\}}|%\(\w++\)|(?<=/)\w++(?=/)|(?<![\w.-])[\w-]++\.{_FILE}\b)"
    rf"|(?!\d)[{TOUCHING}]"
)
EDGE = '"'  # no part that is repeated goes beyond it
COUNTED = "月월十百千万萬亿億兆십백천만억조"  # a number before these may be a word elsewhere
FOREIGN = LazyPattern(rf"{_FOREIGN_WORD}(?: {_FOREIGN_WORD})*+")  # words of another script
HINT = LazyPattern(r"[\d@#/\\{}<>%`_$&+\[]|--|-[A-Za-z]\b|\w\.\w|[A-Z]\. [A-Z]|\w\(\)|[a-z][A-Z]")
TRAILING = ".,;:!?…'’\"”»"
BRACKETS = {")": "(", "]": "[", "}": "{"}

WORD = LazyPattern(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
POSSESSIVE = LazyPattern(r"['’]s$|['’]$")
BEGINNING = '.!?:;…"“”«»„([¿¡—–-'
LEAST_STEM, LONGEST_ENDING = 4, 3  # letters of a known word, and of what may follow it
OFTEN_ENDING = 0.001  # of the known words have an ending
CAPITAL_NOUNS = ("de", "lb", "gsw", "nds")  # languages that write each noun with a capital


class Verbatim(NamedTuple):
    """A part of a text that its translation repeats."""

    start: int
    end: int
    kind: str  # a key of _KINDS, or "name", "location", "woman" or "foreign"


def find_verbatim(text: str) -> list[Verbatim]:
    """Return the parts with a shape of their own, in order: links, placeholders, numbers."""
    if not HINT.search(text):
        return []
    verbatim = list[Verbatim]()
    apart = text if text.isascii() else TOUCH.sub(lambda at: at[1] or EDGE, text)
    for match in SCAN.finditer(apart):
        kind, (start, end) = str(match.lastgroup), match.span()
        if kind == "number" and text[end : end + 1] in COUNTED and end < len(text):
            continue
        if kind in ("link", "mail", "path"):
            end = start + len(_strip_end(match[0]))
        if end > start:
            verbatim.append(Verbatim(start, end, kind))
    return verbatim


def find_names(
    text: str,
    is_name: Callable[[str, bool], bool],
    taken: Sequence[Verbatim] = (),
    belongs: Callable[[str, bool], bool] = lambda word, is_first: False,
    follows: Callable[[str, bool], bool] = lambda word, is_named: False,
) -> Iterator[Verbatim]:
    """Yield the words with a capital that are names.

    is_name: says so of a word, and is told whether it is the first of a sentence. taken: what is
    not looked at. Names that follow each other with a space between are one, together with words
    that are no names for themselves but belong to one, such as Mary in Mary Okonkwo. follows: says
    of a word behind a first name that all are one name, such as Woods in Tiger Woods, and is told
    whether that first name is one by itself.
    """
    last: Verbatim | None = None
    is_named = False
    others, other = iter(taken), Verbatim(-1, -1, "")
    for word in WORD.finditer(text):
        start, own = word.start(), POSSESSIVE.sub("", word[0])
        end = start + len(own)
        if not has_capital(own) or len(own) < 2:
            continue
        while other.end <= start and (following := next(others, None)):
            other = following
        if start < other.end and other.start < end:
            continue
        begins = is_first(text, start)
        is_next = last is not None and text[last.end : start] in (" ", "\u00a0")
        is_own = is_name(own, begins)
        if last and is_next and not is_own:
            first = text[last.start : last.end].replace("\u00a0", " ").partition(" ")[0]
            is_own = first in read_first_names() and follows(own, is_named)
        if not is_own and not belongs(own, begins):
            continue
        if last and is_next:
            last, is_named = last._replace(end=end), is_named or is_own
            continue
        if last and is_named:
            yield last
        last, is_named = Verbatim(start, end, "name"), is_own
    if last and is_named:
        yield last


def is_first(text: str, start: int) -> bool:
    """Return whether a word begins a sentence, where any word has a capital."""
    while start and text[start - 1].isspace():
        start -= 1
    return not start or text[start - 1] in BEGINNING


def is_new_word(
    word: str, known: Collection[str], is_first: bool, language: str | None = None
) -> bool:
    """Return whether a word, in any case, is none of the known ones, which are in small letters.

    Of the first word of a sentence, another form of a known one is no new word either.
    """
    small = to_small(word, language).replace("\u2019", "'")
    if small in known or all(part in known for part in small.split("-")):
        return False
    return not (is_first and _is_inflected(small, known))


@cache
def read_first_names() -> frozenset[str]:
    """Return frequent first names, which a model may have met and still cannot write."""
    return frozenset(read_text(Path(__file__).with_name("first_names.txt")).split())


def _is_inflected(word: str, known: Collection[str]) -> bool:
    """Return whether a word is a known one with another ending."""
    stems = (word[: -len(each)] for each in list_endings(frozenset(known)) if word.endswith(each))
    return any(len(stem) >= LEAST_STEM and stem in known for stem in stems)


@cache
def list_endings(known: frozenset[str]) -> tuple[str, ...]:
    """Return the endings that many known words have more than other known words."""
    counts = Counter(
        word[-cut:]
        for word in known
        for cut in range(1, LONGEST_ENDING + 1)
        if len(word) - cut >= LEAST_STEM and word[:-cut] in known
    )
    least = OFTEN_ENDING * len(known)
    return tuple(sorted(ending for ending, count in counts.items() if count >= least))


def _strip_end(text: str) -> str:
    """Return a link without the marks of the sentence behind it."""
    open_brackets = {behind: text.count(before) for behind, before in BRACKETS.items()}
    closed = {behind: text.count(behind) for behind in BRACKETS}
    end = len(text)
    while end and (mark := text[end - 1]) in TRAILING + "".join(BRACKETS):
        if mark in BRACKETS:
            if closed[mark] <= open_brackets[mark]:
                break
            closed[mark] -= 1
        end -= 1
    return text[:end]
