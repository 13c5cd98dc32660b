"""Tables of settings: what is taken at once is what pydantic would have taken, and the same."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import TypeAdapter, ValidationError

from glassformer.config import Config, Data, Decode, Model, Positions
from glassformer.foundation.settings.schema import validate_table
from glassformer.foundation.settings.table import Settings, UnfitError, fit, setting
from glassformer.foundation.validation_errors import list_settings

WORDS = ["beam", "greedy", "pre", "relu", "rnn", "decoder", "encoder", "tiny", "auto", "paper", "é"]
VALUES: some.SearchStrategy[Any] = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(-3, 1200),
    some.integers(),
    some.floats(),
    some.sampled_from(WORDS),
    some.text(max_size=4),
    some.lists(some.sampled_from(["scale", "norm", 3, 0.5]), max_size=3),
    some.dictionaries(some.sampled_from(["layout", "reach", "x"]), some.integers(0, 5), max_size=2),
)
NAMES = some.sampled_from([*list_settings(Config), "model", "data.corpus", "nothing"])


def nest(flat: dict[str, Any]) -> dict[str, Any]:
    """Return settings by their keys as nested tables; one that contradicts another is left out."""
    found: dict[str, Any] = {}
    for key, value in flat.items():
        *tables, last = key.split(".")
        table: Any = found
        for name in tables:
            table = table.setdefault(name, {}) if isinstance(table, dict) else None
        if isinstance(table, dict):
            table[last] = value
    return found


@given(some.dictionaries(NAMES, VALUES, max_size=5))
def test_what_is_taken_at_once_is_what_pydantic_takes(flat: dict[str, Any]) -> None:
    raw = nest(flat)
    try:
        taken = Config.take(raw)
    except UnfitError:
        return
    checked = validate_table(Config, raw)
    assert taken == checked and repr(taken) == repr(checked)  # 1 is 1.0, but not in print
    for one, other in zip(list_tables(taken), list_tables(checked), strict=True):
        assert one.model_fields_set == other.model_fields_set


def list_tables(table: Settings) -> list[Settings]:
    found = [table]
    for value in vars(table).values():
        found += list_tables(value) if isinstance(value, Settings) else []
    return found


@pytest.mark.parametrize(
    ("raw", "name", "value"),
    [
        ({"decode": {"beam": "7"}}, "decode.beam", 7),
        ({"decode": {"beam": 7.0}}, "decode.beam", 7),
        ({"text": {"shared": "false"}}, "text.shared", False),
        ({"data": {"source_lang": "čeština"}}, "data.source_lang", "čeština"),
        ({"data": {"tag": "2de"}}, "data.tag", "<2de>"),
    ],
)
def test_what_pydantic_converts_is_converted(raw: Any, name: str, value: object) -> None:
    found: Any = Config.read(raw)
    for part in name.split("."):
        found = getattr(found, part)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    "kind", [int, float, bool, str, str | None, tuple[int, ...], dict[str, Any], dict[str, str]]
)
@given(value=VALUES)
def test_a_value_that_fits_is_that_of_pydantic(kind: Any, value: Any) -> None:
    try:
        found = fit(kind, value)
    except UnfitError:
        return
    assert repr(found) == repr(TypeAdapter(kind).validate_python(value))


def test_a_table_can_be_copied_stored_and_compared() -> None:
    made = Model(d_model=24, heads=3, positions={"reach": 4, "layout": "relative"})
    assert made == copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) != Model()
    assert hash(made) == hash(copy.copy(made)) and {made: 1}[pickle.loads(pickle.dumps(made))]
    assert pickle.loads(pickle.dumps(made)).model_fields_set == {"d_model", "heads", "positions"}
    assert made.model_dump(exclude_unset=True)["positions"] == {"layout": "relative", "reach": 4}
    assert isinstance(made.positions, Positions)
    changed = made.model_copy(update={"heads": 2})
    assert (changed.heads, made.heads) == (2, 3)
    with pytest.raises(AttributeError, match="frozen"):
        del made.heads


def test_wrong_values_are_refused_wherever_a_table_is_made() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        Decode(beam=0)
    with pytest.raises(ValidationError, match="Extra inputs"):
        Data(sauce_lang="en")
    with pytest.raises(ValidationError, match="mbr chooses among several"):
        Decode.model_validate({"search": "greedy", "mbr": 4})
    with pytest.raises(ValidationError, match="name"):
        Config.read({}).data.model_validate({"corpus": [{}]})


@pytest.mark.parametrize("model", ["demo", "everyday-en-fr"])
def test_a_model_is_opened_without_pydantic(model: str) -> None:
    """Also one with characters beyond ASCII in its files."""
    code = (
        "import sys; from glassformer.translator import Translator; "
        f"Translator.load('{model}').translate('The cat is on the mat.', decode={{'beam': 3}}); "
        "print([each for each in sys.modules if each.startswith('pydantic')])"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert made.stdout.strip() == "[]", made.stderr


class Kettle(Settings):
    """A table whose settings need others."""

    heat: str = setting("gas", "What heats it.")
    volts: int = setting(230, "Of the mains.", needs="heat=electric|induction")
    bottle: int = setting(5, "Kilograms.", needs="heat!=electric")
    lid: bool = setting(False, "It has one.")
    whistle: bool = setting(False, "On the lid.", needs="lid")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"volts": 110}, "volts=110 has no effect with heat=gas"),
        ({"volts": 110, "heat": "induction"}, ""),
        ({"bottle": 3, "heat": "electric"}, "bottle=3 has no effect with heat=electric"),
        ({"bottle": 3}, ""),
        ({"whistle": True}, "whistle=True has no effect without lid"),
        ({"whistle": True, "lid": True}, ""),
        ({"volts": 230}, ""),  # as it is anyway
    ],
)
def test_a_setting_that_has_no_effect_is_refused(given: dict[str, Any], said: str) -> None:
    if not said:
        assert Kettle(**given).list_changed(given) == [
            f"{name}={value}" for name, value in given.items() if value != 230
        ]
        return
    with pytest.raises(ValueError, match=said):
        Kettle(**given)


def test_which_settings_have_no_effect() -> None:
    assert Kettle().list_idle() == ["volts", "whistle"]
    assert Kettle(heat="electric", lid=True).list_idle() == ["bottle"]
