"""Odd values of options are refused before anything is drawn, by name; all others can be drawn."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from glassformer.extensions.pictures import PICTURES, draw
from glassformer.extensions.pictures.parts.options import KINDS, find_kind, read_option
from glassformer.see import Trace

ODD = (1.5, 0.0, 0, -1, -2, 1, 513, 10**9, -512, float("nan"), float("inf"), True, "", "x", "0")
ODD += ((3, 3, 3), (), [1.5], (0.5, 1.5), None, object())
TYPED = (
    "",
    " ",
    "x",
    "1.5",
    "0.0",
    "-1",
    "99999999999",
    "nan",
    "inf",
    "3,3,3",
    ",",
    "1,",
    "½",
    "²",
)
ALL = [(id, name) for id, each in PICTURES.items() for name in each.options]


def find_odd() -> Iterator[tuple[str, str, Any]]:
    """Every picture, option and odd value that does not fit."""
    for id, name in ALL:
        default = inspect.signature(PICTURES[id].scene).parameters[name].default
        for value in ODD:
            unset = value is None and default is None
            if not unset and not find_kind(id, name).fits(value):
                yield id, name, value


def test_every_option_is_in_the_table_and_its_default_fits() -> None:
    assert {name for _, name in ALL} == {*KINDS}
    for id, name in ALL:
        default = inspect.signature(PICTURES[id].scene).parameters[name].default
        assert default is None or find_kind(id, name).fits(default), (id, name)


def test_what_does_not_fit_is_refused_by_name(trace: Trace) -> None:
    """One sentence with the option's name and what it takes; nothing is drawn."""
    tried = 0
    for id, name, value in find_odd():
        with pytest.raises(ValueError, match=f"^{name}=") as caught:
            draw(trace, id, **{name: value})
        assert str(caught.value).endswith(find_kind(id, name).takes)
        tried += 1
    assert tried > 2000


def test_what_is_typed_is_read_or_refused_by_name() -> None:
    for id, name in ALL:
        for text in TYPED:
            try:
                read_option(id, name, text)
            except ValueError as error:
                assert str(error).startswith(f"{name}="), (id, name, text)
    assert read_option("V50", "heads", "0,-1") == [0, -1]
    assert read_option("V83", "temperatures", "0.5,2") == [0.5, 2.0]
    assert read_option("V51", "share_of_heads", "true") is True
    assert [read_option("V54", "head", text) for text in ("mean", "1")] == ["mean", 1]


# Options that count or measure: the first and the last that fit; and numbers of what is not there.
FITS: dict[tuple[str, str], tuple[Any, ...]] = {
    ("V75", "columns"): (1, 64),
    ("V90", "sentence"): (1,),
    ("V21", "d_model"): (8, 30),
    ("V40", "head"): (99,),
    ("V50", "heads"): ([1, 1, 0], (9,)),
    ("V81", "k"): (1, 24),
    ("V44", "layer"): (-99,),
    ("V60", "longest"): (2, 100_000),
    ("V73", "longest"): (2, 100_000),
    ("V82", "losers"): (0, 64),
    ("V16", "most"): (1, 512),
    ("V89", "tokens"): (2, 100_000),
    ("V21", "positions"): (1, 512),
    ("V27", "positions"): (1,),
    ("V14", "around"): (3, 15),
    ("V14", "query"): ("1", "zebra"),
    ("V84", "row"): (99,),
    ("V85", "sentence"): (99,),
    ("V26", "shift"): (0, 1000),
    ("V85", "smoothing"): (0, 0.6),
    ("V89", "smoothing"): (0, 0.6),
    ("V80", "step"): ("0", 99),
    ("V67", "subject"): ("vectors", "loss"),
    ("V89", "subject"): ("smoothing", "rate"),
    ("V83", "temperatures"): ((0.01, 100),),
    ("V83", "top_k"): (1, 10**6),
    ("V83", "top_p"): (0.001, 1),
}


@pytest.mark.parametrize(("id", "name"), FITS)
def test_what_fits_is_drawn_or_is_not_there(trace: Trace, id: str, name: str) -> None:
    for value in FITS[id, name]:
        assert find_kind(id, name).fits(value)
        if value in (99, -99, (9,), "zebra"):
            with pytest.raises(ValueError, match=f"^{name.removesuffix('s')}="):
                draw(trace, id, **{name: value})
        else:
            draw(trace, id, **{name: value})
