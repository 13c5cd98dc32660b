"""Trainings that are begun in the app: uploads, checks, a real training, and its model."""

from __future__ import annotations

import io
import os
import shutil
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("torch", reason="training needs PyTorch")

from glassformer.extensions.demo.corpus import read_corpus
from glassformer.extensions.serve.limits import Limits, TrainingLimits
from glassformer.extensions.serve.running import make_service
from glassformer.extensions.serve.service import own_trainings
from glassformer.extensions.serve.service.own_trainings import OwnTraining, measure_folder
from glassformer.model.files.directory import SHIPPED

from .conftest import Client, start

BASE = "/api/trainings"
PAIRS = read_corpus().pairs["train"][:60]
SOURCE, TARGET = ("".join(f"{pair[side]}\n" for pair in PAIRS).encode() for side in (0, 1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own") / "trainings"


@pytest.fixture(scope="module")
def school(folder: Path) -> Iterator[Client]:
    """A server that trains."""
    most = TrainingLimits(minutes=2, upload=1, disk=200, spare=1)
    service = make_service(
        ["demo"], device="cpu", trainings=folder, training_limits=most, limits=Limits()
    )
    yield from start(service)


def make(school: Client, name: str = "", source: str = "en", target: str = "fr") -> str:
    body = {"name": name, "source": source, "target": target}
    answer = school.ask(BASE, body)
    assert answer.status == 201, answer.body
    return str(answer.json["id"])


def upload(school: Client, id: str, part: str, data: bytes, name: str, lang: str = "en") -> Any:
    path = f"{BASE}/{id}/{part}?name={quote(name)}"
    return school.ask(path, data, method="PUT", Accept_Language=lang)


def wait_for_state(school: Client, id: str, *states: str, seconds: float = 90) -> dict[str, Any]:
    end = time.monotonic() + seconds
    while (found := school.ask(f"{BASE}/{id}").json)["state"] not in states:
        assert time.monotonic() < end, found
        time.sleep(0.1)
    return dict(found)


def prepare(school: Client, name: str) -> str:
    """Upload and check; return the id."""
    id = make(school, name)
    assert upload(school, id, "source", SOURCE, "a.en").status == 200
    assert upload(school, id, "target", TARGET, "a.fr").status == 200
    assert school.ask(f"{BASE}/{id}/check", {}).status == 200
    wait_for_state(school, id, "checked")
    return id


def test_a_server_trains_only_if_it_was_told_to(client: Client) -> None:
    answer = client.ask(BASE)
    assert answer.status == 403 and "--train" in answer.json["error"]
    assert client.ask("/api/models").json["trains"] is False


def test_a_training_has_the_usual_limits_unless_others_are_given(tmp_path: Path) -> None:
    with closing(make_service(["demo"], device="cpu", trainings=tmp_path)) as service:
        assert service.own_trainings and service.own_trainings.limits == TrainingLimits()


def test_the_token_is_needed(school: Client) -> None:
    for method, path in (("GET", BASE), ("POST", BASE), ("PUT", f"{BASE}/a/source")):
        assert school.ask(path, method=method, Authorization="").status == 401


LARGE = b"a b c\n" * (1 << 18)
REFUSED = {
    "empty": (b"", "no text in a.en", "a.en 里没有文本"),
    "blank": (b"\n \n", "no text in a.en", "a.en 里没有文本"),
    "binary": (b"one\ntwo\0", "zero byte in line 2", "第 2 行有零字节"),
    "UTF-16": ("one\n".encode("utf-16"), "is UTF-16", "是 UTF-16"),
    "Latin-1": (
        "one\ntwo\nthé\n".encode("latin-1"),
        "a.en, line 3: not UTF-8",
        "第 3 行不是 UTF-8",
    ),
    "cut": ("été".encode()[:-1], "line 1: not UTF-8", "第 1 行不是 UTF-8"),
    "large": (LARGE, "larger than 1 MiB", "上限 1 MiB"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_bad_files_are_refused_in_one_sentence(school: Client, folder: Path, what: str) -> None:
    data, english, chinese = REFUSED[what]
    id = make(school, what)
    for lang, part in (("en", english), ("zh-CN,zh;q=0.9", chinese)):
        answer = upload(school, id, "source", data, "a.en", lang)
        assert answer.status in (400, 413)
        assert part in answer.json["error"]
    assert not list((folder / id / "text").iterdir())
    assert school.ask(f"{BASE}/{id}", method="DELETE").status == 200


def test_other_mistakes_have_a_sentence_too(school: Client) -> None:
    same = {"source": "en", "target": "EN"}
    assert "two different codes" in school.ask(BASE, same).json["error"]
    assert (
        "two different codes" in school.ask(BASE, {"source": "../x", "target": "fr"}).json["error"]
    )
    assert "no training x" in school.ask(f"{BASE}/x").json["error"]
    assert school.ask(f"{BASE}/%2e%2e", method="DELETE").status == 404
    id = make(school, "../wrong/ name")
    assert id == "wrong-name" and school.ask(f"{BASE}/{id}").json["name"] == "wrong/ name"
    again = make(school, "../wrong/ name")
    assert again == "wrong-name-2" and school.ask(f"{BASE}/{again}").json["name"] == "wrong/ name 2"
    school.ask(f"{BASE}/{again}", method="DELETE")
    assert "no table" in upload(school, id, "pairs", b"a\tb\n", "a.docx").json["error"]
    assert "is missing" in school.ask(f"{BASE}/{id}/check", {}).json["error"]
    upload(school, id, "source", b"one\ntwo", "C:\\texts\\a.en")
    upload(school, id, "target", b"un\n", "a.fr")
    refused = school.ask(f"{BASE}/{id}/check", {}).json
    assert refused["kind"] == "lines" and "a.en has 2 lines but a.fr has 1" in refused["error"]
    assert school.ask(f"{BASE}/{id}/start", {"minutes": 1}).status == 409
    assert "at most 2" in school.ask(f"{BASE}/{id}/start", {"minutes": 3}).json["error"]
    assert school.ask(f"{BASE}/{id}/file").status == 404
    assert school.ask(f"{BASE}/{id}/resume", {}).status == 409
    school.ask(f"{BASE}/{id}", method="DELETE")


def test_what_check_data_cannot_read_is_refused_with_its_sentence(school: Client) -> None:
    id = make(school, "table")
    assert upload(school, id, "pairs", b"one\tun\ntwo\n", "a.tsv").status == 200
    school.ask(f"{BASE}/{id}/check", {})
    found = wait_for_state(school, id, "refused")
    assert found["problem"].startswith("a.tsv, line 2: 2 columns are needed")
    assert upload(school, id, "pairs", b"one\tun\ntwo\tdeux\n", "a.tsv").json["state"] == "new"
    school.ask(f"{BASE}/{id}", method="DELETE")


def test_another_text_is_counted_anew(school: Client) -> None:
    id = make(school, "counted")
    lines = ["a x\tx a\n", "b y\ty b\n", "c z\tz c\n"]
    for count in (3, 2):
        data = "".join(lines[:count]).encode()
        assert upload(school, id, "pairs", data, "a.tsv").status == 200
        school.ask(f"{BASE}/{id}/check", {})
        assert wait_for_state(school, id, "checked")["kept"] == count
    school.ask(f"{BASE}/{id}", method="DELETE")


@pytest.mark.parametrize(
    ("state", "resumes", "is_taken"),
    [("checked", False, True), ("failed", False, True), ("failed", True, False)],
)
def test_a_text_stays_with_a_training_that_goes_on(
    school: Client, monkeypatch: pytest.MonkeyPatch, state: str, resumes: bool, is_taken: bool
) -> None:
    id = make(school, "kept")
    with monkeypatch.context() as patch:
        patch.setattr(OwnTraining, "can_resume", resumes)
        patch.setattr(OwnTraining, "find_state", lambda *_: state)
        answer = upload(school, id, "source", SOURCE, "a.en")
        assert answer.status == (200 if is_taken else 409)
    school.ask(f"{BASE}/{id}", method="DELETE")


def test_the_disk_is_not_filled(school: Client, folder: Path) -> None:
    trainings = school.service.own_trainings
    assert trainings
    id, limits = make(school, "full"), trainings.limits
    try:
        trainings.limits = trainings.limits.model_copy(update={"disk": 0})
        answer = upload(school, id, "source", SOURCE, "a.en", "zh")
        assert answer.status == 507 and "请先删除一个" in answer.json["error"]
        trainings.limits = TrainingLimits(spare=1 << 40)
        assert upload(school, id, "source", SOURCE, "a.en").status == 507
    finally:
        trainings.limits = limits
    full = Path("/dev/full")
    if full.exists():  # a disk that is full while one writes
        (folder / id / "text" / "source.txt.partial").symlink_to(full)
        answer = upload(school, id, "source", SOURCE, "a.en")
        assert answer.status == 507 and answer.json["kind"] == "full"
        assert not list((folder / id / "text").iterdir())
    school.ask(f"{BASE}/{id}", method="DELETE")


def test_from_two_files_to_a_model(school: Client, folder: Path) -> None:
    id = prepare(school, "My Own")
    found = school.ask(f"{BASE}/{id}").json
    assert found["report"]["pairs"] == 60 and 0 < found["kept"] <= 60
    assert found["files"]["source"]["lines"] == 60
    begun = school.ask(f"{BASE}/{id}/start", {"minutes": 0.1, "size": "tiny"})
    assert begun.status == 200 and begun.json["state"] == "training"
    other = make(school, "other")
    upload(school, other, "pairs", b"one\tun\ntwo\tdeux\n", "a.tsv")
    refused = school.ask(f"{BASE}/{other}/check", {})
    assert refused.status == 409 and "one training at a time" in refused.json["error"]
    assert upload(school, id, "source", SOURCE, "a.en").status == 409
    assert school.ask("/health").status == 200  # the server answers while it trains
    found = wait_for_state(school, id, "finished")
    assert found["problem"] == "" and found["steps"] >= 1 and found["model"] == id
    assert school.ask(f"/api/runs/{id}").json["metrics"]
    check_model(school, id)
    packed = zipfile.ZipFile(io.BytesIO(school.ask(f"{BASE}/{id}/file").body))
    names = {Path(name).name for name in packed.namelist()}
    assert {"model.safetensors", "config.toml", "tokenizer.json", "card.md"} <= names
    assert not {"own.json", "run.json", "source.txt"} & names
    assert packed.testzip() is None
    end = time.monotonic() + 20
    while list(folder.glob("*.zip")):  # it is removed once it is sent
        assert time.monotonic() < end
        time.sleep(0.05)
    assert school.ask(f"{BASE}/{id}", method="DELETE").json == {"deleted": id}
    assert not (folder / id).exists() and school.ask(f"{BASE}/{id}").status == 404
    assert id not in [each["id"] for each in school.ask("/api/models").json["models"]]
    school.ask(f"{BASE}/{other}", method="DELETE")
    assert measure_folder(folder) == 0


def check_model(school: Client, id: str) -> None:
    """The app can use it; programs that translate are not offered it."""
    listed = {each["id"]: each for each in school.ask("/api/models").json["models"]}
    assert listed[id]["name"] == "My Own" and listed[id]["source"] == "en"
    recorded = school.ask("/api/trace", {"model": id, "text": "The cat is on the mat."})
    assert recorded.status == 200, recorded.body
    public = {"q": "The cat is on the mat.", "source": "en", "target": "fr"}
    said = school.ask("/translate", public).json["translatedText"]
    assert said == "Le chat est sur le tapis."  # of demo


@pytest.mark.thorough
def test_a_training_is_stopped_goes_on_and_is_deleted(school: Client, folder: Path) -> None:
    id = prepare(school, "halted")
    school.ask(f"{BASE}/{id}/start", {"minutes": 2, "size": "tiny"})
    end = time.monotonic() + 60
    while not school.ask(f"/api/runs/{id}").json.get("metrics"):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert school.ask(f"{BASE}/{id}/stop", {}).status == 200
    stopped = wait_for_state(school, id, "stopped")
    assert stopped["can_resume"] and stopped["problem"] == ""
    resumed = school.ask(f"{BASE}/{id}/resume", {}).json
    assert resumed["state"] == "training" and resumed["left"] < 120
    school.ask(f"{BASE}/{id}", method="DELETE")  # while it runs
    assert measure_folder(folder) == 0
    assert make(school, "halted") == id  # its name is free
    upload(school, id, "pairs", b"one\tun\ntwo\n", "a.tsv")
    assert school.ask(f"{BASE}/{id}/check", {}).status == 200  # and nothing runs
    wait_for_state(school, id, "refused")
    school.ask(f"{BASE}/{id}", method="DELETE")


@pytest.mark.thorough
def test_a_training_that_fails_says_why(school: Client) -> None:
    id = make(school, "one")
    upload(school, id, "pairs", b"one cat\tun chat\n", "a.tsv")
    school.ask(f"{BASE}/{id}/check", {})
    wait_for_state(school, id, "checked")
    school.ask(f"{BASE}/{id}/start", {"minutes": 0.1, "mended": False})
    found = wait_for_state(school, id, "failed")
    assert "held out" in found["problem"] and not found["can_resume"]
    school.ask(f"{BASE}/{id}", method="DELETE")


def test_a_folder_that_goes_while_it_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training renames its checkpoints whenever it likes."""
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "own.json").write_text("12345", encoding="utf-8")
    scan = os.scandir

    def scan_late(path: Any) -> Any:
        if Path(path).name == "checkpoint":
            Path(path).rmdir()
        return scan(path)

    monkeypatch.setattr(os, "scandir", scan_late)
    assert measure_folder(tmp_path) == 5


def test_the_limits_that_are_given_are_those_of_trainings(tmp_path: Path) -> None:
    given = TrainingLimits(minutes=7, upload=3)
    for limits in (given, None):
        with closing(make_service(["demo"], trainings=tmp_path, training_limits=limits)) as service:
            assert service.own_trainings is not None
            assert service.own_trainings.limits == (limits or TrainingLimits())


def test_a_model_is_not_offered_while_its_training_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(make_service(["demo"], device="cpu", trainings=tmp_path)) as service:
        trainings = service.own_trainings
        assert trainings
        training = trainings.create("own", "en", "fr")
        shutil.copytree(SHIPPED / "demo", training.folder, dirs_exist_ok=True)
        trainings.offer_models()
        assert service.model_pool.has("own")
        drop, offering = own_trainings.drop_folder, Thread(target=trainings.offer_models)

        def drop_late(folder: Path) -> None:
            offering.start()
            offering.join(1)
            drop(folder)

        monkeypatch.setattr(own_trainings, "drop_folder", drop_late)
        trainings.delete("own")
        offering.join()
        assert not service.model_pool.has("own")
