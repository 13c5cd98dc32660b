"""The shipped models of everyday sentences translate most of some such sentences."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from tests.checked import translate_checked

from glassformer.model.files.directory import SHIPPED, WEIGHTS
from glassformer.model.files.known_words import (
    find_unknown_words,
    read_known_names,
    read_known_words,
)
from glassformer.train.publish.card import read_facts
from glassformer.train.publish.golden import check_golden
from glassformer.translate.options import choose_options
from glassformer.translator import Translator
from tools.phrasebook import read_phrases

NAME, RIGHT = "everyday-en-fr", 26
NAMES = (NAME, "everyday-fr-en", "everyday-en-de")
# Each with translations that a French teacher lets pass.
SENTENCES = {
    "I like coffee.": ["J'aime le café.", "J'aime bien le café."],
    "Where is the train station?": ["Où est la gare ?", "Où se trouve la gare ?"],
    "My brother is taller than me.": [
        "Mon frère est plus grand que moi.",
        "Mon frère est plus grand que je ne le suis.",
    ],
    "What time is it?": ["Quelle heure est-il ?", "Il est quelle heure ?"],
    "She doesn't want to go to school today.": ["Elle ne veut pas aller à l'école aujourd'hui."],
    "Can you help me, please?": [
        "Pouvez-vous m'aider, s'il vous plaît ?",
        "Peux-tu m'aider, s'il te plaît ?",
    ],
    "I lost my keys yesterday.": ["J'ai perdu mes clés hier.", "Hier, j'ai perdu mes clés."],
    "It is raining again.": ["Il pleut encore.", "Il pleut à nouveau.", "Il pleut de nouveau."],
    "We are going to eat at a restaurant tonight.": [
        "Nous allons manger dans un restaurant ce soir.",
        "Nous allons manger au restaurant ce soir.",
        "Ce soir, nous allons manger au restaurant.",
    ],
    "How much does this book cost?": ["Combien coûte ce livre ?", "Combien ce livre coûte-t-il ?"],
    "I have been waiting for you for an hour.": [
        "Je t'attends depuis une heure.",
        "Je vous attends depuis une heure.",
        "Ça fait une heure que je t'attends.",
    ],
    "The children are playing in the garden.": ["Les enfants jouent dans le jardin."],
    "He never drinks milk.": ["Il ne boit jamais de lait."],
    "Do you speak English?": ["Parlez-vous anglais ?", "Parles-tu anglais ?"],
    "My mother works in a hospital.": [
        "Ma mère travaille dans un hôpital.",
        "Ma mère travaille à l'hôpital.",
    ],
    "I would like a glass of water.": [
        "Je voudrais un verre d'eau.",
        "J'aimerais un verre d'eau.",
    ],
    "The weather is nice today.": ["Il fait beau aujourd'hui.", "Le temps est beau aujourd'hui."],
    "They bought a new house last year.": [
        "Ils ont acheté une nouvelle maison l'année dernière.",
        "Elles ont acheté une nouvelle maison l'année dernière.",
        "Ils ont acheté une nouvelle maison l'an dernier.",
    ],
    "Why are you so tired?": [
        "Pourquoi es-tu si fatigué ?",
        "Pourquoi êtes-vous si fatigué ?",
        "Pourquoi es-tu si fatiguée ?",
    ],
    "I don't understand what you are saying.": [
        "Je ne comprends pas ce que tu dis.",
        "Je ne comprends pas ce que vous dites.",
    ],
    "Open the window, please.": [
        "Ouvrez la fenêtre, s'il vous plaît.",
        "Ouvre la fenêtre, s'il te plaît.",
        "Ouvrez la fenêtre, je vous prie !",
    ],
    "The cat is sleeping on the sofa.": ["Le chat dort sur le canapé."],
    "Tomorrow I will visit my grandparents.": [
        "Demain je visiterai mes grands-parents.",
        "Demain, je rendrai visite à mes grands-parents.",
    ],
    "He forgot to close the door.": ["Il a oublié de fermer la porte."],
    "Is there a bank near here?": [
        "Y a-t-il une banque dans les environs ?",
        "Y a-t-il une banque près d'ici ?",
    ],
    "I am learning to play the guitar.": ["J'apprends à jouer de la guitare."],
    "She is the best student in the class.": [
        "Elle est la meilleure étudiante de la classe.",
        "Elle est la meilleure élève de la classe.",
    ],
    "We have to leave before six o'clock.": [
        "Nous devons partir avant six heures.",
        "Il nous faut partir avant six heures.",
    ],
    "Thank you very much for your help.": [
        "Merci beaucoup pour votre aide.",
        "Merci beaucoup pour ton aide.",
    ],
    "Have you ever been to Paris?": [
        "Êtes-vous déjà allé à Paris ?",
        "As-tu déjà été à Paris ?",
        "Es-tu déjà allé à Paris ?",
    ],
}
FROM_FRENCH, RIGHT_FROM_FRENCH = (
    {
        "Où est la gare la plus proche ?": [
            "Where's the nearest station?",
            "Where is the nearest station?",
            "Where is the nearest train station?",
        ],
        "Combien ça coûte ?": [
            "How much is it?",
            "How much does it cost?",
            "How much does that cost?",
        ],
        "Elle travaille ici depuis trois ans.": [
            "She has been working here for three years.",
            "She has worked here for three years.",
            "She's been working here for three years.",
        ],
        "Pourriez-vous parler plus lentement ?": [
            "Could you speak more slowly?",
            "Could you talk more slowly?",
        ],
        "Les enfants jouent dans le jardin.": [
            "The children are playing in the garden.",
            "The kids are playing in the garden.",
        ],
        "J'ai perdu mes clés hier.": ["I lost my keys yesterday.", "Yesterday I lost my keys."],
        "Il n’a pas voulu me dire la vérité.": [
            "He didn't want to tell me the truth.",
            "He wouldn't tell me the truth.",
        ],
        "Si j'avais plus d'argent, j'achèterais une nouvelle voiture.": [
            "If I had more money, I'd buy a new car.",
            "If I had more money, I would buy a new car.",
        ],
        "Tournez à gauche au feu rouge.": [
            "Turn left at the red light.",
            "Turn left at the lights.",
        ],
        "Joyeux anniversaire, Sarah !": ["Happy birthday, Sarah!"],
        "Personne ne sait où il est allé.": [
            "No one knows where he went.",
            "Nobody knows where he went.",
        ],
        "Il y a quelqu'un à la porte.": [
            "There's someone at the door.",
            "There is someone at the door.",
            "There's somebody at the door.",
        ],
    },
    11,
)


INTO_GERMAN, RIGHT_INTO_GERMAN = (
    {
        "My name is David.": ["Ich heiße David.", "Mein Name ist David."],
        "Peter told Sarah the truth.": [
            "Peter hat Sarah die Wahrheit gesagt.",
            "Peter sagte Sarah die Wahrheit.",
        ],
        "We won’t go to the beach tomorrow.": [
            "Wir gehen morgen nicht zum Strand.",
            "Wir gehen morgen nicht an den Strand.",
            "Wir werden morgen nicht zum Strand gehen.",
        ],
        "Could you tell me where the bus stop is?": [
            "Könnten Sie mir sagen, wo die Bushaltestelle ist?",
            "Könnten Sie mir sagen, wo sich die Bushaltestelle befindet?",
            "Könntest du mir sagen, wo die Bushaltestelle ist?",
        ],
        "I forgot my password.": ["Ich habe mein Passwort vergessen."],
        "What would you like to drink?": [
            "Was möchtest du trinken?",
            "Was möchten Sie trinken?",
            "Was möchten Sie gern trinken?",
        ],
        "I'm looking for a gift for my mother.": ["Ich suche ein Geschenk für meine Mutter."],
        "It's too cold to go swimming.": [
            "Es ist zu kalt zum Schwimmen.",
            "Es ist zu kalt, um schwimmen zu gehen.",
        ],
        "Can I pay by credit card?": [
            "Kann ich mit Kreditkarte bezahlen?",
            "Kann ich mit Kreditkarte zahlen?",
        ],
        "I'll be there in ten minutes.": [
            "Ich bin in zehn Minuten da.",
            "Ich bin in zehn Minuten dort.",
            "Ich werde in zehn Minuten da sein.",
        ],
        "If it rains, we'll stay at home.": [
            "Wenn es regnet, bleiben wir zu Hause.",
            "Falls es regnet, bleiben wir zu Hause.",
        ],
        "The train to Lyon leaves from platform 4.": [
            "Der Zug nach Lyon fährt von Gleis 4 ab.",
            "Der Zug nach Lyon fährt auf Gleis 4 ab.",
        ],
        "You should have told me earlier.": [
            "Du hättest es mir früher sagen sollen.",
            "Du hättest mir das früher sagen sollen.",
        ],
        "I am afraid of spiders.": ["Ich habe Angst vor Spinnen."],
        "He speaks three languages fluently.": ["Er spricht drei Sprachen fließend."],
        "They got married last summer.": [
            "Sie haben im letzten Sommer geheiratet.",
            "Sie haben letzten Sommer geheiratet.",
        ],
    },
    14,
)

FIRST_NAMES = """
Anna James David Peter Emily Sarah Mohammed Aisha Yuki Haruto Wei Ling Priya Rahul Arjun Olga
Dmitri Svetlana Ivan Katarzyna Paweł Agnieszka Marco Giulia Chiara Lorenzo Carlos Lucía Javier
Fernanda João Beatriz Thiago Lars Ingrid Bjørn Astrid Ahmed Fatima Youssef Leila Kofi Amara Chidi
Ngozi Kwame Minh Linh Thao Jürgen Heike Wolfgang Sabine Élodie Théo Camille Océane Siobhán Niamh
Zoltán Ágnes Mehmet Elif Emre Can An Pierre
"""
FRAMES = {
    "en": """My name is {}.|{} is my friend.|I saw {} yesterday.|Where does {} live?
{} told me the truth.|This book belongs to {}.|Have you met {}?|{}'s house is big.
{} and Maria are at school.|Happy birthday, {}!""",
    "fr": """Je m'appelle {}.|{} est mon ami.|J'ai vu {} hier.|Où habite {} ?
{} m'a dit la vérité.|Ce livre appartient à {}.|As-tu rencontré {} ?|La maison de {} est grande.
{} et Maria sont à l'école.|Joyeux anniversaire, {} !""",
}
REPEATED = 0.95  # of the names
SELDOM = 0.995  # of the names of the training text
TWO_NAMES = {
    "en": """{} works with {}.|{} lives in {}.|{}'s brother is called {}.|{} and {} got married.
{} loves {}.|Mr. {} met Ms. {}.|{} was born in {}.|I saw {} and {}.|Ms. {} is a teacher.
Where is Dr. {}?""",
    "fr": """{} travaille avec {}.|{} habite \u00e0 {}.|Le fr\u00e8re de {} s'appelle {}.
{} et {} se sont mari\u00e9s.|{} aime {}.|M. {} a rencontr\u00e9 Mme {}.|{} est n\u00e9 \u00e0 {}.
J'ai vu {} et {}.|Mme {} est professeur.|O\u00f9 est le Dr {} ?""",
}
RARE = """Siobhan Okonkwo Priya Dmitri Xiaoming Abernathy Nakamura Fatima Yusuf Haruki Bj\u00f6rk
O'Brien Thandiwe Svetlana J\u00fcrgen Zo\u00eb Al-Fayed Kowalski Oyelaran Nguyen Murakami Ingrid
Vancouver Ouagadougou Gy\u0151r Reykjav\u00edk Manchester Nairobi"""


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(NAME, device="cpu")


