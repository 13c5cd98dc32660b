"""The shipped model of everyday sentences translates at least 25 of 30 that it was not taught."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.checked import translate_checked

from glassformer.model.files.directory import SHIPPED, WEIGHTS
from glassformer.model.files.known_words import find_unknown_words, read_known_words
from glassformer.train.publish.card import read_facts
from glassformer.train.publish.golden import check_golden
from glassformer.translator import Translator

NAME, RIGHT = "everyday-en-fr", 25
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


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(NAME, device="cpu")


def _normalize(text: str) -> str:
    plain = text.replace("\u202f", " ").replace("\xa0", " ").replace("’", "'")
    return plain.rstrip(" .!?").lower()


def test_it_translates_everyday_sentences(translator: Translator) -> None:
    found = dict(zip(SENTENCES, translator.translate(list(SENTENCES)), strict=True))
    wrong = {
        source: said
        for source, said in found.items()
        if _normalize(said) not in map(_normalize, SENTENCES[source])
    }
    assert len(SENTENCES) - len(wrong) >= RIGHT, wrong


def test_it_is_whole_and_small() -> None:
    folder = SHIPPED / NAME
    assert (folder / WEIGHTS).stat().st_size < 9e6
    assert check_golden(folder) == []
    assert read_facts(folder)["licence"] == "CC BY 2.0 FR"


def test_it_names_the_words_that_it_never_met() -> None:
    known = read_known_words(SHIPPED / NAME)
    assert known is not None and len(known) > 10_000
    assert find_unknown_words(known, "My brother zorbles the guitar.") == ["zorbles"]


def test_the_readme_shows_what_it_says() -> None:
    """Ten everyday translations, good and bad, and which of the bad ones are flagged."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (right|wrong, .+?) \|$", readme, re.MULTILINE)
    translator = Translator.load(NAME, device="cpu")
    shown = translate_checked(translator, [source for source, _, _ in rows])
    assert len(rows) == 10
    for (_, said, verdict), found in zip(rows, shown, strict=True):
        assert found.best[0].text == said
        assert bool(found.problems) == (verdict == "wrong, flagged")
