"""Models are fetched by name from a folder or a web server, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.client import HTTPResponse
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from glassformer.cli import main
from glassformer.extensions.model_store.index import INDEX
from glassformer.model.files.directory import CONFIG, MODELS, SHIPPED, WEIGHTS, locate
from glassformer.train.publish.card import list_changed, read_facts

NAME = "demo-fr-en"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(MODELS, str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with one model, which has another name than those of the package."""
    own = tmp_path / "model" / "own"
    own.mkdir(parents=True)
    for path in (SHIPPED / NAME).iterdir():
        (own / path.name).write_bytes(path.read_bytes())
    assert main(["models", str(own), "--pack", str(tmp_path / "place")]) == 0
    return tmp_path / "place"


@pytest.fixture
def address(place: Path) -> Iterator[str]:
    handler = partial(SimpleHTTPRequestHandler, directory=str(place))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def change_entry(place: Path, **changes: Any) -> None:
    path = place / INDEX
    listed = json.loads(path.read_text(encoding="utf-8"))
    listed["models"][0] |= changes
    path.write_text(json.dumps(listed), encoding="utf-8")


def change_archive(place: Path, files: dict[str, bytes], unpacked: int | None = None) -> None:
    """Put another archive in the place, with the right sum of the file."""
    path = place / "own.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    data = path.read_bytes()
    change_entry(
        place,
        sha256=hashlib.sha256(data).hexdigest(),
        bytes=len(data),
        unpacked=unpacked or sum(map(len, files.values())),
    )


def read_files(folder: Path = SHIPPED / NAME) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def is_clean(home: Path) -> bool:
    return not home.exists() or not [*home.iterdir()]


