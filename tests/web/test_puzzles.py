"""The puzzles of the app: what the network calls right, Python computes again from the model."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from opening import Server, find_faults, wait_until

from glassformer import Translator
from glassformer.extensions.serve.page import SavedPage
from glassformer.extensions.site.living import build_living_page
from glassformer.see.derive import group_words, mean_cross_attention, merge_words
from glassformer.see.trace import Trace

ORDER = [
    "each source token becomes a vector",
    "positions are added to the source",
    "queries of the encoder meet keys: scores",
    "softmax makes shares of the scores",
    "values of the encoder are mixed by the shares",
    "the encoder is done: the memory",
    "the decoder hides what comes later",
    "the decoder looks at the memory",
    "the last layer of the decoder is done",
    "each token of the vocabulary gets a number",
]


@cache
def _load() -> Translator:
    return Translator.load("demo")


@cache
def _see(text: str, cut: str = "", occurrence: int | None = None) -> Trace:
    edit = {"do": "cut", "word": cut} | ({} if occurrence is None else {"occurrence": occurrence})
    trace: Trace = _load().see(text, edits=[edit] if cut else [])
    return trace


def _list_words(trace: Trace, side: str) -> list[str]:
    text = trace.text if side == "source" else trace.translation
    tokens = trace.source if side == "source" else trace.predicted
    groups = group_words(tokens, text)
    return [text[tokens[each[0]].start : tokens[each[-1]].end].strip() for each in groups][:-1]


def _count_changed(before: list[str], now: list[str]) -> int:
    """Return how many words before are in no longest common subsequence with those now."""
    rows = [[0] * (len(now) + 1) for _ in range(len(before) + 1)]
    for i, one in enumerate(before):
        for j, other in enumerate(now):
            kept = rows[i][j] + 1 if one == other else max(rows[i][j + 1], rows[i + 1][j])
            rows[i + 1][j + 1] = kept
    return len(before) - rows[-1][-1]


def _list_cuts(text: str) -> list[tuple[int, str, str]]:
    """Return the place of each word, the word, and the translation without it."""
    words = _list_words(_see(text), "source")
    cuts = []
    for place, word in enumerate(words):
        if not re.search(r"\w", word):
            continue
        several = words.count(word) > 1
        occurrence = words[:place].count(word) if several else None
        cuts.append((place, word, _see(text, word, occurrence).translation))
    return cuts


def _find_cut(page: Any, kind: str, text: str) -> int:
    """Return the place of a word whose cut solves the puzzle."""
    before = _list_words(_see(text), "target")
    wanted = {"kill": 1, "still": 0}.get(kind)
    question = page.locator("h2").inner_text()
    was, now = re.findall("“(.*?)”", question) if kind == "become" else ("", "")
    for place, word, _ in _list_cuts(text):
        words = _list_words(_see(text), "source")
        occurrence = words[:place].count(word) if words.count(word) > 1 else None
        after = _list_words(_see(text, word, occurrence), "target")
        changed = _count_changed(before, after)
        if kind == "kill":  # a capital is not enough, nor a word that is gone
            lower = [[each.lower() for each in side] for side in (before, after)]
            changed = changed if len(after) >= len(before) and _count_changed(*lower) else 0
        if changed == wanted:
            return place
        both = was and now and set(was.split()) <= set(before) and set(now.split()) <= set(after)
        if both and not set(was.split()) & set(after):
            return place
    raise AssertionError(f"{kind}: no cut of {text!r} solves {question!r}")


def _choose(page: Any, kind: str, text: str) -> str | None:
    """Return the right option; None where this test does not compute it."""
    trace, question = _see(text), page.locator("h2").inner_text()
    if kind == "read":
        (word,) = re.findall("“(.*?)”", question)
        groups = [
            group_words(trace.predicted, trace.translation),
            group_words(trace.source, trace.text),
        ]
        weights = merge_words(mean_cross_attention(trace), *groups)
        row = weights[_list_words(trace, "target").index(word)][: len(groups[1]) - 1]
        return _list_words(trace, "source")[int(row.argmax())]
    if kind == "which":
        said = question.split("the network said: ")[1].split(" Which word")[0]
        return next(word for _, word, after in _list_cuts(text) if after == said)
    if kind == "positions":
        found: str = _load().see(text, edits=[{"do": "without", "what": "positions"}]).translation
        return found
    if kind == "swap":
        by, was, word = re.findall("“(.*?)”", question)
        after = _list_words(_see(re.sub(rf"\b{was}\b", by, text, count=1)), "target")
        return after[_list_words(trace, "target").index(word)]
    return None


def _find_reason(kind: str, text: str, cut: str, word: str) -> list[str]:
    """Return the numbers that say why, as Python computes them; [] where this test does not."""
    trace = _see(text)
    if kind == "read":
        groups = [
            group_words(trace.predicted, trace.translation),
            group_words(trace.source, trace.text),
        ]
        weights = merge_words(mean_cross_attention(trace), *groups)
        row = weights[_list_words(trace, "target").index(word)][: len(groups[1]) - 1]
        return [f"{100 * each:.1f}%" for each in sorted(row, reverse=True)[:2]]
    if kind == "positions":
        after = _load().see(text, edits=[{"do": "without", "what": "positions"}])
    elif kind in ("kill", "become", "which"):
        after = _see(text, cut)
    else:
        return []
    ids = [[token.id for token in each.predicted] for each in (trace, after)]
    row = next(n for n, (one, other) in enumerate(zip(*ids, strict=False)) if one != other)
    leads = [
        each["logits"][row, ids[0][row]] - each["logits"][row, ids[1][row]]
        for each in (trace, after)
    ]
    return [f"{each:+.2f}".replace("-", "−") for each in leads]


def _check_reason(page: Any, kind: str, text: str) -> None:
    """What is said of the answer has the numbers of the run, to the last digit but one."""
    page.locator("[data-why]").wait_for()
    said = page.locator("[data-why]").inner_text()
    words = re.findall("“(.*?)”", said)
    found = re.findall(r"[+−]\d+\.\d+|\d+\.\d%", said)
    if kind == "order":
        return
    assert words and found, said
    for one, other in zip(found, _find_reason(kind, text, words[0], words[0]), strict=False):
        value, wanted = (float(each.strip("%").replace("−", "-")) for each in (one, other))
        assert abs(value - wanted) < 0.11, (said, other)


def _solve(page: Any, kind: str) -> bool:
    """Solve the puzzle on screen by what Python computes; whether it could be solved so."""
    if kind == "order":
        steps = page.locator("[data-step]").all_inner_texts()
        for step in sorted(steps, key=ORDER.index):
            page.locator("[data-step]", has_text=step).click()
        return True
    text = page.locator(".sentence").first.inner_text()
    if kind in ("kill", "still", "become"):
        words = _list_words(_see(text), "source")
        place = _find_cut(page, kind, text)
        number = sum(bool(re.search(r"\w", word)) for word in words[:place])
        page.locator("[data-cut]").nth(number).click()
        return True
    right = _choose(page, kind, text)
    if right is None:
        return False
    page.get_by_role("button", name=right, exact=True).first.click()
    return True


@pytest.mark.parametrize("set_name", ["2026-01-01", "2028-02-29", "klasse 7b"])
@pytest.mark.thorough
def test_what_python_computes_solves_a_set(set_name: str, page: Any, server: Server) -> None:
    page.set_default_timeout(60_000)
    page.goto(server.url(f"puzzles/{set_name.replace(' ', '%20')}"))
    solved, kinds = 0, []
    for number in range(12):
        page.locator("h2").wait_for()
        kind = str(page.locator("[data-puzzle]").get_attribute("data-puzzle"))
        kinds.append(kind)
        if _solve(page, kind):
            found = f"() => document.querySelector('[data-puzzle={kind}]').dataset.result"
            wait_until(page, f"{found} === 'first'", seconds=20)
            solved += 1
        else:
            page.get_by_role("button", name="Show the answer").click()
            assert page.locator(".tried").inner_text().startswith("It was: ")
        sentence = page.locator(".sentence").first
        _check_reason(page, kind, sentence.inner_text() if sentence.count() else "")
        if number < 11:
            page.locator("[data-next]").click()
            wait_until(
                page,
                "kind => document.querySelector('[data-puzzle]').dataset.puzzle !== kind",
                arg=kind,
            )
    assert len(set(kinds)) == 12 and solved >= 8
    assert f"{solved} of 12 found" in page.locator("main").inner_text()
    assert find_faults(page) == []
    page.get_by_role("button", name="Copy my result").click()
    told = page.evaluate("() => navigator.clipboard.readText()")
    assert told.count("🟩") == solved and told.count("🟥") == 12 - solved
    assert told.splitlines()[-1] == f"{server.address}/#/puzzles/{quote(set_name)}"
    page.reload()
    kept = f"() => document.querySelectorAll('.square.first').length === {solved}"
    wait_until(page, kept, seconds=60)  # results stay in this browser


@pytest.mark.thorough
def test_a_wrong_try_and_a_hint_are_counted(page: Any, server: Server) -> None:
    page.set_default_timeout(60_000)
    page.goto(server.url("puzzles/one"))
    page.locator("h2").wait_for()
    text = page.locator(".sentence").first.inner_text()
    right = _choose(page, "read", text)
    options = page.locator("[data-option]").all_inner_texts()
    wrong = next(each for each in options if each != right)
    page.get_by_role("button", name=wrong, exact=True).first.click()
    assert f"Not “{wrong}”" in page.locator(".tried").inner_text()
    page.get_by_role("button", name="Hint").click()
    assert page.locator("figure").count() == 1
    page.get_by_role("button", name=str(right), exact=True).first.click()
    wait_until(page, "() => document.querySelector('[data-puzzle]').dataset.result === 'later'")
    assert page.locator(".square.later").count() == 1


def test_a_result_leads_to_the_set_of_its_day_and_to_nothing_else(
    page: Any, server: Server
) -> None:
    page.goto(server.url("puzzles", text="The dog is in the garden.", model="demo"))
    page.locator("h2").wait_for()
    question = page.locator("h2").inner_text(), page.locator(".sentence").first.inner_text()
    page.get_by_role("button", name="Copy my result").click()
    link = page.evaluate("() => navigator.clipboard.readText()").splitlines()[-1]
    set_name = page.locator("h1 span").inner_text().removeprefix("Set ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", set_name)
    assert link == f"{server.address}/#/puzzles/{set_name}?model=demo"
    page.goto("about:blank")
    page.goto(link)
    page.locator("h2").wait_for()
    assert question == (
        page.locator("h2").inner_text(),
        page.locator(".sentence").first.inner_text(),
    )


def test_hints_name_what_their_bars_stand_for(page: Any, server: Server) -> None:
    """All words of the sentence, once each; those that are asked for when the puzzle is done."""
    page.goto(server.url("puzzles/bars"))
    page.locator("[data-option]").first.wait_for()
    options = page.locator("[data-option]").all_inner_texts()
    assert " ".join(options).replace(" .", ".") == page.locator(".sentence").first.inner_text()
    page.get_by_role("button", name="Hint").click()
    names = page.locator(".bars li span:first-child")
    shown = names.all_inner_texts()
    assert shown[:2] == ["?", "?"] and {*shown[2:]} < {*options} and len(shown) == len(options)
    caption = page.locator("figcaption").inner_text()
    assert "for you to find" in caption
    shares = [float(each.strip("<%")) for each in page.locator(".bars .number").all_inner_texts()]
    (rest,) = re.findall(r"the rest, ([\d.]+)%", caption)
    assert abs(sum(shares) + float(rest) - 100) < 0.06 * len(shares)
    page.get_by_role("button", name="Show the answer").click()
    page.locator("[data-why]").wait_for()
    assert "for you to find" not in page.locator("figcaption").inner_text()
    assert sorted(names.all_inner_texts()) == sorted(options)
    assert names.first.inner_text() == page.locator(".tried").inner_text().split()[2]


def _open_puzzle(page: Any, number: int) -> None:
    page.locator("nav .square").nth(number - 1).click()
    wait_until(
        page,
        "n => document.querySelectorAll('nav .square')[n]?.ariaCurrent "
        "&& document.querySelector('.puzzle h2')",
        arg=number - 1,
        seconds=60,
    )


@pytest.mark.parametrize("set_name", ["2026-12-05", "2026-12-24"])
@pytest.mark.thorough
def test_answers_can_be_told_apart(set_name: str, page: Any, server: Server) -> None:
    """Shares by the margin, translations and heads by what they are called."""
    page.set_default_timeout(60_000)
    page.goto(server.url(f"puzzles/{set_name}"))
    _open_puzzle(page, 3)
    trace = _see(page.locator(".sentence").first.inner_text())
    groups = group_words(trace.predicted, trace.translation)
    logs = [each.log_prob for each in trace.predictions]
    words = zip(_list_words(trace, "target"), groups, strict=False)
    shares = sorted(
        (math.exp(sum(logs[row] for row in rows)), word)
        for word, rows in words
        if re.search(r"\w", word)
    )
    assert shares[1][0] - shares[0][0] > 0.019
    page.get_by_role("button", name=shares[0][1], exact=True).click()
    wait_until(page, "() => document.querySelector('[data-puzzle=sure]').dataset.result")
    assert page.locator(".square.first").count() == 1

    _open_puzzle(page, 11)
    options = page.locator("[data-option]").all_inner_texts()
    text = page.locator(".sentence").first.inner_text()
    right = _choose(page, "positions", text)
    assert len(set(options)) >= 3 and right in options
    assert _see(text).translation not in options

    _open_puzzle(page, 12)
    options = page.locator("[data-option]").all_inner_texts()
    assert len(set(options)) == len(options) == 4
    assert all(re.match(r".* layer \d, head \d: ", each) for each in options)


def test_the_last_option_is_no_puzzle(page: Any, server: Server) -> None:
    page.goto(server.url("puzzles/last"))
    page.locator("[data-option]").first.wait_for()
    text = page.locator(".sentence").first.inner_text()
    right = _choose(page, "read", text)
    options = page.locator("[data-option]").all_inner_texts()
    wrong = [each for each in options if each != right]
    for tried, word in enumerate(wrong, start=1):
        button = page.get_by_role("button", name=word, exact=True)
        button.click()
        said = page.locator(".tried").inner_text()
        assert ("Once more?" in said) == (tried < len(wrong))
        assert button.is_disabled() == (tried < len(wrong))
    assert f"It was: {right}" in page.locator(".tried").inner_text()
    assert page.locator("[data-puzzle]").get_attribute("data-result") == "shown"
    assert page.locator(".square.shown").inner_text().split() == ["1", "✗"]


def test_another_date_is_chosen_and_an_impossible_one_refused(page: Any, server: Server) -> None:
    page.goto(server.url("puzzles/2026-13-45"))
    page.get_by_role("alert").filter(has_text="There is no day 2026-13-45").wait_for()
    assert page.locator("[data-puzzle]").count() == 0
    page.get_by_label("The set of another date").fill("2026-12-24")
    page.locator("form").first.get_by_role("button", name="Open").click()
    page.get_by_role("heading", name="2026-12-24").wait_for()
    page.locator("[data-option]").first.wait_for()
    assert page.get_by_role("alert").count() == 0


def test_a_date_that_is_typed_stays_when_the_network_comes(page: Any, server: Server) -> None:
    held: list[Any] = []
    page.route("**/api/models*", lambda route: held.append(route))
    page.goto(server.url("puzzles/2026-13-45"))
    date = page.get_by_label("The set of another date")
    date.fill("2026-12-24")
    with page.expect_response("**/api/models*"):
        held.pop(0).continue_()
    page.locator("form").first.get_by_role("button", name="Open").wait_for()
    page.wait_for_timeout(300)  # until the list is read
    assert date.input_value() == "2026-12-24"


def test_a_puzzle_that_is_chosen_stays_when_the_network_comes(page: Any, server: Server) -> None:
    held: list[Any] = []
    page.route("**/api/models*", lambda route: held.append(route))
    page.goto(server.url("puzzles/2026-12-05"))
    page.locator("nav .square").nth(2).click()
    held.pop(0).continue_()
    page.locator("[data-puzzle=sure] h2").wait_for()
    assert page.locator("nav .square").nth(2).get_attribute("aria-current") == "step"
    page.goto(server.url("puzzles/2026-12-06"))
    page.locator("[data-puzzle=read]").wait_for()


@pytest.mark.thorough
def test_a_page_makes_all_twelve_whatever_its_worker_has_let_go(
    browser: Any, tmp_path: Path
) -> None:
    """Cutting each word makes many recordings: those of the first sentences go."""
    SavedPage(build_living_page(["demo"])).save(tmp_path / "page.html")
    context = browser.new_context(offline=True, locale="en", reduced_motion="reduce")
    window = context.new_page()
    window.set_default_timeout(60_000)
    for set_name in ("2025-12-31", "2027-03-14"):
        window.goto(f"{(tmp_path / 'page.html').as_uri()}#/puzzles/{set_name}")
        window.get_by_role("heading", name=set_name).wait_for()
        for number in range(12):
            current = f"document.querySelectorAll('.square')[{number}]?.ariaCurrent"
            wait_until(window, f"() => {current} && document.querySelector('h2')", seconds=60)
            window.get_by_role("button", name="Show the answer").click()
            window.locator("[data-why]").wait_for()
            assert window.locator("[role=alert]").count() == 0
            if number < 11:
                window.locator("[data-next]").click()
        assert "0 of 12 found" in window.locator("main").inner_text()
    context.close()
