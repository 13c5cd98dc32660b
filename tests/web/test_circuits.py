"""Circuits in the browser are held to Python's: the same edges, the same shares."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from opening import Server, find_faults, wait_until
from safetensors.torch import save_file
from test_living import load_quantized, run_vitest
from tests.unit.circuits.test_edges import HERE, SHAPE, THERE, make_network

from glassformer.config import Model
from glassformer.extensions.circuits import interactive
from glassformer.extensions.circuits.circuit import find_circuit
from glassformer.extensions.circuits.edges import EdgeNetwork, WordContrast
from glassformer.extensions.circuits.examples import list_examples, record_questions
from glassformer.extensions.circuits.faithfulness import Faithfulness
from glassformer.extensions.circuits.flows import measure_hidden
from glassformer.extensions.circuits.interactive import CircuitQuestion, Unanswerable, ask_circuit
from glassformer.extensions.circuits.why import average_written
from glassformer.extensions.serve.page import SavedPage
from glassformer.extensions.site.living import build_living_page
from glassformer.extensions.site.portable import pack_model
from glassformer.model.files.directory import locate, open_model, save_model
from glassformer.model.networks import build_network
from glassformer.see.tokens import read_source
from glassformer.translator import Translator

NETWORKS: dict[str, dict[str, Any]] = {
    "pre": {"norm": "pre"},
    "post": {"norm": "post"},
    "ssru": {"decoder": "ssru", "norm": "pre"},
    "ssru-post": {"decoder": "ssru"},
    "grouped": {"key_value_heads": 2, "norm": "pre"},
    "gated": {"gated": True, "activation": "silu", "normalization": "rms", "norm": "pre"},
}
SHORT = "The cat bites the dog."
ASKED = (
    ("The animal didn't cross the street because it was too wide.", 7, "wide", "tired"),
    ("The animal didn't cross the street because it was too tired.", 7, "tired", "wide"),
    (SHORT, 1, "cat", "frog"),
    ("The dog didn't cross the bridge because it was too long.", 5, "bridge", "square"),
)
OTHERS = (  # a mean is over sentences of several lengths
    WordContrast((4, 9, 3), (2, 8), (0, 1)),
    WordContrast((5, 9, 19, 7, 13, 6, 3), (2, 8, 6, 12, 15, 10), (0, 1)),
    WordContrast((8, 18, 7, 3), (2, 11, 6), (0, 1)),
)
WIDE = "The animal didn't cross the street because it was too wide."


def _describe(name: str, folder: Path) -> dict[str, Any]:
    """Write a small network with random weights; return what Python says of its edges."""
    network = make_network(**NETWORKS[name]).float().double()
    save_file(
        {key: each.float().clone() for key, each in network.state_dict().items()},
        folder / f"{name}.safetensors",
    )
    edges = {by: EdgeNetwork(network, by_head=by == "head") for by in ("block", "head")}
    here, there, *others = (edges["block"].run([each]).written for each in (HERE, THERE, *OTHERS))
    return {
        "settings": Model.model_validate(SHAPE | NETWORKS[name]).model_dump(mode="json"),
        "contrast": HERE._asdict(),
        "here": _embed(here),
        "there": _embed(there),
        "others": [
            contrast._asdict() | {"embedded": _embed(written)}
            for contrast, written in zip(OTHERS, others, strict=True)
        ],
        "foretold": measure_hidden(edges["block"], HERE, THERE)["held"],
        "by": {by: _measure_both(each) for by, each in edges.items()},
    }


def _measure_both(edges: EdgeNetwork) -> dict[str, Any]:
    """Return what circuits keep against the counterpart and against a mean, and all edges."""
    found = Faithfulness(edges, [HERE], edges.run([THERE]).written, by_position=True)
    mean = Faithfulness(edges, [HERE], average_written(edges, OTHERS), by_position=True)
    return {
        "names": ["|".join(map(str, each)) for each in found.name(torch.arange(found.size))],
        "measured": {"counterpart": _measure(found), "mean": _measure(mean)},
    }


def _measure(found: Faithfulness) -> dict[str, Any]:
    """Return what circuits keep, well chosen ones and random ones."""
    generator = torch.Generator().manual_seed(3)
    drawn = [
        torch.randperm(found.size, generator=generator)[: found.size * n // 9].tolist()
        for n in range(1, 9)
    ]
    circuit = find_circuit(found) if found.span > 0 else None
    return {
        "whole": found.whole,
        "nothing": found.nothing,
        "gains": found.integrate().tolist(),
        "drawn": [
            {
                "edges": each,
                "kept": found.measure_one(torch.tensor(each)),
                "without": found.measure_one(torch.tensor(each), 1.0),
                "slopes": found.differentiate(torch.tensor(each)).tolist(),
            }
            for each in drawn
        ],
        "circuit": None if circuit is None else sorted(circuit.tolist()),
    }


def _embed(written: dict[str, torch.Tensor]) -> dict[str, Any]:
    return {side: written[f"{side}_embedding"][0].tolist() for side in ("source", "target")}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("circuits")
    (folder / "model").write_bytes(pack_model("demo"))
    translator = load_quantized("demo", folder / "demo")
    examples = record_questions(translator, list_examples(locate("demo")))
    asked = []
    for text, step, word, by in ASKED:
        trace = translator.see(text)
        for counterpart in (text.replace(word, by), None):
            ids = counterpart and [each.id for each in read_source(translator, counterpart)]
            for by_head in (False, True) if text == SHORT and counterpart else (False,):
                question = ask_circuit(trace, step, None, ids or None, examples, by_head=by_head)
                assert isinstance(question, CircuitQuestion)
                request = {"step": step, "rival": None, "counterpart": counterpart}
                request["by_head"] = by_head
                asked.append({"text": text, "request": request, "answer": question.search()})
    networks = {name: _describe(name, folder) for name in NETWORKS}
    document = {"networks": networks, "asked": asked}
    (folder / "told.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


@pytest.mark.thorough
def test_the_page_finds_the_circuits_that_python_finds(told: Path) -> None:
    found = json.loads((told / "told.json").read_text(encoding="utf-8"))
    for elsewhere in ("counterpart", "mean"):
        for by in ("block", "head"):
            all_by = [each["by"][by]["measured"] for each in found["networks"].values()]
            made = sum(each[elsewhere]["circuit"] is not None for each in all_by)
            assert made >= 3, "networks whose random weights make a difference"
    for is_mean in (False, True):
        own = [each for each in found["asked"] if (each["answer"]["mean_of"] > 0) == is_mean]
        assert sum(each["answer"]["found"] is not None for each in own) >= 3
    assert "skipped" not in run_vitest("tests/circuits.test.ts", CIRCUITS=str(told))


def test_what_cannot_be_asked_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = load_quantized("demo", tmp_path / "refused")
    trace = translator.see("The cat bites the dog.")
    ids = [each.id for each in trace.source]
    assert ask_circuit(trace, 1, None, ids) == Unanswerable("same")
    longer = ask_circuit(trace, 1, None, [*ids, 3])
    assert longer == Unanswerable("longer", (len(ids) + 1, len(ids)))
    assert ask_circuit(trace, 1, None, None) == Unanswerable("alone")
    cut = translator.see("The cat bites the dog.", edits=[{"do": "cut", "word": "cat"}])
    assert ask_circuit(cut, 1, None, [*ids[:-1], 7]) == Unanswerable("edited")
    for most, by_head in (("MOST_EDGES", False), ("MOST_BY_HEAD", True)):
        monkeypatch.setattr(interactive, most, 100)
        found = ask_circuit(trace, 1, None, [*ids[:-1], 7], by_head=by_head)
        assert isinstance(found, Unanswerable) and found.kind == "long"
        assert found.numbers[0] > found.numbers[1] == 100
    with pytest.raises(ValueError, match="rival"):
        ask_circuit(trace, 1, trace.predicted[1].id, [*ids[:-1], 7])


@pytest.mark.parametrize("network", ["rnn", "ssru"])
def test_other_networks_have_a_circuit_or_say_why_not(network: str, tmp_path: Path) -> None:
    config, tokenizers, _ = open_model(locate("demo"))
    layers: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16}
    changes: dict[str, dict[str, Any]] = {
        "rnn": {"network": "rnn"},
        "ssru": {"decoder": "ssru", "heads": 2, "d_ff": 32},
    }
    settings = Model.model_validate(layers | changes[network])
    sizes = [len(each) for each in tokenizers]
    torch.manual_seed(5)
    weights = dict(build_network(settings, sizes[0], sizes[-1]).state_dict())
    save_model(tmp_path, config.model_copy(update={"model": settings}), tokenizers, weights)
    translator = Translator.load(tmp_path, device="cpu", precision="fp32")
    trace = translator.see("The cat bites the dog.", target="Le chat mord le chien.")
    other = [each.id for each in read_source(translator, "The frog bites the dog.")]
    for by_head in (False, True):
        asked = ask_circuit(trace, 1, None, other, by_head=by_head)
        if network == "rnn":
            assert asked == Unanswerable("recurrent")
            continue
        assert isinstance(asked, CircuitQuestion)
        every = [*range(asked.faithfulness.size)]
        assert asked.keep(every) == pytest.approx(1, abs=1e-3)
        names = {each.reader for each in asked.faithfulness.name(torch.tensor(every))}
        assert ("decoder.0.cross_attention.1.key" in names) == by_head


@pytest.fixture(scope="module")
def door(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The first door in a page without a server, at qu'elle."""
    place = tmp_path_factory.mktemp("door") / "class.html"
    SavedPage(build_living_page(["demo"])).save(place)
    context = browser.new_context(offline=True, locale="en", reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{place.as_uri()}#/why?step=7")
    page.wait_for_selector("[data-circuit=found]")
    yield page
    context.close()


def test_the_first_door_shows_the_circuit(door: Any) -> None:
    assert door.locator(".other input").input_value() == WIDE.replace("wide", "tired")
    said = door.locator("[data-keeps]").inner_text()
    assert "of 3,535 edges keep 90." in said and "random: 0%" in said
    assert door.locator("text.word").all_text_contents() == ["wide", "parce"]
    assert "circuit misses 9." in door.locator("[data-error]").inner_text()
    assert "foretells −4." in door.locator("[data-hidden]").inner_text()
    assert find_faults(door) == []


def test_the_mean_over_examples_is_beside_it(door: Any) -> None:
    other, mean = (door.locator(f"[data-elsewhere={each}]") for each in ("counterpart", "mean"))
    door.wait_for_selector("[data-elsewhere=mean]:not([disabled])")
    assert other.locator("[data-short]").inner_text() == door.locator("[data-keeps]").inner_text()
    assert "mean of 4 examples" in mean.inner_text()
    assert "of 3,535 edges keep 9" in mean.inner_text()
    try:
        mean.click()
        shown = door.locator("[data-keeps]").inner_text()
        assert shown == mean.locator("[data-short]").inner_text()
        assert door.locator("[data-hidden]").count() == 0
        assert "with all edges at their mean" in door.locator("[data-circuit]").inner_text()
        door.locator("[data-line='0']").press("Enter")
        wait_until(door, "was => document.querySelector('[data-keeps]').innerText !== was", shown)
        assert find_faults(door) == []
    finally:
        other.click()
    assert door.locator("[data-line][aria-pressed=true]").count() == 0


def test_an_edge_is_cut_by_hand_and_the_bar_answers(door: Any) -> None:
    before = door.locator("[data-keeps]").inner_text()
    door.locator(".scroll").focus()
    door.keyboard.press("Tab")
    first = door.evaluate("document.activeElement.dataset.line")
    door.keyboard.press("ArrowRight")
    assert door.evaluate("document.activeElement.dataset.line") != first
    door.keyboard.press("ArrowLeft")
    door.keyboard.press("Enter")
    door.wait_for_function(
        "before => document.querySelector('[data-keeps]').innerText !== before", arg=before
    )
    now = door.locator("[data-keeps]").inner_text()
    kept = float(now.split("keep ")[1].split("%")[0].replace("−", "-"))
    assert kept < 70, "without the edge that is needed most"
    assert door.locator("[data-line][aria-pressed=true]").count() == 1
    door.get_by_role("button", name="Mend all").click()
    assert door.locator("[data-keeps]").inner_text() == before


@pytest.mark.parametrize("width", [390, 1280])
def test_no_text_of_the_drawing_overlaps(door: Any, width: int) -> None:
    assert measure_drawing(door, width) <= width


def measure_drawing(door: Any, width: int) -> float:
    """Return how far its texts reach; none may overlap, nor may the page be wider than this."""
    door.set_viewport_size({"width": width, "height": 844})
    door.wait_for_timeout(200)
    boxes = door.locator(".circuit svg text").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect()).map(({left, right, top, bottom}) => "
        "({left: left + 1, right: right - 1, top: top + 2.5, bottom: bottom - 2.5}))"
    )
    for n, one in enumerate(boxes):
        for other in boxes[:n]:
            beside = one["right"] <= other["left"] or other["right"] <= one["left"]
            above = one["bottom"] <= other["top"] or other["bottom"] <= one["top"]
            assert beside or above, (one, other)
    assert door.evaluate("document.documentElement.scrollWidth") <= width
    return float(max(each["right"] for each in boxes))


