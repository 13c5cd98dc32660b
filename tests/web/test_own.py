"""A model of one's own in the browser: from two files to its first translation."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from opening import Server, find_faults

from glassformer.extensions.demo.corpus import read_corpus


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Sixty pairs in two files; one of them twice."""
    folder = tmp_path_factory.mktemp("texts")
    pairs = read_corpus().pairs["train"][:60]
    files = folder / "mine.en", folder / "mine.fr"
    for file, side in zip(files, zip(*[*pairs, pairs[0]], strict=True), strict=True):
        file.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    return files


@pytest.fixture(scope="module")
def school(
    serve: Callable[..., AbstractContextManager[Server]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("own")
    with serve("--train", str(folder), "--device", "cpu", "--train-minutes", "5") as running:
        yield running


def choose_files(page: Any, *files: Path) -> None:
    page.locator("[data-source]").fill("en")
    page.locator("[data-target]").fill("fr")
    for part, file in zip(("source", "target"), files, strict=True):
        page.locator(f"[data-part={part}]").set_input_files(file)
    page.locator("[data-check]").click()


def test_a_server_that_does_not_train_says_how_it_could(page: Any, server: Server) -> None:
    page.goto(server.url("own"))
    page.wait_for_selector("[data-off]")
    assert "--train" in page.locator("[data-off]").inner_text()


@pytest.mark.thorough
def test_a_lost_answer_is_forgotten_when_the_next_one_comes(browser: Any, school: Server) -> None:
    context = browser.new_context(locale="en")
    page = context.new_page()
    page.goto(school.url("own"))
    page.wait_for_selector("[data-source]")
    context.set_offline(True)
    page.get_by_role("alert").wait_for()
    context.set_offline(False)
    page.get_by_role("alert").wait_for(state="detached")
    context.close()


@pytest.mark.thorough
def test_from_two_files_to_a_translation(
    page: Any, school: Server, texts: tuple[Path, Path], tmp_path: Path
) -> None:
    page.goto(school.url("translate"))
    page.locator("[data-own]").click()  # in the rail
    page.locator("[data-name]").fill("Mine")
    choose_files(page, *texts)
    page.wait_for_selector("[data-kept]", timeout=60_000)
    assert int(page.locator("[data-kept]").get_attribute("data-kept")) <= 60
    report = page.locator("[data-report]").inner_text()
    assert "61 pairs" in report and "the same pair as before" in report
    assert find_faults(page) == []
    page.locator("[data-minutes]").fill("0.4")
    page.locator("[data-train]").click()
    page.wait_for_selector("[data-state=training]")
    page.wait_for_selector("[data-watch] [data-step]", timeout=60_000)
    page.locator("figcaption", has_text="loss").first.wait_for()  # two updates, on a busy machine
    page.locator("[data-stop]").click()
    page.wait_for_selector("[data-state=stopped]", timeout=60_000)
    page.locator("[data-resume]").click()
    page.wait_for_selector("[data-state=finished]", timeout=120_000)
    page.wait_for_selector("[data-scores]")
    page.locator("figcaption", has_text="loss").first.wait_for()
    assert page.locator("[data-watch] dd b").count() >= 1  # sample translations
    assert find_faults(page) == []
    with page.expect_download() as told:
        page.locator("[data-download]").click()
    told.value.save_as(tmp_path / "model.zip")
    names = zipfile.ZipFile(tmp_path / "model.zip").namelist()
    assert "Mine/model.safetensors" in names
    page.locator("[data-use]").click()  # it translates on the first screen
    page.wait_for_selector("[data-door]")
    assert "model=Mine" in page.evaluate("location.hash")
    page.goto(school.url("own", **{"own.id": "Mine"}))
    page.locator("[data-remove]").click()
    page.locator("[data-sure]").click()
    page.wait_for_selector("[data-check]")
    assert [each["id"] for each in school.ask("models")["models"]] == ["demo"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("language", "said"), [("en", "mine.en has 61 lines but few.fr has 1"), ("zh", "有 61 行")]
)
def test_bad_files_are_refused_in_the_readers_language(
    browser: Any,  # not `page`: Chromium itself complains of each refusal
    school: Server,
    texts: tuple[Path, Path],
    tmp_path: Path,
    language: str,
    said: str,
) -> None:
    few = tmp_path / "few.fr"
    few.write_text("un\n", encoding="utf-8")
    page = browser.new_page()
    page.goto(school.url("own", language=language))
    page.wait_for_selector("[data-check]")
    choose_files(page, texts[0], few)
    page.wait_for_selector("form [role=alert]")
    assert said in page.locator("form [role=alert]").inner_text()
    assert school.ask("trainings")["trainings"] == []  # nothing of it is left
    page.close()
