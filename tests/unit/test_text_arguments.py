"""Whatever a program gives for texts, it gets translations or a sentence; translators travel."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints

import pytest

from glassformer import Translator
from glassformer.config import Decode
from glassformer.foundation.text_arguments import expect_texts, refuse_keyword

ONE, OTHER = "I am a student.", "The dog is tired."
THERE = ["Je suis étudiant.", "Le chien est fatigué."]


@pytest.fixture(scope="module")
def demo() -> Translator:
    return Translator.load("demo", device="cpu", precision="fp32")


def generate(*texts: Any) -> Iterator[Any]:
    yield from texts


ORDERED: dict[str, Callable[[str, str], Any]] = {
    "a list": lambda *texts: [*texts],
    "a tuple": lambda *texts: texts,
    "a generator": generate,
    "an iterator": lambda *texts: iter(texts),
    "a map": lambda *texts: map(str, texts),
    "a deque": lambda *texts: deque(texts),
    "the keys of a dict": lambda *texts: [*dict.fromkeys(texts)],
    "the values of a dict": lambda *texts: dict(enumerate(texts)).values(),
}


@pytest.mark.parametrize("kind", ORDERED)
def test_texts_in_order(demo: Translator, kind: str) -> None:
    make = ORDERED[kind]
    assert demo.translate(make(ONE, OTHER)) == THERE
    assert [best[0].text for best in demo.search(make(ONE, OTHER))] == THERE
    scored = demo.score(make(ONE, OTHER), make(*THERE))
    assert [each.log_prob for each in scored] == [
        each.log_prob for each in demo.score([ONE, OTHER], THERE)
    ]
    began = demo.translate(make(ONE, OTHER), prefixes=make("Je", "Le"))
    assert began == THERE


def test_texts_of_numpy(demo: Translator) -> None:
    np = pytest.importorskip("numpy")
    assert demo.translate(np.array([ONE, OTHER])) == THERE
    assert demo.translate(np.array([ONE, OTHER], dtype=object)) == THERE
    assert demo.translate(np.str_(ONE)) == THERE[0]
    assert type(expect_texts("texts", np.array([ONE]))[0]) is str
    for wrong in (np.array(ONE), np.array([[ONE, OTHER]]), np.array([1.5])):
        with pytest.raises(ValueError, match=r"^texts"):
            demo.translate(wrong)


WRONG: list[tuple[Any, str]] = [
    (None, "texts is None: give a text, or a list of texts"),
    (b"a", "texts is bytes, not text: decode them first"),
    (bytearray(b"a"), "texts is bytes, not text"),
    (5, "texts is an int: give a text, or a list of texts"),
    (5.0, "texts is a float: give"),
    (True, "texts is a bool: give"),
    ({"a": "b"}, "texts is a dict: give a list of texts, such as its values"),
    ({"a"}, "texts is a set, which has no order: give a list, such as sorted"),
    (frozenset("a"), "texts is a frozenset, which has no order"),
    (Path("a"), "texts is a PosixPath: give" if os.name == "posix" else "texts is a WindowsPath"),
    (object(), "texts is an object: give"),
    (["a", None], r"texts\[1\] is None: give one text$"),
    (["a", 7], r"texts\[1\] is an int: give one text$"),
    ([b"a"], r"texts\[0\] is bytes, not text"),
    ([["a"]], r"texts\[0\] is a list: give one text$"),
    (generate("a", {}), r"texts\[1\] is a dict"),
    ([float("nan")], r"texts\[0\] is a float: give one text$"),
]


@pytest.mark.parametrize(("texts", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_is_no_text(demo: Translator, texts: Any, said: str) -> None:
    given = "".join(said.split("[", 1)[:1])
    assert given.startswith("texts")
    for method in (demo.translate, demo.search):
        with pytest.raises(ValueError, match=rf"^{said}") as caught:
            method(texts if not inspect.isgenerator(texts) else generate("a", {}))
        assert "\n" not in str(caught.value)


def test_what_is_no_text_beside_texts(demo: Translator) -> None:
    with pytest.raises(ValueError, match=r"^prefixes is a set"):
        demo.translate([ONE], prefixes={"Je"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^prefixes is one text.*write \[text\]"):
        demo.translate([ONE], prefixes="Je")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=r"^contexts\[0\] is None"):
        demo.search([ONE], contexts=[None])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"^targets is None"):
        demo.score(ONE, None)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=r"^text is a list: give one text$"):
        demo.see([ONE])  # type: ignore[arg-type]
    assert demo.translate(ONE, prefixes=None, contexts=None) == THERE[0]


@pytest.mark.parametrize(
    ("keyword", "said"),
    [
        ("beam", "did you mean decode={'beam': ...}?"),
        ("beam_size", "did you mean decode={'beam': ...}?"),
        ("temperature", "did you mean decode={'temperature': ...}?"),
        ("prefix", "did you mean prefixes?"),
        ("as_documents", "did you mean as_document?"),
        ("xyz", "it takes texts,"),
    ],
)
def test_a_keyword_that_is_none(demo: Translator, keyword: str, said: str) -> None:
    for method in (demo.translate, demo.search):
        with pytest.raises(TypeError) as caught:
            method(ONE, **{keyword: 3})
        told = str(caught.value)
        assert told.startswith(f"{method.__name__} has no keyword {keyword}; ") and said in told


def test_a_suggested_setting_is_one() -> None:
    for field in Decode.list_fields():
        if field not in ("n_best", "seed"):
            said = refuse_keyword("translate", field, ["texts", "decode"], Decode.list_fields())
            assert f"decode={{{field!r}: ...}}" in said


def test_every_keyword_of_a_method_is_taken(demo: Translator) -> None:
    """Those in the annotations too, which the checks read."""
    said = demo.translate(
        [ONE],
        prefixes=["Je"],
        contexts=[""],
        as_document=False,
        again=True,
        decode={"beam": 2},
        split=True,
        seed=3,
        glossary=None,
        progress=None,
    )
    assert said == THERE[:1]
    assert demo.search([ONE], n_best=2, first_line=4, seed=1)[0][0].text == THERE[0]


def test_it_says_what_it_is(demo: Translator) -> None:
    assert repr(demo) == "<Translator demo: en to fr, 828,672 parameters, fp32 on cpu>"


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_it_loads_again(demo: Translator, how: str) -> None:
    other = copy.deepcopy(demo) if how == "deepcopy" else pickle.loads(pickle.dumps(demo))
    assert other is not demo and repr(other) == repr(demo)
    assert other.translate([ONE, OTHER]) == THERE
    assert copy.copy(demo).translate(ONE) == THERE[0]
    held = copy.deepcopy(SimpleNamespace(translator=demo))
    assert held.translator.translate(ONE) == THERE[0]


def test_an_ensemble_loads_again() -> None:
    both = Translator.load((name for name in ("demo", "demo")), device="cpu", precision="fp32")
    again = pickle.loads(pickle.dumps(both))
    assert again.translate(ONE) == both.translate(ONE) == THERE[0]
    assert again.score(ONE, THERE[0]) == both.score(ONE, THERE[0])


def test_what_was_changed_is_not_loaded_as_it_was(demo: Translator) -> None:
    changed = demo.with_settings(demo.config)
    for spread in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match=r"not loaded from a folder.*Translator\.load"):
            spread(changed)
    assert changed.translate(ONE) == THERE[0]


def test_another_process_translates(demo: Translator, tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(pickle.dumps(demo))
    code = "import pickle, sys; made = pickle.load(open(sys.argv[1], 'rb'))"
    code += "; print(made.translate(sys.argv[2]))"
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "t"), ONE],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        check=False,
    )
    assert ended.stdout.strip() == THERE[0], ended.stderr


def test_see_has_the_keywords_of_record() -> None:
    from glassformer.see.recording import RecordKeywords, record

    parameters = inspect.signature(record, eval_str=True).parameters.values()
    keywords = {each.name: each.annotation for each in parameters if each.kind == each.KEYWORD_ONLY}
    assert get_type_hints(RecordKeywords) == keywords
