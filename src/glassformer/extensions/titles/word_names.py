"""Names that are made of words which are no names: Reading, Burger King, and Summer."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from glassformer.text.spacing import name_base

CAPITAL = "[A-ZÀ-ÖØ-Þ]"
# Cities that are words of the language, too, behind what only a place of all names may follow.
_CITIES = {
    "en": (
        r"(?:(?<=\bin )|(?<=\bfrom )|(?<=\bto )|(?<=\bnear ))(?:Barking|Bath|Bend|Boulder|Buffalo"
        r"|Cork|Deal|Flint|Hull|Mobile|Normal|Orange|Poole"
        r"|(?<!good in )(?<!better in )(?<!best in )Reading"
        r"|Rugby|Rye|Sandwich|Slough|Split|Tours|Wells|Worms)\b(?! [A-Z])"
    ),
    "fr": r"(?<=\bà )(?:Die|Dole|Foix|Gap|Grasse|Orange|Sens|Tours|Vannes|Vire)\b(?! [A-Z])",
}
_NO_SHOPS = (  # kin with a capital, and words for people: chez Maman, chez Maître Dupont
    "Elles?|Eux|Grand|L(?:a|es?|eurs?|ui)|M(?:a|adame|ademoiselle|am[aiy]|aman|aître|ém[ée]|oi"
    "|on|onsieur)|Nous|Oncle|Pap[aiy]|Pépé|Soi|Ta(?:nte|ta)|Toi|Tonton|Vous"
)
_REST = r"[^\W\d_]++(?:-[^\W\d_]++)*+"
_SHOPS = {
    "fr": (
        rf"|(?<=\b[Cc]hez )(?!(?:{_NO_SHOPS})\b){CAPITAL}{_REST}(?: {CAPITAL}{_REST}){{0,2}}"
        r"(?![\w-])"
    ),
}
_BRANDS = (
    "Apple (?:Music|Pay|Store)|Bed Bath and Beyond|Best (?:Buy|Western)|Big Mac|Black Friday"
    "|Burger King|Candy Crush|Chuck E\\. Cheese|Coca-Cola|Dairy Queen|Dollar (?:General|Tree)"
    "|Domino's Pizza|Five Guys|Foot Locker|Game Boy|General (?:Electric|Motors)"
    "|Google (?:Docs|Maps|Play)|Hard Rock Cafe|Holiday Inn|Home Depot|Hot Topic|Land Rover"
    "|Little Rock|Long Beach|Microsoft (?:Office|Word)|Old Navy|Palm Springs|Pizza Hut|Red Bull"
    "|Rolls-Royce|Salt Lake City|Shake Shack|Spider-Man|Taco Bell|Trader Joe's|Urban Outfitters"
    "|Victoria's Secret|Virgin Atlantic|Whole Foods"
)
# Half of a word with a hyphen that is rather translated: Franco-Prussian, Self-Service.
_HALVES = (
    "Afro|Anglo|Anti|Austro|Co|East|Euro|Ex|Franco|Full|Graeco|Greco|Half|High|Indo|Inter|Judeo"
    "|Long|Low|Mid|Middle|Multi|Neo|Non|North|Pan|Part|Post|Pre|Pro|Russo|Self|Semi|Short|Sino|South"
    "|Trans|Two|Vice|Well|West"
)
_OTHER_HALVES = (
    "Chief|Down|Elect|Free|General|Herzegovina|Hungary|In|Law|Lorraine|Off|On|Out|Up|Westphalia"
)
_PEOPLE = r"(?:\w{2,}(?:ese|ish)|\w{3,}(?:ans?|ch|ek|ic))"
_JOINED = {
    "en": (
        rf"(?<![\w-])(?!(?:{_HALVES}|{_PEOPLE})-)[A-Z][a-z]++(?:-(?:au|by|de|la|le|on|sur|the|upon))"
        rf"{{0,2}}+-(?!(?:{_OTHER_HALVES}|{_PEOPLE})\b)[A-Z][a-z]++(?![\w'\u2019-])"
    ),
}
# First names that are words of the language, too, and what says that they are names.
_NAMES = {
    "en": (
        "Angel|April|August|Autumn|Bear|Blessing|Bliss|Blossom|Brook|Cash|Chance|Cherry|Chip|Cliff"
        "|Clover|Cooper|Coral|Destiny|Diamond|Fern|Forest|Grant|Harmony|Honor|Ivory|Jewel|Journey"
        "|June|Justice|Liberty|Miles|Miracle|Ocean|Precious|Raven|Rich|River|Royal|Sage|Sky|Star"
        "|Stone|Storm|Summer|Sunny|True|Walker|Winter|Woody"
    ),
    "fr": (
        "Aimé|Avril|Blanche|Cerise|Désiré|Désirée|Espérance|Fidèle|Fleur|Grâce|Innocent|Jasmin|Loup"
        "|Lune|Marine|Modeste|Parfait|Providence|Prune|Soleil|Victoire"
    ),
}
_BEFORE = {
    "en": "asked|called|invited|married|met|told|alked to|alk to|peak to|poke to",
    "fr": "rencontré|connais|invité|parlé à|appelé|dis à|vu",
}
_KIN = (
    "aunt|boyfriend|boss|brother|cousin|daughter|father|friend|girlfriend|husband|mother"
    "|neighbou?r|niece|nephew|sister|son|teacher|uncle|wife"
)
_OWN = "birthday|car|cat|dog|family|house|name|parents|phone|room"
_AFTER = {
    "en": (
        r" (?:asked|called|knows|likes|liked|lives|loves|met|said|says|told|works|wrote)\b"
        rf"| (?:is|was) (?:my|his|her|our|your) (?:\w+ )?(?:{_KIN})\b(?!['\u2019]s)"
        rf"|['\u2019]s (?:{_KIN}|{_OWN})\b"
    ),
    "fr": (
        r" (?:aime|dit|habite|travaille|va|vient|veut)\b| [mt]['\u2019]a\b| est [ms](?:a|on) "
        r"| a (?:appelé|dit|été|fait|mangé|téléphoné|vu)\b| est (?:arrivée?|partie?|venue?|là)\b"
    ),
}
# Behind months and seasons, these say so only where a sentence begins: In June, can you come?
_ADDRESSED = {"en": r" and I\b|, (?:(?:are|can|could|did|do|have|will|would) you|please)\b"}
_BEGINS, _SEASONS = r"(?<![\w,;:] )", "April|August|Autumn|June|Summer|Winter"
# Articles, behind which these words are no names: La Marine a dit non.
_ARTICLES = {"fr": ("[LlMmSsTt][ae] ", "[Uu]n ", "[Uu]ne ", "[Dd]u ", "[Ll]['\u2019]")}


class WordNames(NamedTuple):
    """The patterns of such names in texts of a language."""

    places: str
    brands: str
    others: str  # which are no names of their own where another word with a capital is beside them


@cache
def list_word_names(language: str | None) -> WordNames:
    """Return the patterns of the names that are words of a language."""
    code = name_base(language) or ""
    others = [_JOINED.get(code, "(?!)")]
    if own := _NAMES.get(code):
        before = "|".join(rf"(?<={each} )" for each in _BEFORE[code].split("|"))
        article = "".join(rf"(?<!\b{each})" for each in _ARTICLES.get(code, ()))
        addressed = rf"(?:{_BEGINS}|(?!{_SEASONS}))(?:{own})(?={_ADDRESSED.get(code, '(?!)')})"
        others.append(rf"{article}\b(?:(?:{own})(?={_AFTER[code]})|{addressed})")
        others.append(rf"(?:{before})(?:{own})\b")
    brands = rf"\b(?:{_BRANDS})(?!\w){_SHOPS.get(code, '')}"
    return WordNames(_CITIES.get(code, "(?!)"), brands, "|".join(others))
