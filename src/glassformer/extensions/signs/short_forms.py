"""Short forms: 5 min is read as 5 minutes, the 2nd floor as the second floor, idk as I don't know.

Those of English, French and German. A network has to know what they are read as; those that it
knows as they are stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html.entities import name2codepoint
from itertools import permutations
from typing import Literal, NamedTuple

from glassformer.extensions.days.dates import read_day_formats
from glassformer.text.patterns import LazyPattern

Words = Mapping[str, tuple[str, str]]  # of a short form: for one, and for several
LEAST_CASED = 3  # letters of one that may have a capital: Ty is a name
_FREE = r"(?<![\w:.,/\u2013-])"
_SPACE = r"[ \u00a0\u202f]?"
_LAST = r"(?![\w/\u2013-])"
_STOP = r"(?:\.(?= [a-zß-ÿ]))?"  # of the short form, not of the sentence
_NUMBER = r"(?P<before>\d{1,3}(?:[.,]\d{1,2})?(?:[-\u2013]\d{1,3})?)"

UNITS: dict[str, Words] = {
    "en": {
        **dict.fromkeys(("sec", "secs"), ("second", "seconds")),
        **dict.fromkeys(("min", "mins"), ("minute", "minutes")),
        **dict.fromkeys(("h", "hr", "hrs"), ("hour", "hours")),
        **dict.fromkeys(("wk", "wks"), ("week", "weeks")),
        **dict.fromkeys(("yr", "yrs"), ("year", "years")),
        "ft": ("foot", "feet"),
        **dict.fromkeys(("lb", "lbs"), ("pound", "pounds")),
    },
    "fr": {
        "sec": ("seconde", "secondes"),
        **dict.fromkeys(("min", "mn"), ("minute", "minutes")),
        **dict.fromkeys(("h", "H"), ("heure", "heures")),
    },
    "de": {
        "sek": ("Sekunde", "Sekunden"),
        "min": ("Minute", "Minuten"),
        "std": ("Stunde", "Stunden"),
    },
}
ORDINALS = {
    "en": {
        "1st": "first",
        "2nd": "second",
        "3rd": "third",
        "4th": "fourth",
        "5th": "fifth",
        "6th": "sixth",
        "7th": "seventh",
        "8th": "eighth",
        "9th": "ninth",
        "10th": "tenth",
    },
    "fr": {
        "1er": "premier",
        **dict.fromkeys(("1ère", "1re", "1ere"), "première"),
        **dict.fromkeys(("2e", "2ème", "2eme", "2nd", "2nde"), "deuxième"),
        **dict.fromkeys(("3e", "3ème", "3eme"), "troisième"),
        **dict.fromkeys(("4e", "4ème", "4eme"), "quatrième"),
        **dict.fromkeys(("5e", "5ème", "5eme"), "cinquième"),
        **dict.fromkeys(("6e", "6ème", "6eme"), "sixième"),
        **dict.fromkeys(("7e", "7ème", "7eme"), "septième"),
        **dict.fromkeys(("8e", "8ème", "8eme"), "huitième"),
        **dict.fromkeys(("9e", "9ème", "9eme"), "neuvième"),
        **dict.fromkeys(("10e", "10ème", "10eme"), "dixième"),
    },
}
WORDS = ("am", "h", "sec")  # in these languages, though not as short forms
DAYS = {
    "en": {
        **{"Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday"},
        **{"Thu": "Thursday", "Thur": "Thursday", "Thurs": "Thursday", "Fri": "Friday"},
        **{"Sat": "Saturday", "Sun": "Sunday"},
    }
}
_OF_SPANS = (  # Mon-Fri
    r"(?<![\w-])(?<!from )(?<!the )(?P<before>)(?P<short>{})"
    r"(?=\s*(?:[.,;!?)]|$)| (?:and|but|at|in|only|except)\b)"
)
_OF_MONTHS = r"(?<![\w-])(?P<before>)(?P<short>{})\.?(?=[ ]\d{{1,2}}\b)"
_OF_DAYS = r"(?<![\w-])(?P<before>)(?P<short>{})\.(?=[ ][a-z\d])"
HALVES = {"en": ("am", "pm")}  # of a day: 9am, 9 PM
_HALF = r"(?:[ap]m(?! I\b)|[AP]M|[ap]\.m\.(?=\s+[a-z])|[ap]\.m(?!\w))"
# Times of the day; those of English for languages that count to 24, which lose the afternoon else.
TIMES = {
    "en": rf"(?P<before>)(?P<hour>1[0-2]|0?[1-9])(?P<minute>){_SPACE}(?P<half>{_HALF})",
    "fr": rf"(?P<before>)(?P<hour>\d{{1,2}}){_SPACE}[hH]{_SPACE}(?P<minute>[0-5]\d)(?P<half>)",
}
_HOUR = rf"(?P<before>)(?P<hour>1\d|2[0-3]|0?[1-9]){_SPACE}[hH](?P<minute>)(?P<half>)"
# A network translates these, but loses them behind a day, and beside a time that is read otherwise.
_SMALL = rf"0?\d{_SPACE}(?:am|AM)"
_DAY = r"\d[/.]\d|\d(?:st|nd|rd|th)? (?:of )?(?:{0})\b|\b(?:{0})\.? (?:the )?\d"
# What has a time in front, which a network rather reads behind it: the bus at 7:30. In French, the
# bus of 7:30.
_OF = ("fr",)
_DETERMINERS = ("the", "The", "my", "My", "our", "Our", "your", "his", "her", "their", "a")
_TIMED = "|".join(rf"(?<=\b{each} )" for each in _DETERMINERS)
_NOUN = (
    "appointment|boat|bus|call|class|concert|express|ferry|film|flight|game|lesson|match|meeting"
    "|movie|news|performance|plane|reservation|session|show|tram|train"
)
TIMED = {
    "en": rf"(?:{_TIMED})(?P<before>)(?=\d{{1,2}}(?::|{_SPACE}[aApP]\.?[mM]))"
    rf"(?P<hour>1\d|2[0-3]|0?\d)(?::(?P<minute>[0-5]\d))?(?:{_SPACE}(?P<half>{_HALF}))?"
    rf" (?P<noun>{_NOUN})(?! (?:stop|station|schedule|ticket|tickets|time|times)\b)"
}
SHARP = {  # full hours, which are no durations
    "fr": (
        rf"(?<=\b[àÀ] ){_HOUR}",
        rf"(?<=\b[dD]e ){_HOUR}(?= à \d)",
        r"(?<=\b[àÀ] )(?P<before>)(?P<hour>1[3-9]|2[0-3]) heures(?P<minute>)(?P<half>)",
    )
}
PERCENT = {"en": ("percent", "of"), "fr": ("pour cent", "des|du|de")}  # and what follows it
ELIDING = ("fr",)
ELIDED = LazyPattern(r"(?<!\w)(?P<sign>[Dd]|[Qq]u)['\u2019](?P<name>[A-ZÀ-ÖØ-Þ][^\W\d_]+)")
TYPED = {
    "en": {
        "2day": "today",
        "afaik": "as far as I know",
        "and/or": "or",
        "bc": "because",
        "bcz": "because",
        "bday": "birthday",
        "bf": "boyfriend",
        "brb": "I'll be right back",
        "btw": "by the way",
        "coz": "because",
        "cya": "see you",
        "fyi": "for your information",
        "gf": "girlfriend",
        "gimme": "give me",
        "gonna": "going to",
        "gotta": "have to",
        "gr8": "great",
        "hafta": "have to",
        "hv": "have",
        "idc": "I don't care",
        "idk": "I don't know",
        "jk": "just kidding",
        "kinda": "kind of",
        "l8": "late",
        "l8r": "later",
        "lemme": "let me",
        "lmk": "let me know",
        "luv": "love",
        "m8": "mate",
        "msg": "message",
        "nite": "night",
        "nvm": "never mind",
        "omw": "on my way",
        "pic": "picture",
        "pics": "pictures",
        "plz": "please",
        "ppl": "people",
        "rn": "right now",
        "sorta": "sort of",
        "sry": "sorry",
        "tbh": "to be honest",
        "tho": "though",
        "thru": "through",
        "tmr": "tomorrow",
        "tmw": "tomorrow",
        "ttyl": "talk to you later",
        "ty": "thank you",
        "w/": "with",
        "w/o": "without",
        "wanna": "want to",
        "wknd": "weekend",
        "yea": "yes",
    },
    "fr": {
        "2main": "demain",
        "ajd": "aujourd'hui",
        "auj": "aujourd'hui",
        "bcp": "beaucoup",
        "bjr": "bonjour",
        "bsr": "bonsoir",
        "chui": "je suis",
        "chuis": "je suis",
        "dacc": "d'accord",
        "dsl": "désolé",
        "et/ou": "ou",
        "jcrois": "je crois",
        "jdois": "je dois",
        "jfais": "je fais",
        "jpense": "je pense",
        "jpeux": "je peux",
        "jsais": "je sais",
        "jsp": "je ne sais pas",
        "jsuis": "je suis",
        "jtm": "je t'aime",
        "jvais": "je vais",
        "jveux": "je veux",
        "mtn": "maintenant",
        "ojd": "aujourd'hui",
        "pcq": "parce que",
        "pk": "pourquoi",
        "ptet": "peut-être",
        "qd": "quand",
        "qq1": "quelqu'un",
        "qqch": "quelque chose",
        "qqn": "quelqu'un",
        "rdv": "rendez-vous",
        "slt": "salut",
        "stp": "s'il te plaît",
        "svp": "s'il vous plaît",
        "tjrs": "toujours",
        "tjs": "toujours",
        "tkt": "ne t'inquiète pas",
        "tlm": "tout le monde",
        "vrmt": "vraiment",
    },
    "de": {
        "evtl": "eventuell",
        "gn8": "gute Nacht",
        "hdl": "ich hab dich lieb",
        "iwann": "irgendwann",
        "iwas": "irgendwas",
        "iwie": "irgendwie",
        "iwo": "irgendwo",
        "mfg": "mit freundlichen Grüßen",
        "vllt": "vielleicht",
        "zb": "zum Beispiel",
    },
}
NOUNS = frozenset(
    ["bday", "bf", "gf", "luv", "m8", "msg", "nite", "pic", "pics", "ppl", "rdv", "wknd"]
)  # behind an article
CAPITALS = {  # that are nothing else, and no acronyms to be copied
    "en": ("AFAIK", "BRB", "BTW", "FYI", "IDK", "LMK", "NVM", "OMW", "TBH", "TTYL"),
    "fr": ("RDV", "STP", "SVP"),
}
STOPPED = {  # acronyms that are also written with a stop behind each letter, and other letters
    "en": (
        *("AC", "AD", "AI", "BA", "BBC", "BC", "BSc", "CEO", "CIA", "DC", "DIY", "DJ", "DNA", "EU"),
        *("FBI", "GPS", "HIV", "ID", "IQ", "IT", "LA", "MA", "MD", "MP", "MSc", "NGO", "NYC", "PC"),
        *("PE", "PhD", "PO", "PR", "RIP", "TV", "UFO", "UK", "UN", "US", "USA", "USSR", "VIP"),
    )
}
_STOPPED = r"(?<![\w.])(?P<before>)(?P<short>{})(?:\.(?=\W{{1,4}}\w))?(?!\w)"
_PART = LazyPattern("[A-Z][a-z]*")
_ARTICLES = ("a", "an", "the", "un", "une", "le", "la", "les", "das", "der", "die", "ein", "eine")
_NO_NOUN = "".join(rf"(?<!\b{each} )" for each in _ARTICLES)
_TYPED = r"(?<![\w@#&/.\\-])(?<!\d )(?P<before>)(?P<short>{})(?![\w@&/\\-]|['’](?!s\b)\w)"
# What entities of HTML name: marks, which are often written by number, and letters of Latin-1.
_MARKS = "\u00a0\"&'«»‘’“”„–—•…€™"
_LATIN = range(0xA0, 0x100)
_ENTITY = r"(?P<before>)(?P<short>&[A-Za-z#][A-Za-z\d]{1,7};)"
_LONE_AND = r"(?<=\S[ \u00a0])(?P<before>)(?P<short>&(?:amp|#38);)(?=[ \u00a0]\S)"


class ShortForm(NamedTuple):
    """Short forms with one pattern, which has the groups `before` and `short`, or that of a time.

    The groups of a time of the day are `before`, `hour`, `minute` and `half`; and `noun`, if the
    network reads it behind that.
    """

    pattern: LazyPattern
    words: Words | None = None  # for each short form: behind 1, and behind other numbers
    kind: Literal["numbered", "typed", "capitals"] = "numbered"
    joint: str = ""  # between a noun and the time that is read behind it
    beside: LazyPattern | None = None  # what the text has to have, too

    def read(self, match: re.Match[str]) -> str:
        """Return what a network reads for a match of the pattern; "" if it knows no words."""
        before = match["before"]
        if not self.words:
            hour, half = int(match["hour"]), (match["half"] or "").lower()
            hour = hour % 12 + 12 * half.startswith("p") if half else hour
            time = f"{hour}:{match['minute'] or '00'}"
            return f"{match['noun']} {self.joint} {time}" if self.joint else time
        short = match["short"]
        words = self.words.get(short) or self.words.get(short.lower()) or ("", "")
        result = words[before != "1"]
        is_first = self.kind == "capitals" and not match.start()
        if result and (is_first or (self.kind == "typed" and short[0].isupper())):
            result = result[0].upper() + result[1:]
        return f"{before} {result}" if before and result else result


def list_entities(ampersand: str) -> Iterator[ShortForm]:
    """Yield the entities of HTML in plain text, but for those of < and >, which would make tags.

    ampersand: what is read for a lone one.
    """
    lone = (ampersand, ampersand)
    yield ShortForm(LazyPattern(_LONE_AND), {"&amp;": lone, "&#38;": lone})
    named = {name: chr(code) for name, code in name2codepoint.items() if code in _LATIN}
    named |= {name: chr(code) for name, code in name2codepoint.items() if chr(code) in _MARKS}
    numbered = {
        number.format(ord(mark)): mark
        for mark in _MARKS
        for number in ("#{}", "#{:03}", "#x{:x}", "#x{:X}")
    }
    words = {f"&{each};": (mark, mark) for each, mark in (named | numbered | {"apos": "'"}).items()}
    yield ShortForm(LazyPattern(_ENTITY), words)


def list_typed(base: str | None) -> Iterator[ShortForm]:
    """Yield the short forms of a language that people type in a hurry, and those in capitals.

    base: the code of the language, without a country.
    """
    language = base or ""
    words = {short: (read, read) for short, read in TYPED.get(language, {}).items()}
    if words:
        nouns = _join_typed(each for each in words if each in NOUNS)
        others = _join_typed(each for each in words if each not in NOUNS)
        pattern = LazyPattern(
            _TYPED.format("|".join(filter(None, (rf"{_NO_NOUN}(?:{others})", nouns))))
        )
        yield ShortForm(pattern, words, "typed")
    if language in STOPPED:
        written = {".".join(_PART.findall(each)): (each, each) for each in STOPPED[language]}
        shorts = "|".join(map(re.escape, sorted(written, reverse=True)))
        yield ShortForm(LazyPattern(_STOPPED.format(shorts)), written, "capitals")
    if language in CAPITALS:
        pattern = LazyPattern(_TYPED.format("|".join(CAPITALS[language])))
        yield ShortForm(pattern, words, "capitals")


def list_numbered(
    base: str | None,
    target: str | None,
    is_word: Callable[[str], bool],
    has_token: Callable[[str], bool],
) -> Iterator[ShortForm]:
    """Yield the short forms of a language beside numbers, and those of times of the day.

    base, target: codes of the languages, without a country. is_word, has_token: whether the network
    has met a word, which is in small letters, and often. One that it has is no short form, unless
    it is another word, too.
    """
    language = base or ""
    if language in DAYS:
        for names, pattern in ((shorten_months(), _OF_MONTHS), (DAYS[language], _OF_DAYS)):
            both = {short: (name, name) for short, name in names.items()}
            yield ShortForm(LazyPattern(pattern.format("|".join(sorted(both, reverse=True)))), both)
        spans = dict(list_spans(DAYS[language]))
        yield ShortForm(LazyPattern(_OF_SPANS.format("|".join(sorted(spans, reverse=True)))), spans)
    if language in TIMES and (language, target) != ("en", "en"):
        pattern = TIMES[language] + _LAST
        other = f"{_FREE}(?!{_SMALL}){pattern}"
        yield ShortForm(LazyPattern(other))
        if months := _list_cases(list_months(language)):
            beside = LazyPattern(f"{_DAY.format('|'.join(months))}|{other}")
            yield ShortForm(LazyPattern(f"{_FREE}(?={_SMALL}){pattern}"), beside=beside)
        if language in TIMED:
            joint = "of" if target in _OF else "at"
            yield ShortForm(LazyPattern(f"{_FREE}{TIMED[language]}{_LAST}"), joint=joint)
    for pattern in SHARP.get(language, ()):
        yield ShortForm(LazyPattern(f"{_FREE}{pattern}{_LAST}"))
    percent, following = PERCENT.get(language, ("", ""))
    if percent and all(map(is_word, percent.split())):
        sign = rf"{_FREE}{_NUMBER}{_SPACE}(?P<short>%)(?= (?:{following})\b)"
        yield ShortForm(LazyPattern(sign), {"%": (percent, percent)})
    halves = {x: (half, half) for half in HALVES.get(language, ()) for x in (half, half.upper())}
    ordinals = {short: (word, word) for short, word in ORDINALS.get(language, {}).items()}
    before, behind = _write_days(list_months(language))
    for first, words, last in (
        (rf"{_FREE}{_NUMBER}{_SPACE}", UNITS.get(language, {}), _LAST + _STOP),
        (rf"{_FREE}(?P<before>\d{{1,2}}){_SPACE}", halves, _LAST),
        (rf"{before}{_FREE}(?P<before>)", ordinals, _LAST + behind),
    ):
        new = {
            short: both
            for short, both in words.items()
            if is_word(both[1].lower())
            and (short in WORDS or not (is_word(short) and has_token(f" {short}")))
        }
        if new:
            shorts = "|".join(map(_write_cases, sorted(new, reverse=True)))
            yield ShortForm(LazyPattern(rf"{first}(?P<short>{shorts}){last}"), new)


def list_months(language: str) -> list[str]:
    """Return the months of a language, the English ones also short: an ordinal beside is a day."""
    names = [*read_day_formats()[language].months] if language in ORDINALS else []
    return [*names, *shorten_months()] if language in DAYS else names


def list_spans(short_days: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield spans of days, with what is read for them: Mon-Fri, and Monday-Friday."""
    full = [*dict.fromkeys(short_days.values())]
    for names in (full, [day[:3] for day in full]):
        for (one, first), (two, last) in permutations(zip(names, full, strict=True), 2):
            for dash in "-\u2013":
                yield f"{one}{dash}{two}", (f"from {first} to {last}",) * 2


