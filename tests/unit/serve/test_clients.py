"""Clients that others have written for LibreTranslate."""

from __future__ import annotations

from urllib.error import HTTPError

import pytest

from .conftest import Client


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
    found = translator.translate_batch(["I am a student.", "The dog is tired."])
    assert found == ["Je suis étudiant.", "Le chien est fatigué."]
