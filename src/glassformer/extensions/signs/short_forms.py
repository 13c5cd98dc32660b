"""Short forms: 5 min is read as 5 minutes, the 2nd floor as the second floor, idk as I don't know.

Those of English, French and German. Beside a number, a network has to know the words; those of
people in a hurry are read as words unless the network knows them as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from glassformer.text.patterns import LazyPattern

LEAST_CASED = 3  # letters
Words = Mapping[str, tuple[str, str]]  # of a short form: for one, and for several
_FREE = r"(?<![\w:.,/\u2013-])"
_SPACE = r"[ \u00a0\u202f]?"
_LAST = r"(?![\w/\u2013-])"
_STOP = r"(?:\.(?= [a-zß-ÿ]))?"  # of the short form, not of the sentence

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
        "h": ("heure", "heures"),
    },
    "de": {
        "sek": ("Sekunde", "Sekunden"),
        "min": ("Minute", "Minuten"),
        "std": ("Stunde", "Stunden"),
    },
}
HALVES = {"en": ("am", "pm")}  # of a day: 9am, 9 PM
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
        **dict.fromkeys(("1ère", "1re"), "première"),
        **dict.fromkeys(("2e", "2ème"), "deuxième"),
        **dict.fromkeys(("3e", "3ème"), "troisième"),
        **dict.fromkeys(("4e", "4ème"), "quatrième"),
        **dict.fromkeys(("5e", "5ème"), "cinquième"),
        **dict.fromkeys(("6e", "6ème"), "sixième"),
        **dict.fromkeys(("7e", "7ème"), "septième"),
        **dict.fromkeys(("8e", "8ème"), "huitième"),
        **dict.fromkeys(("9e", "9ème"), "neuvième"),
        **dict.fromkeys(("10e", "10ème"), "dixième"),
    },
}
# What stands before an ordinal that is no day of a month.
BEFORE_ORDINALS = {
    "en": "the a my your his her its our their every for in on",
    "fr": "le la au du ma mon ta ton sa son notre votre leur un une chaque en",
}
TIMES = {
    "fr": rf"{_FREE}(?P<before>)(?P<hour>\d{{1,2}}){_SPACE}h{_SPACE}(?P<minute>[0-5]\d){_LAST}"
}

TYPED = {
    "en": {
        "2day": "today",
        "afaik": "as far as I know",
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
        "np": "no problem",
        "nvm": "never mind",
        "nyt": "night",
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
        "ajd": "aujourd'hui",
        "auj": "aujourd'hui",
        "bcp": "beaucoup",
        "bjr": "bonjour",
        "bsr": "bonsoir",
        "dsl": "désolé",
        "jsp": "je ne sais pas",
        "mtn": "maintenant",
        "pcq": "parce que",
        "ptet": "peut-être",
        "qd": "quand",
        "qqch": "quelque chose",
        "qqn": "quelqu'un",
        "rdv": "rendez-vous",
        "stp": "s'il te plaît",
        "svp": "s'il vous plaît",
        "tjs": "toujours",
        "tkt": "ne t'inquiète pas",
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
_TYPED = r"(?<![\w'’@#&/.-])(?P<before>)(?P<short>{})(?![\w'’@&/-])"


class ShortForm(NamedTuple):
    """Short forms with one pattern, which has the groups `before` and `short`, or that of a time.

    The groups of a time of the day are `before`, `hour` and `minute`.
    """

    pattern: LazyPattern
    words: Words | None = None  # for each short form: behind 1, and behind other numbers
    is_typed: bool = False  # not read as words if the network knows it

    def read(self, match: re.Match[str]) -> str:
        """Return what a network reads for a match of the pattern; "" if it knows no words."""
        before = match["before"]
        if not self.words:
            words = f"{int(match['hour'])}:{match['minute']}"
        elif not (words := self.words.get(match["short"].lower(), ("", ""))[before != "1"]):
            return ""
        if self.is_typed and match["short"][0].isupper():
            words = words[0].upper() + words[1:]
        return f"{before} {words}" if before else words


def list_short_forms(base: str | None, has_token: Callable[[str], bool]) -> Iterator[ShortForm]:
    """Yield the short forms of a language whose words a network knows.

    base: the code of the language, without a country.
    """
    language = base or ""
    halves = {half: (half, half) for half in HALVES.get(language, ())}
    ordinals = {short: (word, word) for short, word in ORDINALS.get(language, {}).items()}
    first = "|".join(map(_write_cases, BEFORE_ORDINALS.get(language, "").split()))
    for before, words, behind in (
        (rf"{_FREE}(?P<before>\d{{1,3}}(?:[.,]\d)?){_SPACE}", UNITS.get(language, {}), _STOP),
        (rf"{_FREE}(?P<before>\d{{1,2}}){_SPACE}", halves, ""),
        (rf"(?<!\w)(?P<before>{first}) ", ordinals, r"(?= (?!of [A-Z])\w)"),
    ):
        known = {short: both for short, both in words.items() if _knows(both, has_token)}
        if known:
            shorts = "|".join(map(_write_cases, sorted(known, reverse=True)))
            pattern = rf"{before}(?P<short>{shorts}){_LAST}{behind}"
            yield ShortForm(LazyPattern(pattern), known)
    if language in TYPED:
        typed = {short: (words, words) for short, words in TYPED[language].items()}
        shorts = "|".join(map(_write_typed, sorted(typed, reverse=True)))
        yield ShortForm(LazyPattern(_TYPED.format(shorts)), typed, is_typed=True)
    if language in TIMES:
        yield ShortForm(LazyPattern(TIMES[language]))


def _knows(words: tuple[str, str], has_token: Callable[[str], bool]) -> bool:
    return all(has_token(f" {word}") for word in words)


def _write_cases(word: str) -> str:
    """Return a pattern of a word as it is written, with a capital, or in capitals."""
    return word if word[0].isdigit() else rf"{word}|{word.capitalize()}|{word.upper()}"


def _write_typed(short: str) -> str:
    """Return a pattern of a short form; one of two letters may be something else in capitals."""
    return _write_cases(short) if len(short) >= LEAST_CASED else short