def shorten_months() -> dict[str, str]:
    """Return the short forms of English months, with the months."""
    names = {
        month[:3]: month for month in read_day_formats()["en"].months if len(month) > LEAST_CASED
    }
    return names | {"Sept": "September"}


def _write_days(months: list[str]) -> tuple[str, str]:
    """Return patterns of what no month stands before, and behind."""
    names = _list_cases(months)
    behind = ("", r"\.", " the") if "May" in months else ("",)
    before = "".join(rf"(?<!{each}{more} )" for each in names for more in behind)
    return before, rf"(?!\.? (?:of )?(?:{'|'.join(names)})\b)" if names else ""


def _list_cases(names: list[str]) -> list[str]:
    return [each for name in names for each in dict.fromkeys((name, name.lower()))]


def _write_cases(word: str) -> str:
    """Return a pattern of a word as it is written, and with a capital; with digits, in capitals."""
    other = word.upper() if word[0].isdigit() else word.capitalize()
    return word if len(word) == 1 or word.isdigit() else rf"{word}|{other}"


def _join_typed(shorts: Iterable[str]) -> str:
    """Return a pattern of short forms; one of two letters may be something else with a capital."""
    return "|".join(
        _write_cases(each) if len(each) >= LEAST_CASED else each
        for each in sorted(shorts, reverse=True)
    )
