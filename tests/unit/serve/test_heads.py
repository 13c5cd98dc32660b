"""/api/traces/{id}/heads: a head is worth what the translation loses without it."""

from __future__ import annotations

import math

import pytest

from glassformer.see import record

from .conftest import Client

SENTENCE = "The animal did not cross the street because it was too tired."
BLOCK, HEAD, STEP = "decoder.3.self_attention", 4, 7


@pytest.fixture(scope="module")
def riddle(client: Client) -> str:
    found = client.ask("/api/trace", {"text": SENTENCE}).json
    assert "qu'il" in found["translation"]
    return str(found["id"])


def test_the_lead_is_that_of_a_recording_in_which_the_head_is_silent(
    client: Client, riddle: str
) -> None:
    found = client.ask(f"/api/traces/{riddle}/heads", {"step": STEP}).json
    assert found["token"]["text"].strip() == "qu'il" and found["rival"]["text"].strip() == "qu'elle"
    translator = client.service.model_pool.load(client.service.model_pool.find("demo"))
    base = client.service.recordings.find(riddle).trace
    silent = record(
        translator, SENTENCE, target=base, edits=[{"do": "silence", "name": BLOCK, "head": HEAD}]
    )
    for lead, trace in ((found["lead"], base), (found["leads"][BLOCK][HEAD], silent)):
        logits = trace["logits"][STEP]
        assert lead == pytest.approx(
            logits[found["token"]["id"]] - logits[found["rival"]["id"]], abs=1e-4
        )
    settings = base.settings
    assert len(found["leads"]) == settings.encoder_layers + 2 * settings.decoder_layers
    assert {len(leads) for leads in found["leads"].values()} == {settings.heads}


def test_what_is_silent_already_stays_so(client: Client, riddle: str) -> None:
    edits = [{"do": "silence", "name": BLOCK, "head": HEAD}]
    edited = client.ask(f"/api/traces/{riddle}/edit", {"edits": edits}).json
    before = client.ask(f"/api/traces/{riddle}/heads", {"step": STEP}).json
    after = client.ask(f"/api/traces/{edited['forced']}/heads", {"step": STEP}).json
    assert after["lead"] == pytest.approx(before["leads"][BLOCK][HEAD], abs=1e-4)
    assert after["leads"][BLOCK][HEAD] == pytest.approx(after["lead"], abs=1e-4)


def test_another_rival(client: Client, riddle: str) -> None:
    base = client.service.recordings.find(riddle).trace
    told = base.predictions[STEP]
    third = told.ids[2]
    found = client.ask(f"/api/traces/{riddle}/heads", {"step": STEP, "rival": third}).json
    assert found["rival"]["id"] == third
    assert found["lead"] == pytest.approx(told.log_probs[0] - told.log_probs[2], abs=1e-4)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"step": 13}, "step 13 is out of range, it goes from 0 to 12"),
        ({"step": 0, "rival": 10**6}, "rival=1000000: the id of another token"),
        ({"steps": 1}, "steps"),
    ],
)
def test_wrong_questions(client: Client, riddle: str, body: dict[str, int], said: str) -> None:
    found = client.ask(f"/api/traces/{riddle}/heads", body)
    assert found.status == 400 and said in found.json["error"]


def test_each_step_tells_what_else_could_have_come(client: Client) -> None:
    events = client.stream("/api/trace", {"text": SENTENCE, "level": "attention"})
    steps = [data for _, data in events if data.get("stage") == "searching"]
    base = client.service.recordings.find(events[-1][1]["id"]).trace
    assert steps[-1]["tokens"] == [token.text for token in base.predicted]
    for step, told in zip(steps, base.predictions, strict=True):
        assert [each["id"] for each in step["candidates"]] == list(told.ids[:5])
        assert step["candidates"][0]["log_prob"] == pytest.approx(told.log_probs[0], abs=1e-4)
        assert math.exp(step["candidates"][0]["log_prob"]) <= 1