def _normalize(text: str) -> str:
    plain = text.replace("\u202f", " ").replace("\xa0", " ").replace("’", "'")
    return plain.rstrip(" .!?").lower()


def _list_wrong(translator: Translator, accepted: dict[str, list[str]]) -> dict[str, str]:
    """Return the translations that nobody lets pass, by their sources."""
    translations = dict(zip(accepted, translator.translate(list(accepted)), strict=True))
    return {
        source: translation
        for source, translation in translations.items()
        if _normalize(translation) not in map(_normalize, accepted[source])
    }


def test_it_translates_everyday_sentences(translator: Translator) -> None:
    wrong = _list_wrong(translator, SENTENCES)
    assert len(SENTENCES) - len(wrong) >= RIGHT, wrong


def test_it_translates_from_french() -> None:
    wrong = _list_wrong(Translator.load("everyday-fr-en", device="cpu"), FROM_FRENCH)
    assert len(FROM_FRENCH) - len(wrong) >= RIGHT_FROM_FRENCH, wrong


def test_it_translates_into_german() -> None:
    wrong = _list_wrong(Translator.load("everyday-en-de", device="cpu"), INTO_GERMAN)
    assert len(INTO_GERMAN) - len(wrong) >= RIGHT_INTO_GERMAN, wrong


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_it_repeats_first_names(name: str) -> None:
    frames = re.split(r"[|\n]", FRAMES[name.split("-")[1]])
    asked = [(own, frame.format(own)) for own in FIRST_NAMES.split() for frame in frames]
    translations = Translator.load(name, device="cpu").translate([text for _, text in asked])
    lost = [text for (own, _), text in zip(asked, translations, strict=True) if own not in text]
    assert len(frames) == 10 and 1 - len(lost) / len(asked) >= REPEATED, lost


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_it_repeats_names_that_training_had_seldom(name: str) -> None:
    """A network writes Darin for Darwin, which it met once or twice."""
    frames = re.split(r"[|\n]", FRAMES[name.split("-")[1]])[2:8]
    asked = [
        (own, frame.format(own))
        for own in sorted(read_known_names(SHIPPED / name))
        for frame in frames
    ]
    translations = Translator.load(name, device="cpu").translate([text for _, text in asked])
    lost = [text for (own, _), text in zip(asked, translations, strict=True) if own not in text]
    assert len(asked) > 2000 and 1 - len(lost) / len(asked) >= SELDOM, lost


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_two_names_and_their_titles_have_stand_ins(name: str) -> None:
    """Else they are taken out, and what is left around them is translated: no sentence."""
    random, frames = Random(1), re.split(r"[|\n]", TWO_NAMES[name.split("-")[1]])
    texts = [each.format(*random.sample(RARE.split(), 2)) for _ in range(24) for each in frames]
    translator = Translator.load(name, device="cpu")
    options = choose_options(translator.config.decode)
    translations = translator.checker.translate_texts(texts, options)
    lost = [
        text
        for text, each in zip(texts, translations, strict=True)
        if any(part.adapted and part.adapted.asides for part in each.sentences)
    ]
    assert len(texts) == 240 and lost == []


@pytest.mark.parametrize("name", NAMES)
def test_it_is_whole_and_small(name: str) -> None:
    folder = SHIPPED / name
    assert (folder / WEIGHTS).stat().st_size < 9e6
    assert check_golden(folder) == []
    assert read_facts(folder)["licence"] == "CC BY 2.0 FR"


def test_it_names_the_words_that_it_never_met() -> None:
    known = read_known_words(SHIPPED / NAME)
    assert known is not None and len(known) > 10_000
    assert find_unknown_words(known, "My brother zorbles the guitar.") == ["zorbles"]


def test_the_readme_shows_what_it_says() -> None:
    """Ten translations, good and bad, of what was not learned, and which bad ones are flagged."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (right|wrong, .+?) \|$", readme, re.MULTILINE)
    translator = Translator.load(NAME, device="cpu")
    shown = translate_checked(translator, [source for source, _, _ in rows])
    assert len(rows) == 10
    learned = {text for phrase in read_phrases() for text in phrase["en"]}
    assert learned.isdisjoint(source for source, _, _ in rows)
    for (_, said, verdict), found in zip(rows, shown, strict=True):
        assert found.best[0].text == said
        assert bool(found.problems) == (verdict == "wrong, flagged")
