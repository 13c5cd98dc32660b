"""The scripts of languages, by which two sides that were exchanged are seen without their words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from glassformer.text.spacing import name_base

from .characters import LATIN, Scripts
from .characters import NAMES as SCRIPTS
from .ragged import Array

HALF = 0.5  # of the lines with letters on both sides: more have to be exchanged
MOST = 0.9  # of those that are either exchanged or as they should be
NEARLY_ALL = 0.8  # of the letters of a line

# Languages by script; one that has been printed in several stands in each of them.
_LANGUAGES = """
Latin: af ak ast ay az bbj bem bi bm br bs ca ceb ch co crh cs cy da de din dsb dyu ee efi en eo es
Latin: et eu fat ff fi fil fj fo fon fr fur fy ga gaa gd gl gn gom gsw gv ha haw hil hmn hr hsb ht
Latin: hu ia id ig ilo is it iu jv kab kac kam kg kha ki kk kl kmb kmr ku kv kw ky la lb lg li ln lt
Latin: lua luo lus lv mg mh mi mni mos ms mt nah nap nb nds nl nn no nr nso nv ny oc oj om pag pam
Latin: pap pcm pl pt qu quc quy rm rn ro rw sat sc scn se sg shn sk sl sm sn so sq sr ss st su sv sw
Latin: swc szl tet tg tiv tk tl tn to tpi tr ts tt tum tw ty tzm ug umb uz ve vi wa war wo xh yo yua
Latin: za zu zza cr chr
Cyrillic: ab av az ba be bg bs ce crh cv kk ku kv ky mk mn os ro ru sah sr tg tk tt tyv udm ug uk
Cyrillic: uz
Arabic: ar az ckb crh dv fa ff ha id jv kab kk kmr ks ku ky ms pa ps sd so su sw tg tk tr tt ug ur
Arabic: uz wo yo zza
Devanagari: bho brx gom hi ks mai mr ne new pi sa sat sd
Bengali: as bn bpy mni sat
Gurmukhi: pa
Gujarati: gu
Oriya: or sat
Tamil: ta
Telugu: te
Kannada: gom kn
Malayalam: ml
Sinhala: si
Thai: th
Lao: lo
Tibetan: bo dz
Myanmar: my rki shn mnw kac
Georgian: ka xmf os ab
Armenian: hy
Greek: el
Hebrew: he yi
Hangul: ko
Han: zh yue wuu lzh ja ko za
Kana: ja
Ethiopic: am gez om ti tig
Khmer: km
Mongolian: mn
Canadian_Aboriginal: cr iu oj
Cherokee: chr
Nko: nqo bm dyu
Ol_Chiki: sat
Thaana: dv
Tifinagh: kab tzm zgh
Meetei_Mayek: mni
Yi: ii
Javanese: jv
Sundanese: su
Newa: new
Tai_Tham: nod
"""


@cache
def read_home_scripts() -> dict[str, Scripts]:
    """Return the scripts that each language is written in, by its code."""
    homes: dict[str, Scripts] = {}
    for row in _LANGUAGES.split("\n"):
        script, _, codes = row.partition(": ")
        for code in codes.split():
            homes[code] = homes.get(code, frozenset()) | {SCRIPTS.index(script)}
    return homes


def find_home_scripts(language: str | None) -> Scripts:
    """Return the scripts of a language; none if they are unknown, or if its code names one."""
    parts = (language or "").replace("_", "-").split("-")
    if any(len(part) == 4 and part.isalpha() for part in parts[1:]):
        return frozenset()
    return read_home_scripts().get(name_base(language), frozenset())


def are_exchanged(counts: Sequence[Array], languages: Sequence[str | None]) -> bool:
    """Return whether most lines are in the script of the other side's language, and not in theirs.

    counts: the letters of each line by script, for both sides. A language in Latin letters alone is
    enough, for its text is hardly printed in others; of two more, neither may be in its script,
    since text of any language may be written in Latin letters.
    """
    homes = [find_home_scripts(each) for each in languages]
    clear = [side for side in (0, 1) if homes[side] == {LATIN}]
    if not clear and not all(homes):
        return False
    shares = [[_measure_share(side, home) for home in homes] for side in counts]
    known = [side for side in (0, 1) if homes[side]]
    straight = np.logical_and.reduce([shares[side][side] > NEARLY_ALL for side in known])
    exchanged = np.logical_and.reduce(
        [shares[1 - side][side] > NEARLY_ALL for side in known]
        + [shares[side][side] < 1 - NEARLY_ALL for side in clear or known]
    )
    full = np.logical_and.reduce([side[:, 1:].any(1) for side in counts])
    count = (exchanged & full).sum()
    return bool(count > HALF * full.sum() and count > MOST * (exchanged | straight)[full].sum())


def _measure_share(counts: Array, home: Scripts) -> Array:
    """Return the share of the letters of each line that is in some scripts."""
    return np.asarray(counts[:, sorted(home)].sum(1) / np.maximum(counts[:, 1:].sum(1), 1))
