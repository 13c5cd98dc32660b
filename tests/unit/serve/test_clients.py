"""Clients that others have written for LibreTranslate."""

from __future__ import annotations

from urllib.error import HTTPError

import pytest

from .conftest import Client

SENTENCES = {
    "I am a student.": "Je suis étudiant.",
    "The dog is tired.": "Le chien est fatigué.",
}


def test_libretranslatepy(client: Client) -> None:
    library = pytest.importorskip("libretranslatepy", reason="libretranslatepy is not installed")
    api = library.LibreTranslateAPI(client.url)
    assert api.translate("The cat is on the mat.", "en", "fr") == "Le chat est sur le tapis."
    assert api.detect("Je suis étudiant.")[0]["language"] == "fr"
    assert {each["code"] for each in api.languages()} == {"en", "fr"}
    with pytest.raises(HTTPError, match="400") as caught:
        api.translate("a", "en", "xx")
    caught.value.close()


def test_deep_translator(client: Client) -> None:
    library = pytest.importorskip("deep_translator", reason="deep-translator is not installed")
    translator = library.LibreTranslator(
        source="en", target="fr", api_key="any", custom_url=client.url
    )
    assert translator.translate("The cat is on the mat.") == "Le chat est sur le tapis."
    found = translator.translate_batch(list(SENTENCES))
    assert found == [*SENTENCES.values()]


def test_libretranslate_aio(client: Client) -> None:
    library = pytest.importorskip("libretranslate_aio", reason="libretranslate-aio is not there")
    with library.LibreTranslate(client.url) as api:
        found = api.translate(list(SENTENCES), "auto", "fr", alternatives=1)
        assert found.translated_text == [*SENTENCES.values()]
        assert [each.language for each in found.detected_language] == ["en", "en"]
        assert api.health() and api.frontend_settings().char_limit == 2000
        assert {each.code for each in api.languages()} == {"en", "fr"}
        with pytest.raises(library.BadRequestError, match="xx is not supported"):
            api.translate("a", "en", "xx")
        with pytest.raises(library.ForbiddenError, match="disabled"):
            api.suggest("a", "b", "en", "fr")
