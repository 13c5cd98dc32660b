"""Inflection: the forms of a word, made from its column of the lexicon."""

from __future__ import annotations

import re
from collections.abc import Callable

Forms = dict[str, tuple[str, ...]]  # a form's name -> its cells, one for each agreement

# Irregular verbs: the past, and the -ing form where a rule would get it wrong.
ENGLISH = {
    "bite": "bit biting",
    "break": "broke",
    "buy": "bought",
    "catch": "caught",
    "draw": "drew",
    "eat": "ate",
    "fall": "fell",
    "find": "found",
    "forget": "forgot forgetting",
    "hear": "heard",
    "lose": "lost",
    "meet": "met",
    "read": "read",
    "run": "ran running",
    "see": "saw seeing",
    "sell": "sold",
    "sing": "sang",
    "sleep": "slept",
    "think": "thought",
    "write": "wrote",
}
# The present and the participle of irregular verbs; below, the endings of regular ones.
FRENCH = {
    "acheter": "achète achètes achète achetons achetez achètent acheté",
    "apprendre": "apprends apprends apprend apprenons apprenez apprennent appris",
    "courir": "cours cours court courons courez courent couru",
    "dormir": "dors dors dort dormons dormez dorment dormi",
    "effrayer": "effraie effraies effraie effrayons effrayez effraient effrayé",
    "lire": "lis lis lit lisons lisez lisent lu",
    "lécher": "lèche lèches lèche léchons léchez lèchent léché",
    "ouvrir": "ouvre ouvres ouvre ouvrons ouvrez ouvrent ouvert",
    "voir": "vois vois voit voyons voyez voient vu",
    "écrire": "écris écris écrit écrivons écrivez écrivent écrit",
}
ENDINGS = {
    "er": "e es e ons ez ent é",
    "ir": "is is it issons issez issent i",
    "re": "s s - ons ez ent u",
}
AUXILIARIES = {"avoir": "ai as a avons avez ont", "être": "suis es est sommes êtes sont"}


def plain(text: str) -> Forms:
    return {"": (text,)}


def _plural(noun: str, language: str) -> str:
    if language == "en":
        if re.search(r"[^aeiou]y$", noun):
            return noun[:-1] + "ies"
        return noun + ("es" if re.search(r"(s|x|z|ch|sh|[^aeio]o)$", noun) else "s")
    if noun[-1] in "sxz":
        return noun
    if noun.endswith("al"):
        return noun[:-2] + "aux"
    return noun + ("x" if noun.endswith("eau") else "s")


def _english_noun(text: str) -> Forms:
    singular, *plural = text.split("/")
    cells = (singular, *(plural or [_plural(singular, "en")]))
    return {"": cells, "low": tuple(cell.lower() for cell in cells)}


def _french_noun(text: str) -> Forms:
    text, gender = text[:-2], text[-1]
    if gender not in "mf":
        raise ValueError(f"lexicon.toml: no gender: {text} {gender}")
    singular, *plural = text.split("/")
    return {"": (singular, *(plural or [_plural(singular, "fr")]))}


def _chinese_noun(text: str) -> Forms:
    measure, _, noun = text.rpartition(" ")
    return {"": (noun,), "measure": (measure,)}


def _english_adjective(text: str) -> Forms:
    base, *comparative = text.split("/")
    return {"": (base,), "low": (base.lower(),), "er": (*comparative, f"more {base}")[:1]}


def _french_adjective(text: str) -> Forms:
    """Return masculine, feminine and their plurals; regular adjectives add -e and -s."""
    cells = text.split("/")
    masculine, _, _ = cells[0].partition(">")
    if len(cells) == 1:
        cells.append(masculine if masculine.endswith("e") else masculine + "e")
    if len(cells) == 2:
        cells += [_plural(masculine, "fr"), _plural(cells[1], "fr")]
    return {"": tuple(cells)}


def _chinese_adjective(text: str) -> Forms:
    """Return the forms: stem, attribute (大的), usual attribute (小, 蓝), predicate, negation.

    The predicate is 很大 or 是蓝色的.
    """
    stem, *short = text.split("/")
    coloured = stem.endswith("色")
    return {
        "": (stem,),
        "de": (stem + "的",),
        "by": (stem[:-1] if coloured else (*short, stem + "的")[0],),
        "is": (f"是{stem}的" if coloured else "很" + stem,),
        "not": (f"不是{stem}的" if coloured else "不" + stem,),
    }


def _english_verb(text: str) -> Forms:
    """Return base, present, past and -ing form; those of regular verbs are made by rule."""
    base, rest = text, ENGLISH.get(text, "").split()
    stem = base.removesuffix("e")
    third = _plural(base, "en")
    past = rest[0] if rest else (base[:-1] + "ied" if third.endswith("ies") else stem + "ed")
    ing = rest[1] if rest[1:] else stem + "ing"
    return {
        "": (base,),
        "s": (base, base, third, base, base, base),
        "past": (past,),
        "ing": (ing,),
    }


def _french_verb(text: str) -> Forms:
    """Return the forms of a verb; `to` is the preposition that it governs.

    With être, the participle agrees with the subject.
    """
    head, _, preposition = text.partition(" + ")
    infinitive, _, auxiliary = head.partition(" ")
    *present, participle = FRENCH.get(infinitive, "").split() or _conjugate(infinitive)
    agreeing = _french_adjective(participle)[""]
    return {
        "": (infinitive,),
        "s": tuple(present),
        "aux": tuple(AUXILIARIES[auxiliary or "avoir"].split()),
        "pp": agreeing if auxiliary == "être" else agreeing[:1],
        "agreed": agreeing,
        "to": (preposition,),
        "tu": (re.sub("es$", "e", present[1]),),
        "vous": (present[4],),
    }


def _conjugate(infinitive: str) -> list[str]:
    """Return present and participle of a regular verb; g and c stay soft: mangeons, commençons."""
    stem, ending = infinitive[:-2], infinitive[-2:]
    forms = [stem + part.strip("-") for part in ENDINGS[ending].split()]
    if ending == "er":
        forms[3] = re.sub("cons$", "çons", re.sub("gons$", "geons", forms[3]))
    return forms


# category -> language -> the function that reads the column; without one, a word has one form.
PARADIGMS: dict[str, dict[str, Callable[[str], Forms]]] = {
    "noun": {"en": _english_noun, "fr": _french_noun, "zh": _chinese_noun},
    "adjective": {"en": _english_adjective, "fr": _french_adjective, "zh": _chinese_adjective},
    "job": {"en": _english_noun, "fr": _french_adjective},
    "verb": {"en": _english_verb, "fr": _french_verb},
}
