"""Recurrent networks are recorded over HTTP; the app's three networks are always there."""

from __future__ import annotations

from .conftest import Client

TEXT = "The animal did not cross the street because it was too tired."


def test_the_three_networks_are_recorded_though_they_are_not_listed(client: Client) -> None:
    listed = [each["id"] for each in client.ask("/api/models").json["models"]]
    found = {}
    for model in ("demo-rnn", "demo-rnn-attention"):
        assert model not in listed
        made = client.ask("/api/trace", {"model": model, "text": TEXT})
        assert made.status == 200, made.body
        found[model] = client.ask(f"/api/traces/{made.json['id']}/answer").json
        assert found[model]["network"] == "rnn"
    assert found["demo-rnn"]["attention"] == [] and found["demo-rnn"]["d_model"] == 192
    looked = found["demo-rnn-attention"]
    assert len(looked["attention"]) == len(looked["predicted"])
    assert all(abs(sum(row) - 1) < 1e-5 for row in looked["attention"])
    assert client.ask("/api/trace", {"model": "no-such-model", "text": TEXT}).status == 404


def test_a_picture_of_the_right_network(client: Client) -> None:
    made = client.ask("/api/trace", {"model": "demo-rnn", "text": "The dog was hungry."}).json
    path = f"/api/traces/{made['id']}/figures"
    assert client.ask(f"{path}/V94").status == 200
    assert client.ask(f"{path}/V02").status == 200
    refused = client.ask(f"{path}/V54")
    assert refused.status == 400 and "this is a recurrent network" in refused.json["error"]
    told = {each["id"]: each["network"] for each in client.ask("/api/figures").json["figures"]}
    assert (told["V54"], told["V94"], told["V102"]) == ("transformer", "rnn", "any")
