"""What the first screen asks the server for: an answer, words never met, samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glassformer.model.files.directory import SHIPPED
from glassformer.model.files.known_words import (
    cut_words,
    find_unknown_words,
    read_known_words,
)

from .conftest import Client

SENTENCE = "The animal did not cross the street because it was too tired."
CUT = {"do": "cut", "word": "tired"}
LEAST_EFFECT = 0.1  # nats: shares of a smaller one are all rounding


def test_models_say_how_large_they_are_and_what_they_learned(client: Client) -> None:
    demo = client.ask("/api/models").json["models"][0]
    words = (SHIPPED / "demo" / "words.txt").read_text(encoding="utf-8").split()
    assert demo["parameters"] == 828_672 and demo["sentences"] == 60_000
    assert demo["words"] == len(words) == len({*words})
    assert demo["smoothing"] == 0.1


def test_an_answer_is_what_the_recording_says(client: Client, recording: str) -> None:
    answer = client.ask(f"/api/traces/{recording}/answer").json
    trace = client.service.recordings.find(recording).trace
    assert answer["translation"] == trace.translation and answer["id"] == recording
    assert [token["text"] for token in answer["source"]] == [each.text for each in trace.source]
    layers = range(trace.settings.decoder_layers)
    mean = np.mean([trace[f"decoder.{n}.cross_attention.weights"] for n in layers], (0, 1))
    np.testing.assert_allclose(answer["attention"], mean, atol=1e-6)
    assert len(answer["predictions"]) == len(answer["predicted"]) == len(mean)


def test_an_answer_has_the_whole_text(client: Client) -> None:
    """Of several sentences, or with symbols that the network did not read."""
    text = "The cat 🍕 sleeps. The dog sleeps."
    told = client.ask("/api/trace", {"text": text, "sentence": 0}).json
    answer = client.ask(f"/api/traces/{told['id']}/answer").json
    assert answer["text"] == "The cat sleeps." and answer["whole"]["text"] == text
    assert len(answer["whole"]["sentences"]) == 2 and answer["whole"]["chosen"] == 0
    assert "🍕" in answer["whole"]["translation"] and "🍕" not in answer["translation"]
    one = client.ask("/api/trace", {"text": "The dog sleeps."}).json
    assert client.ask(f"/api/traces/{one['id']}/answer").json["whole"] is None


def test_a_cut_is_answered_without_a_second_recording(client: Client) -> None:
    def count() -> int:
        return len(client.ask("/api/traces").json["traces"])

    before = count()
    told = client.ask("/api/trace", {"text": SENTENCE, "edits": [CUT], "base": False}).json
    assert count() == before + 1
    answer = client.ask(f"/api/traces/{told['id']}/answer").json
    assert answer["edits"] == [CUT] and answer["translation"].endswith("trop malade.")


def test_words_that_were_never_met(client: Client, tmp_path: Path) -> None:
    found = client.ask("/api/models/demo/unknown?text=The%20animal%20likes%20skyscrapers,%2042.")
    assert found.json == {"words": ["skyscrapers"]}
    known = frozenset({"it's", "a", "dog", "中", "文", "ok"})
    assert find_unknown_words(known, "A Cat, it’s 7 dogs 中国") == ["Cat", "dogs", "国"]
    assert cut_words("L'eau d’ici") == ["L'eau", "d'ici"]
    assert read_known_words(tmp_path / "nowhere") is None


def test_samples_are_drawn_as_the_settings_say(client: Client) -> None:
    cold = {"text": SENTENCE, "decode": {"temperature": 0.05}, "count": 8}
    texts = client.ask("/api/samples", cold).json["texts"]
    assert len(texts) == 8 and {*texts} == {texts[0]} and texts[0].endswith("trop fatigué.")
    warm = cold | {"decode": {"temperature": 1.0}, "seed": 3}
    drawn = client.ask("/api/samples", warm).json["texts"]
    assert len({*drawn}) > 1 and drawn == client.ask("/api/samples", warm).json["texts"]
    cut = client.ask("/api/samples", cold | {"edits": [CUT]}).json["texts"]
    assert not any(text.endswith("fatigué.") for text in cut)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"count": 0}, "count"),
        ({"edits": [CUT | {"word": "zebra"}]}, "there is no word 'zebra'"),
        ({"edits": [CUT | {"query": 2}]}, "not under an edit of single positions"),
        ({"decode": {"temperature": -1}}, "temperature"),
    ],
)
def test_samples_that_cannot_be_drawn(client: Client, change: dict[str, object], said: str) -> None:
    found = client.ask("/api/samples", {"text": SENTENCE} | change)
    assert found.status == 400 and said in found.json["error"]


def test_each_word_is_cut_on_its_own(client: Client, recording: str) -> None:
    trace = client.service.recordings.find(recording).trace
    body = {"rows": [0, 1], "groups": [[0], [1]]}
    found = client.ask(f"/api/traces/{recording}/cuts", body).json["log_probs"]
    before = sum(trace.predictions[row].log_prob for row in (0, 1))
    assert len(found) == 2 and min(found) < before - 0.5
    assert client.ask(f"/api/traces/{recording}/cuts", body | {"rows": [99]}).status == 400


def test_gradients_of_a_word_are_complete(client: Client, recording: str) -> None:
    path = f"/api/traces/{recording}/gradients"
    found = client.ask(path, {"rows": [1]}).json
    gain = found["log_prob"] - found["baseline"]
    whole = sum(sum(found["integrated"][side]) for side in ("source", "target"))
    assert whole == pytest.approx(gain + found["gap"], abs=1e-6)
    assert abs(found["gap"]) < 0.05 * abs(gain) + 1e-2
    assert client.ask(path, {"rows": [99]}).status == 400
    assert client.ask(path, {"rows": []}).status == 400


def test_the_circuit_of_a_word_and_what_its_edges_keep(client: Client, recording: str) -> None:
    path = f"/api/traces/{recording}/circuit"
    trace = client.service.recordings.find(recording).trace
    assert client.ask(path, {"counterpart": trace.text}).json["refused"] == "same"
    longer = client.ask(path, {"counterpart": f"{trace.text} {trace.text}"}).json
    assert longer["refused"] == "longer" and longer["numbers"][1] == len(trace.source)
    words = trace.text.split()
    swapped = " ".join([words[1], words[0], *words[2:]])
    own = trace.predicted[1].id
    found = None
    for rival in [id for id in trace.predictions[1].ids if id != own]:
        body = {"step": 1, "counterpart": swapped, "rival": rival}
        answer = client.ask(path, body).json
        found = answer.get("found")
        if found is not None and abs(found["lead"] - found["nothing"]) > LEAST_EFFECT:
            break
    assert found is not None, "this word depends on the words before"
    assert abs(found["lead"] - found["nothing"]) > LEAST_EFFECT
    assert found["size"] == len(found["numbers"]) and len(found["random"]) == 20
    whole = client.ask(path, body | {"edges": [*range(found["of"])]}).json["kept"]
    assert whole == pytest.approx(1, abs=1e-4)
    kept = client.ask(path, body | {"edges": found["numbers"]}).json["kept"]
    assert kept == pytest.approx(found["kept"], abs=1e-4) and kept >= 0.9
    fewer = client.ask(path, body | {"edges": found["numbers"][1:]}).json["kept"]
    assert fewer == pytest.approx(kept - found["losses"][0], abs=1e-4)
    assert client.ask(path, body | {"edges": [found["of"]]}).status == 400
    assert client.ask(path, body | {"rival": own}).status == 400


def test_the_lens_of_one_row_tells_of_any_token(client: Client, recording: str) -> None:
    path = f"/api/traces/{recording}/derive/lens"
    whole = client.ask(f"{path}?k=2").json["layers"]
    one = client.ask(f"{path}?k=2&row=1&ids=7,{whole[0][1][1]['id']}").json["layers"]
    assert [len(layer) for layer in one] == [1] * len(whole)
    for layer, all_rows in zip(one, whole, strict=True):
        assert [each["id"] for each in layer[0][:2]] == [each["id"] for each in all_rows[1]]
        assert layer[0][2]["id"] == 7 and layer[0][2]["log_prob"] <= layer[0][0]["log_prob"]
    assert one[0][0][3]["log_prob"] == pytest.approx(whole[0][1][1]["log_prob"], abs=1e-5)
    assert client.ask(f"{path}?row=99").status == 400
