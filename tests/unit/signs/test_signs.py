"""Signs that a network never met are read as words."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest
from damage.growth import is_linear

from glassformer import Translator
from glassformer.extensions.signs.signs import RARE, Signs
from glassformer.text.stand_ins import replace_parts

WORDS = [
    *("and", "at", "minute", "minutes", "hour", "hours", "am", "pm", "first", "second", "third"),
    *("tenth", "foot", "feet", "pounds", "thx", "lol"),
]


def make_signs(
    languages: tuple[str | None, str | None], counts: Mapping[str, int], words: Collection[str]
) -> Signs:
    has_token = {f" {word}" for word in words}.__contains__
    return Signs(languages, counts, has_token, words.__contains__)


ENGLISH = make_signs(("en", "fr"), {}, WORDS)
OF_FRENCH = [
    *("minute", "minutes", "heure", "heures", "deuxième", "première", "et", "svp", "pour", "cent"),
    "italie",
]
FRENCH = make_signs(("fr", "en"), {}, OF_FRENCH)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Salt & pepper", "Salt and pepper"),
        ("Meet me @ the bar & grill.", "Meet me at the bar and grill."),
        ("I & you & he", "I and you and he"),
        ("BREAD & BUTTER", "BREAD AND BUTTER"),
        ("AT&T, a&b, me@x.org, @anna", "AT&T, a&b, me@x.org, @anna"),
        ("5 & 6", "5 & 6"),
        ("& so on &", "& so on &"),
        ("this && that & @ home", "this && that and at home"),
        (
            "Run `a & b`, {x, y & z} or [[a & b]] & go",
            "Run `a & b`, {x, y & z} or [[a & b]] and go",
        ),
        ("Tom\u00a0&\u00a0@anna", "Tom\u00a0and\u00a0@anna"),
        ("東京 & 大阪", "東京 and 大阪"),
        ("", ""),
    ],
)
def test_lone_signs(text: str, read: str) -> None:
    assert read_text(ENGLISH, text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Fish &amp; chips &#38; AT&amp;T", "Fish and chips and AT&T"),
        ("I don&#39;t, don&#x27;t, don&rsquo;t &#039;", "I don't, don't, don’t '"),
        ("&quot;Caf&eacute;&quot; for 5&nbsp;min", '"Café" for 5\u00a0min'),
        ("a &lt;b&gt; c, &there4; &nothing; R&D;", "a &lt;b&gt; c, &there4; &nothing; R&D;"),
        ("AT &amp;amp; x", "AT &amp; x"),
    ],
)
def test_entities_are_the_characters_that_they_name(text: str, read: str) -> None:
    assert read_text(ENGLISH, text) == read


def test_other_entities_stay_as_they_are() -> None:
    everyday = Translator.load("everyday-en-fr")
    assert everyday.translate("I like fish &amp; tea.") == everyday.translate("I like fish & tea.")
    assert everyday.translate("I don&#39;t know.") == "Je ne sais pas."
    assert "&there4;" in everyday.translate("The cat &there4; is here.")


def read_text(signs: Signs, text: str) -> str:
    parts = signs.find(text)
    return replace_parts(text, [part for part, _ in parts], [word for _, word in parts])[0]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Wait 5 min, or 90min.", "Wait 5 minutes, or 90 minutes."),
        ("A 10 Min. walk, 1 hr by bus.", "A 10 minutes walk, 1 hour by bus."),
        ("It takes 1.5 hrs.", "It takes 1.5 hours."),
        ("He is 6ft tall and weighs 150 lbs.", "He is 6 feet tall and weighs 150 pounds."),
        ("At 9am, 9 am", "At 9 am, 9 am"),
        ("From 8AM to 10AM, at 9am, 9 PM, 12pm", "From 8:00 to 10:00, at 9:00, 21:00, 12:00"),
        ("At 10am or 12 AM; of 10 am I one", "At 10:00 or 0:00; of 10 am I one"),
        ("On 2 May at 8am, 9 AM", "On 2 May at 8:00, 9:00"),
        ("I may be 5 on 12/5 at 9am", "I may be 5 on 12/5 at 9:00"),
        ("The 7:30 bus, my 3 pm class", "The bus of 7:30, my class of 15:00"),
        ("The 7:30 bus stop, at 7:30 trains", "The 7:30 bus stop, at 7:30 trains"),
        ("At 8 p.m. we left at 8 p.m.", "At 20:00 we left at 20:00."),
        ("Back in 2-3 min", "Back in 2-3 minutes"),
        ("WAIT 5 MIN", "WAIT 5 MINUTES"),
        ("In the U.K. or the U.S.A.", "In the UK or the USA."),
        ("A Ph.D., I.Q. and the U.N.'s", "A PhD, IQ and the UN's"),
        ("J.K. Rowling, St.UK and x.U.K.", "J.K. Rowling, St.UK and x.U.K."),
        (
            "The 2nd floor, my 1st day, in 3rd place",
            "The second floor, my first day, in third place",
        ),
        (
            "The 4th of July, on May 3rd, the 3rd of may",
            "The 4th of July, on May 3rd, the 3rd of may",
        ),
        ("On 2nd July, Feb. 3rd, May the 4th", "On 2nd July, Feb. 3rd, May the 4th"),
        ("2nd time: came 3rd, the 1st & 2nd", "second time: came third, the first and second"),
        ("On Feb. 12, Jan 5 or Sept. 3", "On February 12, January 5 or September 3"),
        ("On Sat. and Sun. we sat. Sun", "On Saturday and Sunday we sat. Sun"),
        ("Open Mon-Fri.", "Open from Monday to Friday."),
        (
            "Open Monday\u2013Friday and not the Mon-Fri",
            "Open from Monday to Friday and not the Mon-Fri",
        ),
        ("Open Mon-Fri 9-5, from Mon-Fri, Mon-Mon", "Open Mon-Fri 9-5, from Mon-Fri, Mon-Mon"),
        ("Mr. Jan Mar. and May Sun", "Mr. Jan Mar. and May Sun"),
        ("ON THE 2ND FLOOR", "ON THE SECOND FLOOR"),
        ("The 10th time, on the 1st of the month", "The tenth time, on the first of the month"),
        ("9am-5pm, 5min/km, 10:30, v1.5h, x5 min", "9am-5pm, 5min/km, 10:30, v1.5h, x5 min"),
        ("idk, btw thx", "I don't know, by the way thx"),
        ("Btw, IDK. lol", "By the way, I don't know. lol"),
        ("BTW: it's late", "By the way: it's late"),
        ("My bday's soon, 'idk'", "My birthday's soon, 'I don't know'"),
        ("an rn, the tbh, a gf", "an rn, the tbh, a girlfriend"),
        ("NYT, DSL, 44 bc, 2 FT, use np", "NYT, DSL, 44 bc, 2 FT, use np"),
        ("Tea w/ milk, w/o sugar", "Tea with milk, without sugar"),
        ("Ty and I met in 44 BC at an ATM.", "Ty and I met in 44 BC at an ATM."),
        ("ty @btw #idk btw.com /idk", "thank you @btw #idk btw.com /idk"),
        ("min max 5", "min max 5"),
    ],
)
def test_short_forms(text: str, read: str) -> None:
    assert read_text(ENGLISH, text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Dans 5 min à 20h.", "Dans 5 minutes à 20:00."),
        ("Vers 20h, 9h par jour, À 9 h.", "Vers 20 heures, 9 heures par jour, À 9:00."),
        ("Pour 60 % des enfants, 60 %.", "Pour 60 pour cent des enfants, 60 %."),
        ("d'Olivier, d'Italie, qu'Elena", "de Olivier, d'Italie, que Elena"),
        ("À 18h15, 7 h 45 ou 1 h", "À 18:15, 7:45 ou 1 heure"),
        ("Le 2e étage, la 1ère fois", "Le deuxième étage, la première fois"),
        ("le 1er mai, 24h/24, 9h-18h, 12h30-14h", "le 1er mai, 24h/24, 9h-18h, 12h30-14h"),
        ("à 18H30, 20H, d'auj", "à 18:30, 20 heures, d'aujourd'hui"),
        ("Ma box DSL, MTN et JSP", "Ma box DSL, MTN et JSP"),
        ("un RDV, Svp", "un rendez-vous, Svp"),
        ("dsl, jsp svp", "désolé, je ne sais pas svp"),
    ],
)
def test_short_forms_of_french(text: str, read: str) -> None:
    assert read_text(FRENCH, text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Tom and i think i\u2019m late, i", "Tom and I think I\u2019m late, I"),
        ("i live in Paris", "I live in Paris"),
        ("i live here", "i live here"),
        ("A letter i, the i, (i), i.e. X's i's", "A letter i, the i, (i), i.e. X's i's"),
    ],
)
def test_a_small_i_is_read_as_i(text: str, read: str) -> None:
    assert read_text(ENGLISH, text) == read
    assert read_text(FRENCH, text) == text


def test_germans_read_a_bus_at_its_time() -> None:
    german = make_signs(("en", "de"), {}, WORDS)
    assert read_text(german, "The 7:30 bus is late.") == "The bus at 7:30 is late."


def test_short_forms_whose_words_a_network_lacks_stay() -> None:
    text = "Wait 5 min on the 2nd floor."
    assert not make_signs(("en", "fr"), {}, ["minute"]).find(text)
    assert not make_signs((None, None), {}, WORDS).find(text)
    assert not make_signs(("tr", "en"), {}, WORDS).find(text)


def test_short_forms_that_a_network_knows_stay() -> None:
    signs = make_signs(("en", "fr"), {}, ["minutes", "min", "hours", "h", "idk"])
    assert read_text(signs, "5 min, 2 h, idk tbh") == "5 min, 2 hours, idk to be honest"


def test_hurried_words_are_read_by_the_everyday_models() -> None:
    everyday = Translator.load("everyday-en-fr")
    assert everyday.translate("idk what to do") == "Je ne sais pas quoi faire"
    assert everyday.translate("Can you wait 10 mins?") == "Pouvez-vous attendre 10 minutes ?"


def test_a_sign_is_read_if_training_knew_its_word_and_hardly_the_sign() -> None:
    words = ["and", "at", "et", "und"]
    has_token = {"&", *(f" {word}" for word in words)}.__contains__

    def choose(language: str | None, counts: Mapping[str, int]) -> Mapping[str, str]:
        return Signs((language, None), counts, has_token, words.__contains__).spoken

    assert choose("en", {}) == {"@": "at"}
    assert choose("en-GB", {"&": RARE - 1}) == {"&": "and", "@": "at"}
    assert choose("en", {"&": RARE, "@": 3}) == {"@": "at"}
    assert choose("fr", {"a": 9}) == {"&": "et"}
    assert not choose("es", {}) and not choose("zh", {})
    assert not choose(None, {})


def test_tokens_come_from_the_sign() -> None:
    everyday = Translator.load("everyday-en-fr")
    text = "Meet Zorblax & me @ home."
    tokens = everyday.reader.tokenize(text)
    spans = dict(zip((each.strip() for each in tokens.texts), tokens.spans, strict=True))
    assert text[slice(*spans["at"])].strip() == "@"
    assert text[slice(*spans["home"])].strip() == "home"


@pytest.mark.parametrize(
    "part", ["a@b.c 5 min ", "idk ", "U.K.", "U.K. .", "2nd May ", "I'm w/ ", "9h-18h "]
)
def test_signs_are_found_in_linear_time(part: str) -> None:
    assert is_linear(ENGLISH.find, lambda length: part * (length // len(part)))
    assert is_linear(FRENCH.find, lambda length: part * (length // len(part)))
