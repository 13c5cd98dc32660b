"""Names of several parts are found, in linear time, and no words between them."""

from __future__ import annotations

import pytest
from damage.growth import is_linear

from glassformer.extensions.titles.full_names import find_full_names


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        (
            "en",
            "Ludwig van Beethoven's dog and Rio de Janeiro",
            ["Ludwig van Beethoven", "Rio de Janeiro"],
        ),
        ("en-GB", "My name is Rose, he is named O'Brien May.", ["Rose", "O'Brien May"]),
        ("en", "As van der Berg said, de la Cruz de", ["van der Berg", "de la Cruz"]),
        ("en", "Visit van Gogh. Anna van Gogh", ["van Gogh", "Anna van Gogh"]),
        ("fr", "Tom de Boston s'appelle Lune, et Leonardo da Vinci", ["Lune", "Leonardo da Vinci"]),
        ("de", "Ist da Anna? Gr\u00fc\u00dfe von Anna. Ich hei\u00dfe Rose.", ["Rose"]),
        (None, "Vincent van Gogh", ["Vincent van Gogh"]),
        ("en", "Will is late. May and Tom. Will said so.", ["Will", "May", "Will"]),
        ("en", "Will you come? May I? May is warm. Will Tom and May come?", []),
        ("fr", "Will is late.", []),
        ("en", "I come from Cork, near Bath. In Reading classes I read.", ["Cork", "Bath"]),
        (
            "en",
            "Coca-Cola at Burger King with Spider-Man",
            ["Coca-Cola", "Burger King", "Spider-Man"],
        ),
        ("en", "African-American, Franco-Prussian, North-West, Chinese-English, Self-Service", []),
        (
            "en",
            "Miracle is my sister, I met Summer. Star, can you come?",
            ["Miracle", "Summer", "Star"],
        ),
        ("en", "In June, can you come? I was free in August and I slept last Winter, please.", []),
        ("en", "Is June my daughter's day? June is my daughter's day.", []),
        ("en", "June and I came. Grant, can you come, Rich and I", ["June", "Grant", "Rich"]),
        ("en", "I'm good in Reading, not in Cork. Go to Reading.", ["Cork", "Reading"]),
        ("en", "Al-Gu'ud is here. Mon-Fri", ["Mon-Fri"]),
        ("fr", "La Marine a dit non, le Loup est là, l'Innocent aussi. Marine est là.", ["Marine"]),
        (
            "fr",
            "chez Jean-Pierre, chez Lidl, chez Luc Petit-Jean",
            ["Jean-Pierre", "Lidl", "Luc Petit-Jean"],
        ),
        ("fr", "chez Grand-mère, chez Tante Marie, chez Maître Luc, chez Lui, chez Les-", []),
        ("en", "Summer is my favourite season. Autumn came, a Miracle", []),
        ("fr", "Victoire est ma soeur, chez Orange \u00e0 Tours", ["Victoire", "Orange", "Tours"]),
        ("en", "Mary-Kate Olsen, Ann Mary-Kate and Johnny Cash said it to Summer Ray.", []),
        ("fr", "Chez Maman, chez Papa, chez Madame, \u00e0 Noël", []),
    ],
)
def test_names_of_several_parts(language: str | None, text: str, names: list[str]) -> None:
    found = find_full_names(text, language, ["Visit", "As"].__contains__)
    assert [text[start:end] for start, end, _ in found] == names


@pytest.mark.parametrize(
    "unit", ["Van ", "van ", "A-", "name is ", "Ab van ", "O'", "A", "Ab-", "chez Ab ", "Chez A-"]
)
def test_names_of_several_parts_take_linear_time(unit: str) -> None:

    def find(text: str) -> None:
        list(find_full_names(text, "en", bool))

    assert is_linear(find, lambda length: unit * (length // len(unit)))
