"""/api: what a page asks for is what the recording holds."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import math
import socket
import time
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

import numpy as np
import pytest
from safetensors.numpy import load

from glassformer.extensions.serve.service.jobs import BackgroundJob, JobCancelled
from glassformer.see import derive
from glassformer.see.expression import parse_equation
from glassformer.see.trace import Trace

from .conftest import Client

SENTENCE = "The cat is on the mat."
CROSS = "decoder.1.cross_attention.weights"


@pytest.fixture(scope="module")
def trace(client: Client, recording: str) -> Trace:
    return client.service.recordings.find(recording).trace


def get_array(client: Client, path: str) -> Any:
    found = client.ask(path)
    assert found.status == 200, found.body
    shape = [int(size) for size in found.headers["X-Shape"].split(",") if size]
    return np.frombuffer(found.body, "<f4").reshape(shape)


def test_models(client: Client) -> None:
    found = client.ask("/api/models").json
    assert [model["id"] for model in found["models"]] == ["demo", "demo-fr-en"]
    assert found["default"] == "demo" and found["limits"]["characters"] == 2000
    one = client.ask("/api/models/demo").json
    assert one["settings"]["model"]["d_model"] == 64
    assert one["weights"]["output_table.weight"] == [one["target_vocabulary"], 64]
    weight = get_array(client, "/api/models/demo/weights/output_table.weight?slice=5,:3")
    model = client.service.model_pool.load(client.service.model_pool.find("demo")).model
    assert weight.tolist() == model.output_table.weight[5, :3].tolist()


def test_tokens_and_vocabulary(client: Client) -> None:
    tokens = client.ask("/api/models/demo/tokens?text=the%20cat").json["tokens"]
    assert [(each["text"], each["start"], each["end"]) for each in tokens] == [
        (" the", 0, 3),
        (" cat", 3, 7),
    ]
    found = client.ask("/api/models/demo/vocabulary?begins=Cha&most=3").json
    assert 0 < len(found["tokens"]) <= 3
    assert all(each["text"].strip().lower().startswith("cha") for each in found["tokens"])


def test_recording_tells_how_it_goes_on(client: Client) -> None:
    events = client.stream("/api/trace", {"text": SENTENCE, "level": "attention"})
    names = [name for name, _ in events]
    assert names[0] == "start" and names[-1] == "done" and "progress" in names
    said = [data["text"] for name, data in events if data.get("stage") == "searching"]
    assert said[0] == "Le" and said[-1] == "Le chat est sur le tapis."
    assert events[-1][1]["translation"] == said[-1]


def test_a_sentence_of_several_is_chosen_and_the_whole_is_told(client: Client) -> None:
    """/translate of the same server says the same; a line break ends a sentence."""
    text = "The cat is on the mat. The dog bites the cat.\n\nThe street was wide"
    query = {"q": text, "source": "en", "target": "fr"}
    said = client.ask("/translate", query).json["translatedText"]
    for number, own in enumerate(["The cat is on the mat.", "The dog bites the cat."]):
        told = client.ask("/api/trace", {"text": text, "sentence": number}).json
        found = client.ask(f"/api/traces/{told['id']}").json
        assert (found["text"], found["whole"]["chosen"]) == (own, number)
        assert found["whole"]["text"] == text and found["whole"]["translation"] == said
        assert len(found["whole"]["sentences"]) == 3
    edits = {"edits": [{"do": "word", "word": "cat", "by": "dog"}]}
    changed = client.ask(f"/api/traces/{told['id']}/edit", edits).json
    assert changed["text"] == "The dog bites the dog."
    saved = client.ask(f"/api/traces/{told['id']}/file").body
    back = client.ask("/api/traces", saved, Content_Type="application/zip").json
    again = {"edits": edits["edits"], "model": "demo"}
    changed = client.ask(f"/api/traces/{back['id']}/edit", again).json
    assert changed["text"] == "The dog bites the dog."


def test_the_limit_that_is_named_is_the_one_that_holds(client: Client) -> None:
    """Of a model that reads less than the server records, its own."""
    longest = client.ask("/api/models/demo").json["longest"]
    text = {"text": "the cat " * 99, "target": "a"}
    allowed = client.service.limits
    try:
        object.__setattr__(
            client.service, "limits", allowed.model_copy(update={"tokens": 2 * longest})
        )
        said = client.ask("/api/trace", text).json["error"]
    finally:
        object.__setattr__(client.service, "limits", allowed)
    assert said.startswith(f"the sentence has 198 tokens: at most {longest - 1} are recorded")


def test_a_translation_that_looks_wrong_says_so(client: Client) -> None:
    """As `translate` says it; what was given and not searched for is not judged."""
    given = {"text": "The cat is on the mat.", "decode": {"max_extra": 2, "max_ratio": 0}}
    cut = client.ask("/api/trace", given).json["id"]
    kinds = [each["kind"] for each in client.ask(f"/api/traces/{cut}").json["problems"]]
    assert "cut" in kinds
    whole = client.ask("/api/trace", {"text": given["text"]}).json["id"]
    assert client.ask(f"/api/traces/{whole}").json["problems"] == []
    target = client.ask("/api/trace", {"text": given["text"], "target": given["text"]}).json["id"]
    assert client.ask(f"/api/traces/{target}").json["problems"] == []


def test_text_goes_out_compressed_and_streams_and_numbers_do_not(
    client: Client, recording: str
) -> None:
    def ask(path: str, **how: Any) -> Any:
        return client.ask(path, Accept_Encoding="gzip", **how)

    packed = ask(f"/api/traces/{recording}/opgraph")
    plain = client.ask(f"/api/traces/{recording}/opgraph")
    assert packed.headers["Content-Encoding"] == "gzip" and "Content-Encoding" not in plain.headers
    assert gzip.decompress(packed.body) == plain.body and 5 * len(packed.body) < len(plain.body)
    numbers = ask(f"/api/traces/{recording}/tensors/{CROSS}")
    stream = ask("/api/trace", body={"text": SENTENCE}, Accept="text/event-stream")
    for answer in (numbers, stream):
        assert answer.status == 200 and "Content-Encoding" not in answer.headers


@pytest.mark.parametrize(
    ("accepted", "is_packed"),
    [
        ("gzip;q=0", False),
        ("gzip; Q=0.000, *", False),
        ("xgzip", False),
        ("*;q=0", False),
        ("", False),
        ("br, *", True),
        ("br, GZIP;q=0.1", True),
        ("x-gzip", True),
    ],
)
def test_whether_gzip_is_accepted(client: Client, accepted: str, is_packed: bool) -> None:
    answer = client.ask("/spec", Accept_Encoding=accepted)
    assert (answer.headers["Content-Encoding"] == "gzip") is is_packed
    assert "Accept-Encoding" in answer.headers["Vary"]


def test_files_are_sent_whole(client: Client) -> None:
    for wrong in ("bytes=999999999-", "bytes=5-2", "lines=1-2", "bytes=0-3"):
        answer = client.ask("/", Range=wrong)
        assert (answer.status, answer.body) == (200, client.ask("/").body)


def test_an_error_repeats_whatever_was_sent(client: Client) -> None:
    for path in ("/api/trace", "/api/translate", "/api/samples"):
        answer = client.ask(
            path, b'{"text":"a","model":"\\ud800"}', Content_Type="application/json"
        )
        assert (answer.status, answer.json["error"]) == (404, "there is no model ?")


def test_document(client: Client, recording: str, trace: Trace) -> None:
    found = client.ask(f"/api/traces/{recording}").json
    assert found["model"] == "demo" and found["text"] == SENTENCE
    assert found["tensors"][CROSS] == {
        "file": "attention.safetensors",
        "shape": [*trace[CROSS].shape],
        "dims": ["head", "query", "key"],
    }
    assert [each["id"] for each in client.ask("/api/traces").json["traces"]].count(recording) == 1


def test_every_tensor(client: Client, recording: str, trace: Trace) -> None:
    found = client.ask(f"/api/traces/{recording}/tensors?level=everything")
    tensors = load(found.body)
    assert tensors.keys() == set(trace.names())
    for name, array in tensors.items():
        assert np.array_equal(array, trace[name]), name


@pytest.mark.parametrize(
    ("name", "slice", "index"),
    [
        (CROSS, "", np.s_[:]),
        (CROSS, "0,:,3:5", np.s_[0, :, 3:5]),
        (CROSS, "-1,::2", np.s_[-1, ::2]),
        ("decoder.1.cross_attention.masked", "0", np.s_[0]),
        ("decoder.1.self_attention.masked", "0", np.s_[0]),
        ("probabilities", "-1,10:20", np.s_[-1, 10:20]),
        ("source.ids", "", np.s_[:]),
        ("memory", "0,0", np.s_[0, 0]),
        ("output_table.weight", "7", np.s_[7]),
    ],
)
def test_slices(
    client: Client, recording: str, trace: Trace, name: str, slice: str, index: Any
) -> None:
    found = get_array(client, f"/api/traces/{recording}/tensors/{name}?slice={slice}")
    assert np.array_equal(found, trace[name][index].astype(np.float32))


@pytest.mark.parametrize(
    ("path", "status", "part"),
    [
        ("tensors/memoryy", 404, "did you mean memory"),
        ("tensors/memory?slice=99", 400, "out of range"),
        ("tensors/memory?slice=a", 400, "write it as"),
        ("tensors/memory?slice=0,0,0", 400, "2 axes, not 3"),
        ("tensors/memory?slice=::0", 400, "at least 1"),
        ("tensors/memory?slice=99999999999999999999", 400, "write it as"),
        ("tensors", 400, "names=a,b,c"),
        ("explain?name=memory&index=0", 400, "2 axes"),
        ("explain?name=memory&index=0,x", 400, "whole numbers"),
        ("explain?name=memory&index=0,9999", 400, "out of range"),
        ("top?step=99", 400, "out of range"),
        ("derive/mean?block=encoder.9.self_attention", 404, "did you mean encoder"),
        ("derive/mean", 400, "missing"),
        ("derive/mean?block=a&x=1", 400, "no parameter x"),
        ("derive/nothing", 404, "there is no derived nothing"),
        ("figures/V999", 404, "there is no picture V999"),
        ("figures/V49?layer=99", 400, "layer=99"),
        ("figures/V49?ax=1", 400, "no option"),
        ("figures/V21?positions=99999", 400, "positions=99999: a whole number from 1 to 512"),
        ("figures/V75?columns=0", 400, "columns=0: a whole number from 1 to 64"),
        ("figures/V84?sentence=1.5", 400, "sentence=1.5: a whole number"),
        ("figures/V50?heads=3,,3", 400, "heads=3,,3: whole numbers"),
        ("figures/V83?temperatures=", 400, "temperatures=“”: two numbers"),
        ("figures/V49?query=", 400, "query=“”: a token of the sentence"),
        ("figures/V84?watch=../../etc", 404, "there is no run"),
        ("figures/V49?format=gif", 400, "does not move"),
    ],
)
def test_mistakes(client: Client, recording: str, path: str, status: int, part: str) -> None:
    found = client.ask(f"/api/traces/{recording}/{path}")
    assert found.status == status and part in found.json["error"], found.body


def test_explain(client: Client, recording: str, trace: Trace) -> None:
    path = f"/api/traces/{recording}/explain?name={CROSS}&index=0,2,3"
    found, own = client.ask(path).json, trace.explain(CROSS, (0, 2, 3))
    assert math.isclose(found["value"], own.value) and found["latex"] == own.to_latex()
    assert found["axes"][2] == {"dim": "key", "index": 3, "token": trace.source[3].text}
    assert found["chain"][0]["name"] == CROSS
    assert found["chain"][-1]["name"].startswith(("source_embedding", "target_embedding"))
    assert found["links"]["section"] == "3.2.1"


def test_a_logit_is_that_of_an_entry_of_the_vocabulary(
    client: Client, recording: str, trace: Trace
) -> None:
    found = client.ask(f"/api/traces/{recording}/explain?name=logits&index=1,500").json
    position, entry = found["axes"]
    assert position == {"dim": "target", "index": 1, "token": trace.target[1].text}
    pool = client.service.model_pool
    token = pool.load(pool.default).tokenizers.target.token(500)
    assert entry == {"dim": "vocabulary", "index": 500, "token": token}


def test_of_many_terms_the_largest(client: Client, recording: str, trace: Trace) -> None:
    path = f"/api/traces/{recording}/explain?name=logits&index=1,500&most=5"
    found, own = client.ask(path).json, trace.explain("logits", (1, 500))
    values = [term.value for term in own.terms]
    largest = sorted(range(len(values)), key=lambda n: -abs(values[n]))[:5]
    assert [term["index"] for term in found["terms"]] == sorted(largest)
    assert found["left_out"]["terms"] == len(values) - 5
    shown = sum(term["value"] for term in found["terms"])
    assert math.isclose(shown + found["left_out"]["sum"], sum(values), abs_tol=1e-9)


def test_opgraph(client: Client, recording: str, trace: Trace) -> None:
    ops = client.ask(f"/api/traces/{recording}/opgraph").json["ops"]
    assert [op["name"] for op in ops] == [*trace.graph]
    scores = next(op for op in ops if op["name"] == "decoder.1.cross_attention.scores")
    name = "decoder.1.cross_attention"
    assert f"{name}.key[h,m,k]" in scores["equation"] and "sum[k]" in scores["equation"]
    assert (
        parse_equation(f"scores[h,q,m] = {scores['equation']}")[1]
        == trace.graph[scores["name"]].right
    )
    assert scores["level"] == "everything"


def test_derived(client: Client, recording: str, trace: Trace) -> None:
    base = f"/api/traces/{recording}/derive"
    block = CROSS.removesuffix(".weights")
    expected = {
        f"entropy?block={block}": derive.entropy(trace[CROSS]),
        f"mean?block={block}": derive.mean_over_heads(trace[CROSS]),
        f"max?block={block}": derive.max_over_heads(trace[CROSS]),
        f"values?block={block}": derive.weigh_values(trace, block),
        "rollout?side=decoder": derive.roll_out(trace, "decoder"),
    }
    for path, array in expected.items():
        assert np.allclose(get_array(client, f"{base}/{path}"), array, atol=1e-7), path
    words = get_array(client, f"{base}/word_weights?block={block}")
    assert np.allclose(words.sum(-1), 1, atol=1e-5)
    lens = client.ask(f"{base}/lens?k=1").json["layers"]
    assert [row[0]["id"] for row in lens[-1]] == trace["logits"].argmax(-1).tolist()
    told = client.ask(f"{base}/logit?row=0&token=500").json
    assert math.isclose(told["sum"], trace["logits"][0, 500], rel_tol=1e-4, abs_tol=1e-4)
    listed = {each["name"]: each for each in client.ask("/api/derive").json["derived"]}
    assert listed["entropy"]["parameters"] == ["block"] and listed["entropy"]["about"]


def test_edit(client: Client, recording: str) -> None:
    edits = [{"do": "silence", "name": "decoder.0.cross_attention"}]
    found = client.ask(f"/api/traces/{recording}/edit", {"edits": edits}).json
    assert found["base"] == recording and found["edits"] == edits
    assert found["changes"]["before"] == "Le chat est sur le tapis."
    assert found["changes"]["differences"]["memory"] == 0
    assert found["changes"]["differences"]["logits"] > 0
    forced = client.service.recordings.find(found["forced"]).trace
    assert forced.translation == found["changes"]["before"]
    again = client.ask(f"/api/traces/{found['id']}/edit", {"edits": []}).json
    assert again["id"] == recording
    wrong = client.ask(f"/api/traces/{recording}/edit", {"edits": [{"do": "silenc"}]})
    assert wrong.status == 400 and wrong.json["error"].startswith("edit 1")


def test_an_edit_tells_how_it_goes_on(client: Client, recording: str) -> None:
    edits = [{"do": "silence", "name": "decoder.0.cross_attention"}]
    events = client.stream(f"/api/traces/{recording}/edit", {"edits": edits})
    told = [(data["stage"], data["step"]) for name, data in events if name == "progress"]
    assert told.count(("recording", 0)) == 1
    assert {stage for stage, _ in told} == {"comparing", "recording", "searching"}
    assert events[-1][0] == "done" and events[-1][1]["edits"] == edits


def test_at_least_one_sample_is_drawn(client: Client) -> None:
    refused = client.ask("/api/samples", {"text": SENTENCE, "count": 0})
    assert refused.status == 400 and "count" in refused.json["error"]


def test_a_job_that_was_cancelled_says_nothing_more() -> None:
    async def say() -> None:
        job = BackgroundJob(60.0, lambda _: None)
        job.say("progress", step=1)
        job.cancel()
        with pytest.raises(JobCancelled):
            job.say("progress", step=2)
        await asyncio.sleep(0)
        events = job.events(beat=0.1)
        assert await anext(events) == ("progress", {"step": 1})
        assert await anext(events) is None
        await events.aclose()

    asyncio.run(say())


def test_force_another_word(client: Client) -> None:
    tokens = client.ask("/api/models/demo/vocabulary?begins=un&most=1").json["tokens"]
    given = {"text": SENTENCE, "prefix": [tokens[0]["id"]]}
    found = client.ask("/api/trace", given)
    assert found.status == 200 and found.json["translation"].startswith(tokens[0]["text"].strip())
    for prefix in ([10**6], [0], [-1]):
        assert client.ask("/api/trace", {**given, "prefix": prefix}).status == 400


def test_pictures(client: Client, recording: str) -> None:
    for path, begin in (
        ("V49", b"<svg "),
        ("V49?format=png&layer=1&head=2", b"\x89PNG"),
        ("V84", b"<svg "),
    ):
        found = client.ask(f"/api/traces/{recording}/figures/{path}")
        assert found.status == 200 and found.body.startswith(begin), found.body[:200]
    listed = client.ask("/api/figures").json["figures"]
    assert {"V01", "V49", "V105"} <= {each["id"] for each in listed}
    assert not any("ax" in each["options"] for each in listed)


def test_a_recording_goes_out_and_comes_back(client: Client, recording: str, trace: Trace) -> None:
    saved = client.ask(f"/api/traces/{recording}/file?parameters=true").body
    back = client.ask("/api/traces", saved, Content_Type="application/zip")
    assert back.status == 201 and back.json["model"] is None
    other = client.service.recordings.find(back.json["id"]).trace
    assert all(np.array_equal(other[name], trace[name]) for name in trace.names())
    edit = client.ask(f"/api/traces/{back.json['id']}/edit", {"edits": []})
    assert edit.status == 400 and "uploaded" in edit.json["error"]
    assert client.ask(f"/api/traces/{back.json['id']}", method="DELETE").status == 200
    assert client.ask(f"/api/traces/{back.json['id']}").status == 404


def _zip_again(saved: bytes, changed: dict[str, bytes], method: int) -> bytes:
    packed = io.BytesIO()
    with ZipFile(io.BytesIO(saved)) as old, ZipFile(packed, "w", method) as new:
        for name in old.namelist():
            new.writestr(name, changed.get(name, old.read(name)))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "status"),
    [
        ("trace.json", b"[" + b"[]," * 600_000 + b"0]", 413),
        ("trace.json", b" " * (17 << 20), 413),
        ("vocabulary.json", b"[" + b"0," * 1_100_000 + b"0]", 413),
        ("states.safetensors", (5 << 20).to_bytes(8, "little") + b" " * (5 << 20), 413),
        ("trace.json", b'{"schema_version": 3, "source": [' + b"0," * 200_000 + b"0]}", 400),
    ],
    ids=["lists", "spaces", "vocabulary", "tensors", "errors"],
)
def test_what_unpacks_to_much_to_read_is_refused(
    client: Client, recording: str, name: str, data: bytes, status: int
) -> None:
    """A few kB may say what takes gigabytes in memory."""
    saved = client.ask(f"/api/traces/{recording}/file").body
    packed = _zip_again(saved, {name: data}, ZIP_DEFLATED)
    begun = time.perf_counter()
    refused = client.ask("/api/traces", packed, Content_Type="application/zip")
    assert refused.status == status and name in refused.json["error"]
    assert len(refused.body) < 500 and time.perf_counter() - begun < 3


def test_a_recording_is_packed_as_usual(client: Client, recording: str) -> None:
    saved = client.ask(f"/api/traces/{recording}/file").body
    for method, status in ((ZIP_DEFLATED, 201), (ZIP_LZMA, 400)):
        packed = _zip_again(saved, {}, method)
        answer = client.ask("/api/traces", packed, Content_Type="application/zip")
        assert answer.status == status, answer.json
    assert "unusual" in answer.json["error"]


def test_translation_word_by_word(client: Client) -> None:
    given = {"text": f"{SENTENCE} I am a student.", "decode": {"search": "beam", "beam": 3}}
    events = client.stream("/api/translate", {**given, "candidates": 4})
    steps = [data for name, data in events if name == "step"]
    first = steps[0]
    assert [each["log_prob"] for each in first["candidates"]] == sorted(
        (each["log_prob"] for each in first["candidates"]), reverse=True
    )
    assert first["ids"][-1] == first["candidates"][0]["id"] and len(first["candidates"]) == 4
    assert 1 < len(first["hypotheses"]) <= 3
    name, done = events[-1]
    assert name == "done" and len(done["sentences"]) == 2
    assert done["translation"] == "Le chat est sur le tapis. Je suis étudiant."
    plain = client.ask("/api/translate", given).json
    assert plain == done
    last = [step for step in steps if step["sentence"] == 0][-1]
    best = max(last["hypotheses"], key=lambda each: each["finished"])
    assert best["text"] == done["sentences"][0]["text"]


def test_what_the_model_does_not_know_is_said(client: Client) -> None:
    """Under the names that `translate --json` has, for the text and for a recording."""
    text = "The cat is old. Die Katze ist alt. 猫"
    done = client.ask("/api/translate", {"text": text}).json
    kinds = [{each["kind"] for each in done["problems"] if each["part"] == n} for n in range(3)]
    assert not kinds[0] and {"language", "unsure"} <= kinds[1] and "unknown" in kinds[2]
    assert 0 < done["confidence"] <= 0.2 and len(done["sentences"]) == 3
    for said, wanted in (
        ("The cat is old.", set()),
        ("Die Katze ist alt.", {"language", "unsure"}),
    ):
        kept = client.ask("/api/trace", {"text": said}).json
        trace = client.ask(f"/api/traces/{kept['id']}").json
        assert {each["kind"] for each in trace["problems"]} >= wanted
        assert bool(trace["problems"]) == bool(wanted) and trace["confidence"] > 0
    passed = client.ask("/api/translate", {"text": "🙂🙂"}).json
    assert passed["translation"] == "🙂🙂" and passed["problems"] == []


def test_a_setting_turns_its_search_on(client: Client) -> None:
    given = {"text": "I am a student.", "decode": {"beam": 3}}
    kept = client.ask("/api/trace", given).json
    settings = client.ask(f"/api/traces/{kept['id']}").json["search"]["settings"]
    assert (settings["search"], settings["beam"]) == ("beam", 3)
    both = client.ask("/api/trace", {"text": "a", "decode": {"beam": 3, "top_k": 4}})
    assert both.status == 400 and "say which search" in both.json["error"]


@pytest.mark.parametrize(
    ("path", "given", "part"),
    [
        ("/api/trace", {}, "missing text"),
        ("/api/trace", {"text": " "}, "no text"),
        ("/api/trace", {"text": "a", "x": 1}, "unknown key x"),
        ("/api/trace", {"text": "a", "level": "all"}, "level"),
        ("/api/trace", {"text": "the cat " * 60, "target": "le chat"}, "tokens: at most 64"),
        ("/api/trace", {"text": "A cat. A dog.", "sentence": 2}, "there are 2, 0 to 1"),
        ("/api/trace", {"text": "A cat. A dog.", "sentence": 1, "target": "b"}, "no effect"),
        ("/api/trace", {"text": "a", "target": "b", "prefix": "c"}, "no effect"),
        ("/api/trace", {"text": "a", "decode": {"beem": 2}}, "did you mean decode.beam"),
        ("/api/trace", {"text": "a", "decode": {"beam": 99}}, "at most 16"),
        ("/api/trace", {"text": "a", "hypothesis": 99}, "hypothesis=99"),
        ("/api/translate", {"text": "a" * 2001}, "at most 2000"),
        ("/api/translate", {"text": "a", "candidates": 99}, "candidates"),
    ],
)
def test_bad_requests(client: Client, path: str, given: Any, part: str) -> None:
    found = client.ask(path, given)
    assert found.status == 400 and part in found.json["error"], found.body


def test_errors_in_a_stream(client: Client) -> None:
    name, data = client.stream("/api/trace", {"text": " "})[-1]
    assert name == "error" and data["status"] == 400 and "no text" in data["error"]
    assert client.ask("/api/trace", {"text": "a", "model": "dem"}).status == 404


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
def test_a_client_that_leaves_ends_the_work(client: Client, accept: str) -> None:
    given = {"text": "the cat " * 240, "decode": {"min_length": 60, "max_extra": 99}}
    body = json.dumps(given).encode()
    head = (
        f"POST /api/translate HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret\r\n"
        f"Accept: {accept}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", client.port)) as sock:
        sock.sendall(head.encode() + body)
        while not client.service.jobs.waiting:
            time.sleep(0.001)
    end = time.monotonic() + 10
    while client.service.jobs.waiting and time.monotonic() < end:
        time.sleep(0.02)
    assert not client.service.jobs.waiting


def test_cancel(client: Client) -> None:
    assert client.ask("/api/jobs/none", method="DELETE").status == 404


def test_catalogue(client: Client) -> None:
    entries = client.ask("/api/catalogue").json["entries"]
    assert all(entry["en"] and entry["zh"] for entry in entries.values())


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/translate", {"q": "The cat is old.", "source": "en", "target": "fr", "stream": True}),
        ("/api/translate", {"text": "The cat is old."}),
        ("/api/trace", {"text": "The cat is old."}),
        ("/api/samples", {"text": "The cat is old.", "count": 2}),
        ("/api/traces/{id}/edit", {"edits": []}),
        ("/api/traces/{id}/heads", {"step": 1}),
        ("/api/traces/{id}/cuts", {"rows": [0], "groups": [[0]]}),
        ("/api/traces/{id}/gradients", {"rows": [0]}),
        ("/api/traces/{id}/circuit", {"counterpart": "The cat is old."}),
    ],
)
def test_the_openapi_document_names_streams(
    client: Client, recording: str, path: str, body: dict[str, Any]
) -> None:
    events = client.stream(path.replace("{id}", recording), body)
    assert events[-1][0] == "done"
    answers = client.ask("/spec").json["paths"][path]["post"]["responses"]["200"]["content"]
    assert answers.keys() == {"application/json", "text/event-stream"}


def test_the_openapi_document_is_whole(client: Client) -> None:
    document = client.ask("/spec").json
    text = json.dumps(document)
    names = document["components"]["schemas"].keys()
    wanted = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert wanted <= names and "422" not in text
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation.get("summary"), path
            assert operation.get("description"), path
    assert {"/translate", "/api/trace", "/api/traces/{id}/explain"} <= document["paths"].keys()
    for path in ("/translate", "/detect", "/translate_file"):
        assert document["paths"][path]["post"]["requestBody"]["required"], path
