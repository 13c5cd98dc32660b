"""The engine as WebAssembly finds the same tokens as the one for this machine."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from glassformer.config import EOS, Config, Decode
from glassformer.engine.native_engine import NativeEngine
from glassformer.extensions.wheels.targets import build_wasm
from glassformer.foundation.shared_library.compiler import find_compiler, has_zig
from glassformer.model.files.directory import (
    WEIGHTS,
    build_model,
    locate,
    open_model,
    save_model,
)

from .conftest import compile_engine

LOADER = Path(__file__).parents[3] / "web" / "src" / "engine-wasm"
SCRIPT = Path(__file__).with_name("wasm.mjs")
MOST = 150_000  # bytes
TEXTS = [
    "the old woman sees a small dog in the garden .",
    "the children play .",
    "we have read the book that my brother gave to you .",
    "yes .",
]
SEARCHES = [
    {"beam": 1},
    {"beam": 5, "alpha": 0.6, "penalty": "gnmt"},
    {"beam": 3, "stop": "first", "penalty": "power", "noRepeat": 2, "minLength": 4},
]

pytestmark = pytest.mark.skipif(not has_zig(), reason="ziglang is not installed")


@pytest.fixture(scope="module")
def wasm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wasm(tmp_path_factory.mktemp("wasm") / "engine.wasm")


@pytest.fixture(scope="module")
def sources() -> list[list[int]]:
    _, tokenizers, _ = open_model("demo")
    return [[*row, EOS] for row in tokenizers.source.encode_many(TEXTS)]


@pytest.fixture(scope="module")
def generic(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Return the engine of any processor."""
    if find_compiler() is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("generic")
    return ctypes.CDLL(str(compile_engine(folder, "generic", "-shared", "-fPIC")))


@pytest.fixture(scope="module")
def wanted(sources: list[list[int]], generic: ctypes.CDLL) -> list[list[list[int]]]:
    """Return what the engine of any processor finds with each of the searches."""
    return search_natively(Path(locate("demo")), sources, generic)


def search_natively(
    model: Path, sources: list[list[int]], library: ctypes.CDLL
) -> list[list[list[int]]]:
    config, _, weights = open_model(model)
    engine = NativeEngine.open(config.model, weights.tensors, library=library)
    return [
        [best[0].tokens for best in engine.search(sources, describe(search))] for search in SEARCHES
    ]


def describe(search: dict[str, Any]) -> Decode:
    return Decode(
        search="greedy" if search["beam"] == 1 else "beam",
        beam=max(search["beam"], 2),
        alpha=search.get("alpha", 0.6),
        length_penalty=search.get("penalty", "gnmt"),
        stop=search.get("stop", "exact"),
        no_repeat_ngram_size=search.get("noRepeat", 0),
        min_length=search.get("minLength", 0),
    )


def run_node(wasm: Path, weights: Path, **request: Any) -> dict[str, Any]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node")
    done = subprocess.run(
        [node, str(SCRIPT), str(LOADER / "engine.js"), str(wasm), str(weights)],
        input=json.dumps({"positions": 128, **request}),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_is_small_and_asks_nothing_of_its_host(wasm: Path) -> None:
    assert wasm.stat().st_size < MOST
    node = shutil.which("node") or pytest.skip("no Node")
    code = f"new WebAssembly.Module(require('fs').readFileSync({json.dumps(str(wasm))}))"
    done = subprocess.run(
        [node, "-p", f"WebAssembly.Module.imports({code}).length"], capture_output=True, check=True
    )
    assert done.stdout.strip() == b"0"


@pytest.mark.parametrize("place", range(len(SEARCHES)))
def test_node_finds_the_same_tokens(
    wasm: Path, sources: list[list[int]], wanted: list[list[list[int]]], place: int
) -> None:
    weights = locate("demo") / WEIGHTS
    found = run_node(wasm, weights, sources=sources, search=SEARCHES[place])["found"]
    assert [each["tokens"] for each in found] == wanted[place]
    assert all(each["finished"] for each in found)
    assert all(sum(each["logProbs"]) == pytest.approx(each["logProb"], abs=1e-4) for each in found)


def test_node_computes_recurrent_decoders(
    wasm: Path, sources: list[list[int]], generic: ctypes.CDLL, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(7)
    _, tokenizers, _ = open_model("demo")
    shape = {"d_model": 24, "d_ff": 40, "heads": 2, "encoder_layers": 1, "decoder_layers": 2}
    config = Config.read({"model": {**shape, "decoder": "ssru"}})
    network = build_model(config, tokenizers)
    with torch.no_grad():
        network.output_table.weight.mul_(3)
    save_model(tmp_path, config, tokenizers, network.state_dict())
    for search, best in zip(SEARCHES, search_natively(tmp_path, sources, generic), strict=True):
        found = run_node(wasm, tmp_path / WEIGHTS, sources=sources, search=search)["found"]
        assert [each["tokens"] for each in found] == [
            tokens[:-1] if tokens[-1:] == [EOS] else tokens for tokens in best
        ]


def test_bad_input_is_refused_in_one_sentence(
    wasm: Path, sources: list[list[int]], tmp_path: Path
) -> None:
    good = (locate("demo") / WEIGHTS).read_bytes()
    cut, garbled = tmp_path / "cut", tmp_path / "garbled"
    cut.write_bytes(good[:-100])
    garbled.write_bytes(good[:8] + b"x" * 100 + good[108:])
    ask = partial(run_node, wasm, sources=sources, search={})
    assert "damaged" in ask(cut)["error"]
    assert "no JSON" in ask(garbled)["error"]
    weights = locate("demo") / WEIGHTS
    said = run_node(wasm, weights, sources=[[99999, EOS]], search={})["error"]
    assert said == "a token is not in the vocabulary"
    said = run_node(wasm, weights, sources=[[5]], search={})["error"]
    assert said == "the ids of a source end with EOS (2)"
    said = run_node(wasm, weights, positions=0, sources=sources, search={})["error"]
    assert said == "a setting is out of its bounds"


@pytest.fixture
def address(wasm: Path, tmp_path: Path) -> Iterator[str]:
    """Serve the loader, the engine and the weights on a port of this machine."""
    for path in (*LOADER.glob("*.js"), wasm, locate("demo") / WEIGHTS):
        shutil.copyfile(path, tmp_path / path.name)
    (tmp_path / "index.html").write_text("<title>engine</title>", encoding="utf-8")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_chromium_finds_the_same_tokens(
    address: str, sources: list[list[int]], wanted: list[list[list[int]]], browsers: Any
) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium")
    browser = browsers.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    page = browser.new_page()
    page.goto(address)
    found = page.evaluate(
        """async ([sources, search]) => {
            const { WasmEngine } = await import("./engine.js");
            const [wasm, weights] = await Promise.all(["engine.wasm", "model.safetensors"].map(
                async (name) => new Uint8Array(await (await fetch(name)).arrayBuffer())));
            const engine = await WasmEngine.open(wasm, weights, { maxPositions: 128 });
            return engine.translate(sources, search).map((each) => each.tokens);
        }""",
        [sources, SEARCHES[1]],
    )
    browser.close()
    assert found == wanted[1]
