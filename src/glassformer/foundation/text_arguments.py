"""Arguments of a Python program that should be texts: whatever they are, a sentence says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from functools import wraps
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])
ONE, REMEDY = "give one text", "give a text, or a list of texts"


def expect_text(name: str, text: object) -> str:
    """Return an argument that is one text. Raises ValueError if it is none."""
    if type(text) is str:
        return text
    if isinstance(text, str):  # one of NumPy's, say
        return str(text)
    raise ValueError(f"{name} is {_tell(text, ONE)}")


def expect_texts(name: str, texts: object) -> list[str]:
    """Return an argument as a list of texts: a list, tuple, array or generator of them.

    Raises ValueError for one text, since each of its characters would become a text, for what has
    no order, and for what is no text or has something else in it.
    """
    if isinstance(texts, str):
        raise ValueError(f"{name} is one text, where a list of texts is needed: write [text]")
    if isinstance(texts, bytes | bytearray | memoryview | Mapping | Set):
        raise ValueError(f"{name} is {_tell(texts)}")
    if not isinstance(texts, Iterable) or getattr(texts, "ndim", 1) != 1:
        raise ValueError(f"{name} is {_tell(texts)}")
    return [
        text if type(text) is str else expect_text(f"{name}[{place}]", text)
        for place, text in enumerate(texts)
    ]


def normalize_texts(
    *names: str,
    optional: Iterable[str] = (),
    keywords: Iterable[str] = (),
    settings: Callable[[], Iterable[str]] = list,
) -> Callable[[Method], Method]:
    """Return a decorator of a method whose first arguments, `names`, are a text or texts.

    The method gets each as a `str` or as a list of them, and those that are `optional` perhaps as
    None. keywords: those that it has besides its own; settings: those that its `decode` takes. Any
    other keyword is a TypeError, as in Python, but says which one is nearest.
    """
    extra = {*keywords}

    def decorate(method: Method) -> Method:
        code = method.__code__
        own = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        known = [*own, *sorted(extra - {*own})]

        @wraps(method)
        def call(self: Any, *arguments: Any, **named: Any) -> Any:
            for keyword in named:
                if keyword not in known:
                    named_as = method.__name__
                    raise TypeError(refuse_keyword(named_as, keyword, known, settings()))
            texts = [*arguments]
            for place, name in enumerate(names[: len(texts)]):
                texts[place] = _normalize(name, texts[place])
            for name in (*names[len(texts) :], *optional):
                if name in named and (name in names or named[name] is not None):
                    named[name] = _normalize(name, named[name])
            return method(self, *texts, **named)

        return call  # type: ignore[return-value]

    return decorate


def _normalize(name: str, value: object) -> str | list[str]:
    return expect_text(name, value) if isinstance(value, str) else expect_texts(name, value)


def _tell(value: object, remedy: str = REMEDY) -> str:
    """Return what a value is that should be text, and what would be right."""
    if value is None:
        return f"None: {remedy}"
    kind = type(value).__name__
    named = f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"
    if isinstance(value, bytes | bytearray | memoryview):
        return "bytes, not text: decode them first, as UTF-8 for example"
    if isinstance(value, Mapping):
        return f"{named}: give a list of texts, such as its values"
    if isinstance(value, Set):
        return f"{named}, which has no order: give a list, such as sorted(texts)"
    if getattr(value, "ndim", 1) != 1:
        return f"{named} of {getattr(value, 'ndim', 0)} dimensions: {remedy}"
    return f"{named}: {remedy}"


def refuse_keyword(
    function: str, keyword: str, known: Iterable[str], settings: Iterable[str]
) -> str:
    """Return a sentence on a keyword that a function does not have, with the nearest that it has.

    known: the keywords of the function. settings: those of a search, which `decode` takes.
    """
    from difflib import get_close_matches

    from .compatibility.other_names import find_name, suggest_names

    names, fields = [*known], [*settings]
    theirs = find_name(keyword)
    ours = [each.removeprefix("decode.") for each in theirs.names] if theirs else []
    setting = next((each for each in (keyword, *ours) if each in fields), "")
    if setting and setting not in names:
        hint = suggest_names([f"decode={{{setting!r}: ...}}"])
    elif near := get_close_matches(keyword, names, 1, 0.5):
        hint = suggest_names(near)
    elif near := get_close_matches(keyword, fields, 1, 0.6):
        hint = suggest_names([f"decode={{{near[0]!r}: ...}}"])
    else:
        hint = f"it takes {', '.join(names)}"
    return f"{function} has no keyword {keyword}; {hint}"
