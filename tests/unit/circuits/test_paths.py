"""Paths between two heads: equal to a plain loop in which one reading is patched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.circuits.test_edges import HERE, THERE, Loop, lead, make_network
from tests.unit.circuits.test_why import PAGES, TIRED, WIDE

from glassformer.cli import main
from glassformer.extensions.circuits.edges import EdgeNetwork
from glassformer.extensions.circuits.faithfulness import CircuitEdge
from glassformer.extensions.circuits.paths import READINGS, PathPatching

WITHIN = ("decoder.0.cross_attention.1", "decoder.1.self_attention.3")
ACROSS = ("encoder.1.self_attention.2", "decoder.1.cross_attention.0")


def patch(network: Any, sender: str, receiver: str, kinds: tuple[str, ...]) -> float:
    """Return which part of the way to the other sentence a plain loop goes."""
    other = Loop(network, set(), {})
    other.run(THERE)
    side = "source" if sender.startswith("encoder") else "target"
    cut = {CircuitEdge(sender, f"{receiver}.{kind}", side, at) for kind in kinds for at in range(5)}
    whole, nothing = lead(network, HERE), lead(network, THERE)
    return (whole - Loop(network, cut, other.written).run(HERE)) / (whole - nothing)


def start(network: Any, *, by_head: bool = True) -> PathPatching:
    edges = EdgeNetwork(network, by_head=by_head)
    edges.run([HERE])
    return PathPatching(edges, HERE, edges.run([THERE]).written)


@pytest.mark.parametrize(
    ("pair", "kinds"), [(WITHIN, READINGS), (ACROSS, ("key", "value"))], ids=["within", "across"]
)
def test_a_path_is_that_of_a_plain_loop(pair: tuple[str, str], kinds: tuple[str, ...]) -> None:
    network = make_network(norm="pre", positions={"layout": "interleaved"})
    (found,) = start(network).measure([pair])
    assert set(found.kinds) == set(kinds)
    for kind in kinds:
        assert found.kinds[kind] == pytest.approx(patch(network, *pair, (kind,)), abs=1e-9)
    assert found.together == pytest.approx(patch(network, *pair, kinds), abs=1e-9)
    assert found.most > 1e-6


def test_the_strongest_of_all_paths_is_found() -> None:
    patching = start(make_network(norm="pre"))
    every = patching.measure([*patching.edges])
    best = max(every, key=lambda each: each.most)
    found = patching.find(3, tried=20)
    assert found[0] == best and [each.most for each in found] == sorted(
        (each.most for each in found), reverse=True
    )


def test_a_path_leads_forward_between_known_heads() -> None:
    patching = start(make_network(norm="pre"))
    with pytest.raises(ValueError, match="no edge leads from decoder"):
        patching.measure([ACROSS[::-1]])
    with pytest.raises(ValueError, match=r"did you mean encoder\.1\.self_attention\.2\?"):
        patching.measure([("encoder.1.self_attention.22", ACROSS[1])])
    with pytest.raises(ValueError, match="must tell heads apart"):
        start(make_network(norm="pre"), by_head=False)


def test_the_command_lists_paths(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = ["why", "demo", WIDE, "--word", "elle", "--rival", "il", "--counterpart", TIRED]
    assert main([*asked, "--path", "all", "-o", str(tmp_path / "paths.json")]) == 0
    said = capsys.readouterr().out
    found = json.loads((tmp_path / "paths.json").read_text(encoding="utf-8"))
    assert len(found["paths"]) == 10 and found["lead"] > 0 > found["nothing"]
    for page in PAGES:
        lines = [
            each for each in page.read_text("utf-8").split("\n") if each.startswith("  decoder")
        ]
        assert len(lines) == 3 and all(each in said for each in lines)
    best = found["paths"][0]
    assert best["sender"] in said and best["receiver"] in said
    path = f"{best['sender']} -> {best['receiver']}"
    assert main([*asked, "--path", path, "--json"]) == 0
    (again,) = json.loads(capsys.readouterr().out)["paths"]
    for kind, effect in best["kinds"].items():
        assert again["kinds"][kind] == pytest.approx(effect, abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--path", "all"], "--path needs a --counterpart"),
        (["--path", "decoder.0", "--counterpart", TIRED], "all, or two heads"),
        (["--path", "a -> b", "--counterpart", TIRED], "there is no head 'a'"),
        (["--path", "all", "--counterpart", TIRED, "--by", "head"], "--path searches no circuit"),
        (["--path", "all", "--counterpart", TIRED, "--methods"], "--methods needs no counterpart"),
    ],
)
def test_the_command_refuses(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["why", "demo", WIDE, "--word", "elle", "--rival", "il", *arguments]) == 2
    assert said in capsys.readouterr().err