@pytest.mark.parametrize("is_web", [False, True])
def test_a_model_is_fetched_and_named(
    is_web: bool, place: Path, address: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = address if is_web else str(place)
    assert main(["models", "--from", where, "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert listed["name"] == "own" and listed["languages"] == "fr-en"
    assert main(["models", "own", "--from", where]) == 0
    assert locate("own") == home / "own"
    assert read_files(home / "own") == read_files()
    assert main(["models"]) == 0
    told = capsys.readouterr().out
    assert [line for line in told.splitlines() if line.startswith("own ")] and "a toy" in told
    assert main(["models", "own", "--from", where]) == 2, "it is there already"
    assert main(["models", "own", "--remove"]) == 0 and is_clean(home)
    assert main(["models", "own", "--remove"]) == 2


def test_each_action_answers_in_json(
    place: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask(*arguments: str) -> Any:
        capsys.readouterr()
        assert main(["models", *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    (packed,) = ask(str(tmp_path / "model" / "own"), "--pack", str(place))
    assert packed["name"] == "own" and [packed] == ask("--from", str(place))
    assert ask("own", "--from", str(place)) == {"fetched": str(home / "own")}
    assert ask("own", "--remove") == {"removed": str(home / "own")}


def test_the_same_model_gives_the_same_file(place: Path, tmp_path: Path) -> None:
    first = (place / "own.zip").read_bytes()
    assert main(["models", str(tmp_path / "model" / "own"), "--pack", str(place)]) == 0
    assert (place / "own.zip").read_bytes() == first
    assert main(["models", "demo", "--pack", str(place)]) == 0
    names = [each["name"] for each in json.loads((place / INDEX).read_text("utf-8"))["models"]]
    assert names == ["demo", "own"]


def test_a_folder_whose_name_no_list_has_is_not_packed(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("my own", "x" * 97):
        shutil.copytree(tmp_path / "model" / "own", tmp_path / name)
        assert main(["models", str(tmp_path / name), "--pack", str(place)]) == 2
        assert "rename it" in capsys.readouterr().err
    assert [path.name for path in place.glob("*.zip")] == ["own.zip"]
    assert main(["models", "--from", str(place)]) == 0


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"../evil.txt": b"x"}, "no file of a model"),
        ({"/etc/evil": b"x"}, "no file of a model"),
        ({"model.pt": b"x"}, "no file of a model"),
        ({"sub/config.toml": b"x"}, "no file of a model"),
        ({WEIGHTS: b"no weights"}, "is no model"),
        ({CONFIG: b'[model]\nplugin = "evil.py"\n'}, "is no model"),
    ],
)
def test_what_is_no_model_is_refused(
    files: dict[str, bytes],
    said: str,
    place: Path,
    home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change_archive(place, read_files() | files)
    assert main(["models", "own", "--from", str(place)]) == 2
    assert said in capsys.readouterr().err
    assert is_clean(home) and not (tmp_path / "evil.txt").exists()


def test_a_bomb_is_refused(place: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = sum(map(len, read_files().values()))
    change_archive(place, read_files() | {"card.md": b"0" * 50_000_000}, unpacked=size)
    assert main(["models", "own", "--from", str(place)]) == 2
    assert "more bytes than it says" in capsys.readouterr().err and is_clean(home)


def test_a_changed_file_is_refused(place: Path, home: Path) -> None:
    data = bytearray((place / "own.zip").read_bytes())
    data[len(data) // 2] ^= 1
    (place / "own.zip").write_bytes(data)
    assert main(["models", "own", "--from", str(place)]) == 2 and is_clean(home)
    (place / "own.zip").write_bytes(data[:-9])
    assert main(["models", "own", "--from", str(place)]) == 2 and is_clean(home)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "../own"},
        {"file": "../../own.zip"},
        {"file": "sub/own.zip"},
        {"sha256": "no sum"},
        {"bytes": -1},
        {"unpacked": "many"},
        {"languages": None},
        {"name": 5},
    ],
)
def test_a_damaged_list_is_refused(changes: dict[str, Any], place: Path, home: Path) -> None:
    change_entry(place, **changes)
    assert main(["models", "own", "--from", str(place)]) == 2 and is_clean(home)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"models": 1}', "[" * 9999, "x" * (2 << 20)])
def test_what_is_no_list_is_said(
    text: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / INDEX).write_text(text, encoding="utf-8")
    assert main(["models", "--from", str(place)]) == 2
    assert "no list of models" in capsys.readouterr().err


def test_without_a_server_one_sentence_is_said(
    address: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "--from", "http://127.0.0.1:9/"]) == 2
    assert "cannot be reached" in capsys.readouterr().err
    (place / INDEX).unlink()
    assert main(["models", "--from", address]) == 2
    assert "404" in capsys.readouterr().err
    assert main(["models", "--from", "file:///etc"]) == 2
    assert main(["models", "--from", str(place / "nothing")]) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("is_unpacked", [False, True])
def test_a_full_disk_is_not_the_servers_fault(
    is_unpacked: bool,
    address: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain = Path.open

    def open_full(path: Path, mode: str = "r", *rest: Any, **options: Any) -> Any:
        is_full = mode == "wb" and (path.name == "archive") != is_unpacked
        return plain(Path("/dev/full") if is_full else path, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", open_full)
    assert main(["models", "own", "--from", address]) == 2
    assert capsys.readouterr().err.endswith("glassformer: No space left on device\n")
    assert is_clean(home)


def test_a_connection_that_breaks_is_said(
    address: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(answer: HTTPResponse, size: int) -> bytes:
        raise ConnectionResetError(104, "Connection reset by peer")

    monkeypatch.setattr(HTTPResponse, "read", read)
    assert main(["models", "own", "--from", address]) == 2
    assert "models.json cannot be reached ([Errno 104]" in capsys.readouterr().err


def test_no_other_place_is_redirected_to(capsys: pytest.CaptureFixture[str]) -> None:
    class Redirects(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), Redirects) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert main(["models", "--from", f"http://127.0.0.1:{server.server_port}"]) == 2
        server.shutdown()
    assert "root" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["models", "x"],
        ["models", "--pack", "place"],
        ["models", "--remove"],
        ["models", "demo", "--remove", "--pack", "place"],
        ["models", "nothing", "--pack", "place"],
        ["models", "../demo", "--remove"],
    ],
)
def test_what_is_missing_is_said(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert not (tmp_path / "place").exists()


@pytest.mark.parametrize("name", sorted(path.name for path in SHIPPED.iterdir()))
def test_a_shipped_model_is_the_one_that_its_card_describes(name: str) -> None:
    assert list_changed(SHIPPED / name, read_facts(SHIPPED / name)) == []