def test_a_search_by_head_tells_how_far_it_is_and_can_be_stopped(door: Any) -> None:
    before = door.locator("[data-keeps]").inner_text()
    door.locator("[data-by=head]").click()
    status = door.locator("[data-circuit=busy]")
    status.get_by_text("181,806 edges are left").wait_for()
    assert door.locator("[data-keeps]").count() == 0
    assert find_faults(door) == []
    door.locator("[data-stop]").click()
    assert door.locator("[data-keeps]").inner_text() == before
    assert door.locator("[data-by=block]").get_attribute("aria-pressed") == "true"
    assert door.locator("[data-stop]").count() == door.locator("[data-whole]").count() == 0


@pytest.mark.thorough
def test_the_first_door_tells_heads_apart(door: Any) -> None:
    door.set_default_timeout(300_000)
    door.locator("[data-by=head]").click()
    door.wait_for_selector("[data-circuit=found]")
    door.set_default_timeout(60_000)
    said = door.locator("[data-keeps]").inner_text()
    assert "of 181,806 edges keep 90." in said and "random: 0%" in said
    assert "click to search" in door.locator("[data-elsewhere=mean]").inner_text()
    assert find_faults(door) == []
    for width in (390, 1280):
        measure_drawing(door, width)  # on a phone it scrolls inside its frame
    head = door.locator("[data-whole]").first
    assert head.inner_text() == "Decoder, cross-att. 2, head 4"
    head.click()
    wait_until(door, "was => document.querySelector('[data-keeps]').innerText !== was", said)
    left = door.locator("[data-keeps]").inner_text()
    assert float(left.split("keep ")[1].split("%")[0].replace("−", "-")) < 70
    door.locator("summary").last.click()
    listed = door.locator("details").last.inner_text()
    assert ", its key, at wide" in listed and ", its query, at parce" in listed
    door.locator("[data-by=block]").click()
    assert "of 3,535 edges" in door.locator("[data-keeps]").inner_text()


@pytest.mark.thorough
def test_the_server_answers_as_the_page_does(page: Any, server: Server) -> None:
    page.set_default_timeout(60_000)
    page.goto(server.url("why", text=WIDE, step=7))
    page.wait_for_selector("[data-circuit=found]")
    said = page.locator("[data-keeps]").inner_text()
    assert "of 3,535 edges keep 90." in said and "random: 0%" in said
    page.locator("[data-line='0']").focus()
    page.keyboard.press("Enter")
    wait_until(page, "before => document.querySelector('[data-keeps]').innerText !== before", said)
    page.locator("[data-by=head]").click()
    page.wait_for_selector("[data-circuit=busy]")
    page.locator("[data-stop]").click()
    assert "of 3,535 edges" in page.locator("[data-keeps]").inner_text()
    page.locator(".other input").fill(WIDE.replace("too", "too too"))
    page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_selector("[data-circuit=none]")
    assert "only sentences of as many" in page.locator("[data-circuit]").inner_text()
